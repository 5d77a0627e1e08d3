"""A configuration file, read and checked. Called by commands at their start, and by processes whenever it changes."""

from __future__ import annotations

from gangpool.files.failure import InputError
from gangpool.files.manifests import read_objects
from gangpool.intake.config import Config
from gangpool.intake.config_faults import ConfigError, checked


def read_config(path: str | None) -> Config:
    """The configuration of a file; the defaults without one. Raises InputError with everything that is wrong."""
    if path is None:
        return Config()
    objects = read_objects(path)
    if len(objects) != 1:
        raise InputError(path, "", f"holds {len(objects)} objects, and a configuration is one")
    try:
        return checked(objects[0].object)
    except ConfigError as error:
        raise InputError(path, "", str(error)) from None

"""What is wrong with a configuration, all of it at once: unknown keys with the nearest known one, wrong values, each
with its place (`topology.levels[1]`).

Pure. The edges that read configuration files call `checked`; what it returns has been looked at as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

import msgspec
from msgspec import Struct

from gangpool.intake.config import Config

_WORDS = {"object": "a mapping", "array": "a list", "str": "a text", "int": "a number", "float": "a number"}
_WORDS |= {"bool": "true or false", "null": "nothing"}
_TYPES = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_PLACE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_CHOICE = re.compile(r"Invalid enum value (.*)", re.DOTALL)
_LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PERIOD = re.compile(r"([0-9]+(\.[0-9]+)?(h|ms|m|s))+")


class Fault(Struct, frozen=True):
    """One thing that is wrong. `place`: path of the key; "" for the whole."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class ConfigError(Exception):
    """A value that is no configuration."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = tuple(faults)


def checked(value: object) -> Config:
    """A decoded file as configuration. Raises ConfigError with every fault."""
    known, faults = _known(value, Config, "")
    try:
        config = msgspec.convert(known, Config)
    except msgspec.ValidationError as error:
        raise ConfigError([*faults, _told(str(error), known)]) from None
    faults += _judged(config)
    if faults:
        raise ConfigError(faults)
    return config


def _known(value: object, kind: type[Struct], place: str) -> tuple[object, list[Fault]]:
    """The value without its unknown keys, and a fault for each of them."""
    if not isinstance(value, Mapping):
        return value, []
    inner_kinds, kept, faults = _fields(kind), {}, []
    for key, inner in value.items():
        here = f"{place}{key}"
        if key not in inner_kinds:
            faults.append(Fault(here, f"unknown key{_nearest(str(key), place)}"))
            continue
        kept[key] = inner
        inner_kind = inner_kinds[key]
        if inner_kind is not None:
            kept[key], more = _known(inner, inner_kind, f"{here}.")
            faults += more
    return kept, faults


def _fields(kind: type[Struct]) -> dict[str, type[Struct] | None]:
    """Keys of a mapping, with the mapping that is below each."""
    found: dict[str, type[Struct] | None] = {}
    for field in msgspec.structs.fields(kind):
        below = plain(field.type)
        found[field.encode_name] = below if isinstance(below, type) and issubclass(below, Struct) else None
    return found


def plain(annotated: Any) -> Any:
    """A type without its remarks."""
    return get_args(annotated)[0] if hasattr(annotated, "__metadata__") else annotated


def keys(kind: type[Struct] = Config, place: str = "") -> Iterator[str]:
    """All keys with their paths, in the order of the file."""
    for name, below in _fields(kind).items():
        yield f"{place}{name}"
        if below is not None:
            yield from keys(below, f"{place}{name}.")


def _nearest(key: str, place: str) -> str:
    """`; did you mean X?`: a key of the same mapping, else the same key elsewhere, else one that looks like it."""
    paths = list(keys())
    here = {path.removeprefix(place).lower(): path for path in paths if path.startswith(place)}
    here = {name: path for name, path in here.items() if "." not in name}
    elsewhere = {path.rpartition(".")[2].lower(): path for path in paths}
    for names, cutoff in ((here, 0.6), (elsewhere, 1.0), (elsewhere, 0.8)):
        found = get_close_matches(key.lower(), list(names), 1, cutoff)
        if found:
            return f"; did you mean {names[found[0]]}?"
    known = ", ".join(path.rpartition(".")[2] for path in here.values())
    return f"; known here: {known}"


def _told(text: str, value: object) -> Fault:
    """msgspec's words as ours."""
    match = _PLACE.fullmatch(text)
    assert match is not None
    cause, place = match[1], (match[2] or "").replace("[...]", "[]")
    if types := _TYPES.fullmatch(cause):
        wanted = " or ".join(_WORDS.get(name.strip(), name.strip()) for name in types[1].split("|"))
        return Fault(place, f"is {_WORDS.get(types[2], types[2])}, and must be {wanted}")
    if choice := _CHOICE.fullmatch(cause):
        return Fault(place, f"cannot be {choice[1]}{_choices(place)}")
    return Fault(place, cause)


def _choices(place: str) -> str:
    """`; it may be …` for a key with a closed list of values."""
    kind: Any = Config
    for name in re.sub(r"\[[^]]*\]", "", place).split("."):
        kind = next(plain(field.type) for field in msgspec.structs.fields(kind) if field.encode_name == name)
    values = list(_literals(kind))
    return f"; it may be {' or '.join(values)}" if values else ""


def _literals(kind: Any) -> Iterator[str]:
    for inner in get_args(kind):
        if isinstance(inner, str):
            yield inner
        else:
            yield from _literals(inner)


def _judged(config: Config) -> list[Fault]:
    """What types do not say."""
    found = []
    if not config.schedulerNames:
        found.append(Fault("schedulerNames", "is empty, and then no pod would be ours"))
    found += _listed("schedulerNames", config.schedulerNames)
    levels = config.topology.levels or ()
    found += _listed("topology.levels", levels)
    for i, level in enumerate(levels):
        if level and not _LABEL_KEY.fullmatch(level):
            found.append(Fault(f"topology.levels[{i}]", f"{level!r} is no label key"))
    for name in ("scanPeriod", "quietPeriod"):
        text = getattr(config.agent, name)
        if not _PERIOD.fullmatch(text):
            found.append(Fault(f"agent.{name}", f"{text!r} is no period such as 500ms, 60s or 2m"))
    return found


def _listed(place: str, texts: Sequence[str]) -> Iterator[Fault]:
    for i, text in enumerate(texts):
        if not text.strip():
            yield Fault(f"{place}[{i}]", "is empty")
        elif text in texts[:i]:
            yield Fault(f"{place}[{i}]", f"{text!r} is there already")

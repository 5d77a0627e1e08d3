"""Time stamps of the API as seconds since the epoch. Called by `World` and `gangs`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from gangpool.intake.store import Object


def seconds(text: str | None) -> float | None:
    """Seconds since the epoch of an RFC 3339 time, one without a zone as UTC; None where it is absent or no time."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def created(obj: Object | None) -> float | None:
    """When an object was created, None where that is not written."""
    metadata = None if obj is None else obj.get("metadata")
    text = metadata.get("creationTimestamp") if isinstance(metadata, Mapping) else None
    return seconds(text) if isinstance(text, str) else None

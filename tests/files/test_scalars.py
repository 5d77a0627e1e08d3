"""Plain words of YAML as kubectl reads them (tried against sigs.k8s.io/yaml 1.6)."""

from __future__ import annotations

import pytest

from gangpool.files.scalars import NotFinite, as_json_number, plain_scalar


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *((word, True) for word in ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")),
        *((word, False) for word in ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        *((word, word) for word in ("yEs", "tRUE", "nULL", "none", "a b", "1Gi", "100m", "=", "<<")),
        # numbers of Go: base prefixes, a leading zero is octal, underscores are skipped
        ("0x1F", 31),
        ("0X1f", 31),
        ("-0x10", -16),
        ("0b11", 3),
        ("0o17", 15),
        ("010", 8),
        ("-017", -15),
        ("1_000", 1000),
        ("0_8", 8),  # no octal number, so a float
        ("08", 8),
        ("+1", 1),
        ("-0", 0),
        ("00", 0),
        # floats without a fraction are integers in the JSON that kubectl sends
        ("1.0", 1),
        ("5.", 5),
        ("1e3", 1000),
        ("1.e2", 100),
        (".5", 0.5),
        ("-1.5e-3", -0.0015),
        ("1e21", 1e21),
        # beyond 64 bits an integer is a float
        ("18446744073709551615", 18446744073709551615),
        ("-9223372036854775808", -9223372036854775808),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        # text
        ("1e400", "1e400"),
        ("0xFFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFFF"),
        ("1" * 401, "1" * 401),
        ("12:30", "12:30"),
        ("12:30:45", "12:30:45"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"),
        ("0o8", "0o8"),
        ("0x", "0x"),
        ("_1", "_1"),
        (".", "."),
        ("-", "-"),
        ("1.2.3", "1.2.3"),
        ("1e", "1e"),
        ("--1", "--1"),
        ("٣", "٣"),
    ],
)
def test_plain_scalar(word: str, value: object) -> None:
    found = plain_scalar(word)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("word", [".inf", "-.inf", "+.Inf", ".INF", ".nan", ".NaN", ".NAN"])
def test_what_json_cannot_say(word: str) -> None:
    with pytest.raises(NotFinite):
        plain_scalar(word)


@pytest.mark.parametrize(("value", "number"), [(8.0, 8), (-0.0, 0), (0.5, 0.5), (1e20, 10**20), (1e21, 1e21)])
def test_as_json_number(value: float, number: float) -> None:
    assert as_json_number(value) == number
    assert type(as_json_number(value)) is type(number)

"""Quantities: the table of spellings, the oracle's grammar, and work that stays bounded."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangpool.objects.quantity import QuantityError, extended, milli, parse, plain, to_milli, to_units
from tests.oracle.quantity import quantity as oracle


def test_every_text_of_the_field_case_has_its_value(shared_folder: Path) -> None:
    case = json.loads((shared_folder / "cases/i01-quantity-table/quantities.json").read_text())
    assert {v["text"]: plain(parse(v["text"])) for v in case["valid"]} == {v["text"]: v["value"] for v in case["valid"]}
    for text in case["invalid"]:
        with pytest.raises(QuantityError):
            parse(text)
    for total in case["sums"]:
        assert plain(sum(map(parse, total["of"]), Fraction())) == total["value"]
    for text in case["extended_resource_refused"]:
        with pytest.raises(QuantityError):
            extended(parse(text))
    for v in case["extended_resource_ok"]:
        assert str(extended(parse(v["text"]))) == v["value"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5Gi", "536870912"),
        ("1E", "1000000000000000000"),  # a suffix: exa
        ("1E3", "1000"),  # an exponent
        ("1E-3", "0.001"),
        ("1e+3", "1000"),
        ("5.", "5"),
        (".5", "0.5"),
        ("+4", "4"),
        ("-1.50", "-1.5"),
        ("00012", "12"),
        ("0.0000000001", "0.0000000001"),  # Kubernetes would round it up to one nano; here it stays exact
        ("9.3Ei", "10722169992843676876.8"),  # and not capped at 2^63-1 either
        ("1e100", "1" + "0" * 100),
        (8, "8"),
        (-1, "-1"),
        (0.1, "0.1"),
        (1.5, "1.5"),
        (1e-7, "0.0000001"),
        (1e22, "1" + "0" * 22),
    ],
)
def test_value(text: str | float, value: str) -> None:
    assert plain(parse(text)) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("+", "number"),  # the API server reads these five as zero; a silent zero is the worst answer
        ("-", "number"),
        (".", "number"),
        ("Gi", "number"),
        ("-.Gi", "number"),
        ("1 Gi", "' Gi'"),
        (" 1", "number"),
        ("1\n", "suffix"),
        ("1gi", "'gi'"),
        ("1K", "'K'"),
        ("1e", "'e'"),
        ("1Ee3", "'Ee3'"),
        ("1e3Gi", "'e3Gi'"),
        ("1m1", "'m1'"),
        ("0x10", "'x10'"),
        ("1_000", "'_000'"),
        ("٣", "number"),
        ("1٣", "suffix"),
        ("nan", "number"),
        (float("inf"), "number"),
        (float("nan"), "number"),
        (True, "neither text nor a number"),
        (None, "neither text nor a number"),
        (["1"], "neither text nor a number"),
        ("1e999999999", "absurd"),
        ("1e-999999999", "absurd"),
        ("0e101", "absurd"),
        ("1" * 101, "absurd"),
        (10**100, "absurd"),
        (-(10**1000), "absurd"),
    ],
)
def test_refused_with_its_cause(text: str, why: str) -> None:
    with pytest.raises(QuantityError, match=r"[\s\S]*" + why.replace(".", r"\.")):
        parse(text)


def test_a_long_text_is_shown_short() -> None:
    with pytest.raises(QuantityError) as refused:
        parse("x" * 1_000_000)
    assert len(str(refused.value)) < 150


numbers = st.from_regex(r"[+-]?([0-9]{1,12}(\.[0-9]{0,9})?|\.[0-9]{1,9})", fullmatch=True)
suffixes = st.sampled_from(["", *"numkMGTPE", *(f"{c}i" for c in "KMGTPE")])
exponents = st.builds("{}{}".format, st.sampled_from(["e", "E", "e+", "E-"]), st.integers(0, 30))


@given(numbers, suffixes | exponents)
def test_equals_the_oracle(number: str, suffix: str) -> None:
    assert parse(number + suffix) == oracle(number + suffix)


@given(st.text(alphabet="0123456789.+-eEKMGTPinumk x", max_size=8))
def test_accepts_what_the_oracle_accepts_and_nothing_else(text: str) -> None:
    try:
        wanted = oracle(text)
    except ValueError:
        with pytest.raises(QuantityError):
            parse(text)
    else:
        assert abs(wanted) >= 10**100 or parse(text) == wanted


@given(numbers, suffixes)
def test_plain_text_is_the_same_value_again(number: str, suffix: str) -> None:
    value = parse(number + suffix)
    assert Fraction(plain(value)) == value
    assert "e" not in plain(value)
    assert not plain(value).endswith((".", "0")) or "." not in plain(value)


@given(numbers, suffixes)
def test_rounding_is_up_and_by_less_than_one(number: str, suffix: str) -> None:
    value = parse(number + suffix)
    assert 0 <= to_units(value) - value < 1
    assert 0 <= to_milli(value) - value * 1000 < 1


def test_milli_is_remembered_per_spelling() -> None:
    assert (milli("0.5"), milli("500m"), milli(0.5), milli("0.5")) == (500, 500, 500, 500)
    assert milli("0.0001") == 1


@pytest.mark.parametrize(("text", "count"), [("2000m", 2), ("4.0", 4), ("1k", 1000), ("8e0", 8), ("0", 0)])
def test_extended_counts_whole_things(text: str, count: int) -> None:
    assert extended(parse(text)) == count


@pytest.mark.parametrize(("text", "why"), [("100m", "not whole"), ("0.1Ki", "not whole"), ("-1", "negative")])
def test_extended_refuses(text: str, why: str) -> None:
    with pytest.raises(QuantityError, match=why):
        extended(parse(text))

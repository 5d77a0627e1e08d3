"""Label selectors in kubectl's spelling."""

from __future__ import annotations

import pytest

from gangpool.cli.selector import read_selector
from gangpool.core.match import matches

LABELS = {"app": "x", "gpu": "h100", "n": "5", "empty": ""}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("app=x", True),
        ("app==x,gpu=h100", True),
        ("app=x,gpu=a100", False),
        ("app!=x", False),
        ("missing!=x", True),
        ("app", True),
        ("!app", False),
        ("!missing", True),
        ("gpu in (a100, h100)", True),
        ("gpu notin (a100,h100)", False),
        ("missing notin (a)", True),
        ("n>4", True),
        ("n<5", False),
        ("empty=", True),
        ("nvidia.com/gpu.product=x", False),
    ],
)
def test_selector(text: str, holds: bool) -> None:
    assert matches(read_selector(text), LABELS) is holds


@pytest.mark.parametrize("text", ["a=b,", "a=b c", "=b", "a in b", "n>x", "a=(b)", "in (x)", "a,,b"])
def test_what_is_no_selector_is_refused_with_its_part(text: str) -> None:
    with pytest.raises(ValueError, match="is no part of a label selector"):
        read_selector(text)

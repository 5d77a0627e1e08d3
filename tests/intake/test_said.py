"""Reasons as text and back."""

from __future__ import annotations

import pytest

from gangpool.core.model import Reason
from gangpool.intake.said import BIND_REFUSED, REFUSED_MOST, refusal_of, refused, said_on, text_of
from gangpool.objects.pod import Condition, Pod, PodStatus


def test_text_has_code_numbers_and_next_step() -> None:
    assert text_of(Reason("gated", "2 of 4", next_step="wait")) == "gated: 2 of 4; wait"
    assert text_of(Reason("gated", "2 of 4")) == "gated: 2 of 4"


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        (None, ""),
        ([Condition("Ready", "False", message="a")], ""),
        ([Condition("PodScheduled", "False", message="x: y")], "x: y"),
        ([Condition("PodScheduled", "True", message="x: y")], ""),
    ],
)
def test_said_on_reads_what_waits(conditions: list[Condition] | None, said: str) -> None:
    assert said_on(Pod(status=PodStatus(conditions=conditions))) == said


@pytest.mark.parametrize("words", ["", "no; never", "x" * (REFUSED_MOST + 1)])
def test_a_refusal_is_read_back_as_it_was_written(words: str) -> None:
    assert refusal_of(text_of(refused(words))) == refused(words)


def test_only_a_refusal_is_read_back() -> None:
    assert refusal_of(f"{BIND_REFUSED}ish: no") is None
    assert refusal_of("cannot-fit: 1 of 2 members fit") is None

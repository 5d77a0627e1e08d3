"""The words of the core: values that cannot be changed, and the closed list of codes."""

from __future__ import annotations

import pytest

from gangpool.core.model import Gang, Member, NodeFacts, Shape
from gangpool.core.reasons import CODES
from tests.core.build import member, node, shape, taint


@pytest.mark.parametrize("value", [shape(), member("p"), node("n"), Gang("ml/g", 1), taint("k:NoSchedule")])
def test_values_are_frozen_and_equal_by_content(value: Shape | Member | NodeFacts | Gang) -> None:
    name = value.__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(value, name, None)
    assert value == type(value)(**{field: getattr(value, field) for field in value.__struct_fields__})


def test_taints_as_people_write_them() -> None:
    assert str(taint("k=v:NoSchedule")) == "k=v:NoSchedule"
    assert str(taint("k:NoExecute")) == "k:NoExecute"


def test_every_code_is_explained_in_a_sentence() -> None:
    assert len(CODES) >= 10
    assert all(code == code.lower() and " " not in code for code in CODES)
    assert all(text[0].isupper() and text.endswith(".") for text in CODES.values())

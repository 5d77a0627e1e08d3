"""Selectors, taints and domains in the words of a reason."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.descent import Spot
from gangpool.core.explain import domain_text, short_key, taint_words
from gangpool.core.model import Requirement
from gangpool.core.pool import Pool
from tests.core.build import RACK, ZONE, either, member, node, only_wait, plan, pool_of, shape

WORLD = "a/a1: n1=8-2 n2=8-7\na/a2: n3=4\nb/b1: n4=8-6"


@pytest.mark.parametrize(
    ("selectors", "text"),
    [
        ((either("a=2"),), "a=2"),
        ((either("a=2,3"),), "a in (2,3)"),
        ((either("a=2,3,4,5"),), "a in (2,3,4,…)"),
        ((either("a!=1"),), "a not in (1)"),
        ((either("a b=1", "!c"),), "a and b=1 or no c"),
        ((either("a>1"), either("b<2")), "a > 1, b < 2"),
        ((((),),), "an empty node selector"),
        ((((Requirement("field:metadata.name", "In", ("x",)),),),), "metadata.name=x"),
        ((either("x=" + "y" * 400),), ("x=" + "y" * 400)[:300]),
    ],
)
def test_selectors_in_words(selectors: Any, text: str) -> None:
    pool = Pool()
    pool.set_node(node("n1", labels={"a": "1", "c": "x"}))
    pool.set_member(member("p", shape(1, node_selectors=selectors)))
    message = only_wait(plan(pool)).reason.message
    assert message.endswith(f"nodes left out: 1 do not match {text}")


def test_words() -> None:
    assert short_key("network.topology.nvidia.com/leaf") == "leaf"
    assert short_key("leaf") == "leaf"
    assert taint_words("node.kubernetes.io/unschedulable:NoSchedule") == "cordoned"
    assert taint_words("x=y:NoExecute") == "with taint x=y:NoExecute"
    tree = pool_of(WORLD).forest.tree((ZONE, RACK))
    assert [domain_text(tree, Spot(0, 0)), domain_text(tree, Spot(1, 1))] == ["the pool", "zone b"]
    assert domain_text(tree, Spot(2, 1)) == "rack a/a2"

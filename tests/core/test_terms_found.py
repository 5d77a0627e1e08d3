"""Selectors and tags find each other by one label pair; here against comparing every one with every other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gangpool.core.columns import Columns
from gangpool.core.ledger import Claim
from gangpool.core.match import matches
from gangpool.core.model import Requirement
from gangpool.core.terms import Match, Tag, Terms
from tests.core.build import ledger_of, selector, shape

KEYS = ("app", "tier")
VALUES = ("a", "b", "c")

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)).map(lambda found: tuple(sorted(found.items())))
requirements = st.one_of(
    st.builds(
        Requirement,
        st.sampled_from(KEYS),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from(VALUES), max_size=3).map(tuple),
    ),
    st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(["Exists", "DoesNotExist"])),
)
selectors = st.one_of(st.none(), st.lists(requirements, max_size=3).map(tuple))
arrivals = st.lists(st.one_of(labels.map(lambda pairs: ("tag", pairs)), selectors.map(lambda s: ("selector", s))))


@given(arrivals)
def test_tags_know_their_selectors_whichever_came_first(events: list) -> None:
    found: list[Match] = []
    recounted: list[tuple[Match, set[Tag]]] = []
    terms = Terms(Columns(4), lambda match, tags: recounted.append((match, tags)))
    tags = []
    for what, value in events:
        if what == "tag":
            tags.append(terms.tag("team", value))
        else:
            match = terms.match((value, ("team",), None))
            found += [match] if match not in found else []
        for tag in tags:
            text = dict(tag.labels)
            assert list(tag.matches) == [match for match in found if matches(match.key[0], text)]
    for match, told in recounted:
        assert told
        assert all(match in tag.matches for tag in told)


def test_a_tag_lives_as_long_as_its_claims() -> None:
    ledger = ledger_of("a/a1: n1=8")
    kind, tag = ledger.kind(shape(), "ml", (("app", "x"), ("index", "1")))
    ledger.terms.match((selector("index=1"), ("ml",), None))
    for uid in ("p", "q"):
        ledger.hold(Claim(uid, 0, kind, ledger.terms.tag("ml", tag.labels)))
    ledger.release("p")
    assert ledger.terms.tag("ml", tag.labels) is tag
    ledger.release("q")
    match = ledger.terms.match((selector("app=x"), ("ml",), None))
    assert match not in tag.matches
    assert match in ledger.terms.tag("ml", tag.labels).matches


def test_members_that_wait_leave_no_tag() -> None:
    ledger = ledger_of("a/a1: n1=8")
    kind, tag = ledger.kind(shape(), "ml", (("index", "0"),))
    assert ledger.kind_only(kind.shape, "ml", (("index", "1"),)) is kind
    ledger.terms.match((selector("index=1"), ("ml",), None))
    assert ledger.kind_only(kind.shape, "ml", (("index", "1"),)) is not kind
    assert tag.matches == ()

"""The role of people who read the live cluster: what is listed, and nothing else."""

from __future__ import annotations

from gangpool.live.resources import RESOURCES
from gangpool.live.snapshot import REFERRED
from gangpool.manifests import reader


def test_the_reader_may_list_exactly_what_is_listed() -> None:
    (role,) = reader()
    may = {(group, name) for rule in role["rules"] for group in rule["apiGroups"] for name in rule["resources"]}
    listed = {(one.group, one.plural) for one in (*RESOURCES, *REFERRED)} | {("", "pods"), ("", "nodes")}
    assert may == listed
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"list"}

"""What a person names on the command line, as kubectl takes it: `pod/a`, `po a`, `jobs.batch.volcano.sh/b`.

Kinds are those that the dialects know, pods and nodes. `gang/NAME` is a gang by its key, whoever tells of it.
Called by `explain`. Pure.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from gangpool.intake.store import Key, Object, Store, kind_of
from gangpool.objects.pod import OwnerReference, Pod
from gangpool.workloads import fields, named, registry
from gangpool.workloads.base import WorkloadError

POD, NODE = ("", "Pod"), ("", "Node")
GANG = "gang"
SHORT = {
    "po": "pod",
    "no": "node",
    "pg": "podgroup",
    "deploy": "deployment",
    "rs": "replicaset",
    "sts": "statefulset",
    "ds": "daemonset",
    "cj": "cronjob",
    "vcjob": "job.batch.volcano.sh",
    "vj": "job.batch.volcano.sh",
    "lws": "leaderworkerset",
    "js": "jobset",
}
GENERATIONS = 4
"""A pod's owner, the owner's owner, …: CronJob, Job, pod, and one to spare."""


class Target(Struct, frozen=True):
    """One object. `word`: its kind as shown; `kinds`: the kinds that it may be of, none for a gang by its key."""

    word: str
    kinds: tuple[Key, ...]
    namespace: str
    name: str

    @property
    def text(self) -> str:
        """`pod/ml/a`; a node has no namespace."""
        return f"{self.word}/{self.name}" if self.is_node else f"{self.word}/{self.namespace}/{self.name}"

    @property
    def is_pod(self) -> bool:
        return self.kinds == (POD,)

    @property
    def is_node(self) -> bool:
        return self.kinds == (NODE,)

    def objects(self, store: Store) -> list[Object]:
        """Those that the world has: a name may belong to objects of several kinds."""
        found = (store.get(*kind, self.namespace, self.name) for kind in self.kinds)
        return [obj for obj in found if obj is not None]


def read_target(words: Sequence[str], namespace: str) -> Target:
    """The object that one or two words name. Raises ValueError with what is wrong."""
    parts = words[0].split("/") if len(words) == 1 else list(words)
    if len(parts) != 2 or not all(parts) or "/" in parts[-1]:
        raise ValueError(f"{' '.join(words)!r} names no object; write KIND/NAME, such as {_written_well(words)}")
    written, name = parts[0].lower(), parts[1]
    asked = SHORT.get(written, written)
    if asked in (GANG, f"{GANG}s"):
        return Target(GANG, (), namespace, name)
    kinds = _KINDS.get(asked)
    if kinds is None:
        words_known = sorted({word for word in (*_KINDS, GANG) if "." not in word and _is_singular(word)})
        near = difflib.get_close_matches(asked, words_known, 1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(words_known)}"
        raise ValueError(f"the kind {parts[0]!r} is not known; {hint}")
    return Target(kinds[0][1].lower(), kinds, namespace, name)


def _written_well(words: Sequence[str]) -> str:
    """What may have been meant: the name alone is taken for that of a pod, a kind alone gets a name."""
    word = words[0].split("/")[0]
    kind = SHORT.get(word.lower(), word.lower())
    if kind in _KINDS or kind == GANG:
        return f"{word}/{words[1] if len(words) > 1 and '/' not in words[1] else 'train-0'}"
    return f"pod/{word or 'train-0'}"


def is_of(pod: Pod, target: Target, store: Store) -> bool:
    """Is it this pod, or one that the object's controller made, or one that names it as its group?"""
    meta = pod.metadata
    if meta.namespace != target.namespace:
        return False
    if target.is_pod:
        return meta.name == target.name
    link, _ = registry.link(pod)
    if not target.kinds:
        return link is not None and link.key == f"{target.namespace}/{target.name}"
    claims = named.claims(pod)
    defining = [one.defined_by for one in ([link, *claims] if link is not None else claims)]
    wanted = {(*kind, target.name) for kind in target.kinds}
    return not wanted.isdisjoint(defining) or any(maker in wanted for maker in _makers(pod, store))


def _makers(pod: Pod, store: Store) -> Iterator[tuple[str, str, str]]:
    """(group, kind, name) of the owners, and of their owners as far as the world knows them."""
    owners = list(pod.metadata.ownerReferences or ())
    for _ in range(GENERATIONS):
        above: list[OwnerReference] = []
        for owner in owners:
            kind = kind_of({"apiVersion": owner.apiVersion, "kind": owner.kind})
            yield (*kind, owner.name)
            obj = store.get(*kind, pod.metadata.namespace, owner.name)
            above += [] if obj is None else _owners(obj)
        owners = above


def _owners(obj: Object) -> list[OwnerReference]:
    try:
        return [msgspec.convert(owner, OwnerReference) for _, owner in fields.items(obj, "metadata.ownerReferences")]
    except (WorkloadError, msgspec.ValidationError):
        return []


def _is_singular(word: str) -> bool:
    return f"{word}s" in _KINDS or word == GANG


def _words() -> dict[str, tuple[Key, ...]]:
    """`job`, `jobs`, `job.batch`, `jobs.batch`; several kinds may share a word."""
    found: dict[str, tuple[Key, ...]] = {}
    for kind in (POD, NODE, *(kind for dialect in registry.DIALECTS for kind in dialect.kinds)):
        for word in (kind[1].lower(), f"{kind[1].lower()}s"):
            for name in (word, f"{word}.{kind[0]}") if kind[0] else (word,):
                if kind not in found.get(name, ()):
                    found[name] = (*found.get(name, ()), kind)
    return found


_KINDS = _words()

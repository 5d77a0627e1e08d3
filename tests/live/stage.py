"""A small cluster in memory for tests of what is said: pods and groups, plans by hand, a clock moved by hand.

`say` takes what is to be written and does it to the objects, as the API server would; a line tells each write.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gangpool.core.model import Reason, Seat, Wait
from gangpool.intake.config import Config
from gangpool.intake.world import World
from gangpool.live.notices import Notices
from gangpool.live.writes import Write
from gangpool.objects.pod import Condition, Pod

KAI = "scheduling.run.ai/v2alpha2"
VOLCANO, PLUGINS, NATIVE = "scheduling.volcano.sh/v1beta1", "scheduling.x-k8s.io/v1alpha1", "scheduling.k8s.io/v1beta1"


def reason(text: str) -> Reason:
    """`CODE: message; next step`."""
    code, _, rest = text.partition(": ")
    message, _, step = rest.partition("; ")
    return Reason(code, message, next_step=step)


def pod_of(name: str, **more: Any) -> Pod:
    """A pod of ours in namespace ml; `more`: labels, annotations, owner, group (native), gates, conditions."""
    meta: dict[str, Any] = {"name": name, "namespace": "ml", "uid": f"uid-{name}"}
    meta |= {key: more[key] for key in ("labels", "annotations", "deletionTimestamp") if key in more}
    if "owner" in more:
        meta["ownerReferences"] = [{**more["owner"], "controller": True}]
    spec: dict[str, Any] = {"schedulerName": "gangpool", "containers": []}
    if "group" in more:
        spec["schedulingGroup"] = {"podGroupName": more["group"]}
    if "gates" in more:
        spec["schedulingGates"] = [{"name": gate} for gate in more["gates"]]
    status = {"phase": "Pending", "conditions": more.get("conditions", [])}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, Pod)


def in_group(dialect: str, name: str) -> dict[str, Any]:
    """Fields of `pod_of` by which a pod names its PodGroup."""
    if dialect == KAI:
        return {"annotations": {"pod-group-name": name}}
    if dialect == VOLCANO:
        return {"annotations": {"scheduling.k8s.io/group-name": name}}
    return {"group": name} if dialect == NATIVE else {"labels": {"scheduling.x-k8s.io/pod-group": name}}


def group_of(dialect: str, name: str, minimum: int, status: dict[str, Any] | None = None) -> dict[str, Any]:
    """A PodGroup."""
    native = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    spec = native if dialect.startswith("scheduling.k8s.io/") else {"minMember": minimum}
    meta = {"name": name, "namespace": "ml", "uid": f"uid-group-{name}"}
    return {"apiVersion": dialect, "kind": "PodGroup", "metadata": meta, "spec": spec, "status": status or {}}


class Stage:
    """The cluster, and who speaks about it. Time begins at 100 s."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.world = World(Config())
        self.notices = Notices(self.pods, self.world)
        self.now = 100.0
        self.events: dict[str, dict[str, Any]] = {}
        self.writes: list[Write] = []

    # ---- the cluster

    def add(self, *pods: Pod) -> None:
        for pod in pods:
            self.pods[pod.metadata.uid] = pod
            self.world.pod(pod)
        self.world.settle()

    def drop(self, *names: str) -> None:
        for name in names:
            del self.pods[f"uid-{name}"]
            self.world.pod_gone(f"uid-{name}")
        self.world.settle()

    def put(self, obj: dict[str, Any]) -> None:
        self.world.object(obj)
        self.world.settle()

    def gang(self, name: str, n: int, dialect: str = VOLCANO, minimum: int = 0, **more: Any) -> None:
        """A PodGroup and its pods NAME-0 …"""
        self.put(group_of(dialect, name, minimum or n))
        self.add(*(pod_of(f"{name}-{i}", **in_group(dialect, name), **more) for i in range(n)))

    def status(self, dialect: str, name: str) -> dict[str, Any]:
        obj = self.world.store.get(dialect.partition("/")[0], "PodGroup", "ml", name)
        assert obj is not None
        return dict(obj["status"])

    # ---- plans

    def plan(self, after_s: float = 0.0, resting: dict[str, str] | None = None, **texts: str) -> list[str]:
        """Some time later a plan says why units wait (`a="cannot-fit: …"`, gangs by name, else single pods); what
        is written then."""
        self.now += after_s
        self.hear(resting, **texts)
        return self.say()

    def hear(self, resting: dict[str, str] | None = None, **texts: str) -> None:
        """A plan, with nothing written yet."""
        waits = []
        for name, text in texts.items():
            unit = self.world.pool.units.get(f"ml/{name}") or self.world.pool.units[f"pod:uid-{name}"]
            members = tuple(sorted(unit.waiting.values(), key=lambda m: (m.rank, m.name)))
            waits.append(Wait(unit.key if unit.gang else "", members, reason(text)))
        self.notices.waits(self.now, waits, resting or {})

    def seat(self, *names: str) -> list[Seat]:
        """These pods are planned to a node each."""
        seats = []
        for name in names:
            pool = self.world.pool
            unit = next(unit for unit in pool.units.values() if f"uid-{name}" in unit.waiting)
            unit.seated[f"uid-{name}"] = unit.waiting.pop(f"uid-{name}")
            seats.append(Seat(unit.seated[f"uid-{name}"], f"node-{name}"))
        return seats

    def bind(self, *names: str) -> list[str]:
        """These pods of one unit are planned, bound, and seen with their nodes; what is written then."""
        seats = self.seat(*names)
        key = seats[0].member.gang or f"pod:{seats[0].member.uid}"
        self.notices.bound(key, seats)
        for seat in seats:
            pod = self.pods[seat.member.uid]
            pod.spec.nodeName = seat.node
            pod.status.conditions = [Condition("PodScheduled", "True")]
        return self.say()

    # ---- writes

    def say(self) -> list[str]:
        """Everything that is to be written now, done; a line for each write."""
        told = []
        while given := self.notices.next(wall=self.now):
            told.append(self._done(given[1]))
            self.writes.append(given[1])
            self.notices.answered(given, 200)
        return told

    def _done(self, write: Write) -> str:
        if write.what == "condition":
            pod = self.pods[write.body["metadata"]["uid"]]
            new = write.body["status"]["conditions"][0]
            pod.status.conditions = [Condition(new["type"], new["status"], new["reason"], new["message"])]
            return f"condition {pod.metadata.name}: {new['message']}"
        if write.what == "status":
            return self._status(write)
        name = write.path.rpartition("/")[2] if write.method == "PATCH" else write.body["metadata"]["name"]
        self.events[name] = {**self.events.get(name, {}), **write.body}
        event = self.events[name]
        about = event["involvedObject"]
        return f"event {about['kind']} {about['name']} x{event['count']}: {event['reason']} {event['message']}"

    def _status(self, write: Write) -> str:
        _, _, group, _, _, namespace, _, name, _ = write.path.split("/")
        obj = self.world.store.get(group, "PodGroup", namespace, name)
        assert obj is not None
        status = {**obj["status"], **write.body["status"]}
        self.put({**obj, "status": status})
        shown = " ".join(
            f"{c['type']}={c['status']}({c['reason']})" for c in write.body["status"].get("conditions", ())
        )
        return f"status {name}: {' '.join(filter(None, (status.get('phase'), shown)))}"

"""The kubelets of all nodes, and nothing else of a node: bound pods run, deleted pods go away.

A pod that is bound and ungated becomes Running and Ready; one with plain init containers stays in its first
init container until the case says otherwise. A deleted pod goes after ``TERMINATE_S`` unless a finalizer holds
it. A node whose Ready condition is Unknown has no kubelet. In manual mode the case writes all status itself.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from tests.cases.play.api import Api, Obj
from tests.cases.play.history import Change, History, Key, is_deleted, is_finished, key, node_of

START_S = 0.2
TERMINATE_S = 1.0


def now_text() -> str:
    """Present time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 - wall time, as the API writes it


def running_status(pod: Obj) -> Obj:
    """Status of a pod whose containers all run, or whose first plain init container runs."""
    spec = pod["spec"]
    plain_init = [c for c in spec.get("initContainers") or [] if c.get("restartPolicy") != "Always"]
    ready = "False" if plain_init else "True"
    started = now_text()
    kept = [c for c in (pod.get("status") or {}).get("conditions") or [] if c["type"] == "PodScheduled"]
    conditions = [
        {"type": t, "status": s, "lastTransitionTime": started}
        for t, s in (("Initialized", ready), ("ContainersReady", ready), ("Ready", ready))
    ]
    state = {"running": {"startedAt": started}}

    def one(c: Obj, s: Obj, is_ready: bool) -> Obj:
        return {
            "name": c["name"],
            "image": c.get("image", ""),
            "imageID": "",
            "ready": is_ready,
            "started": "running" in s,
            "restartCount": 0,
            "state": s,
        }

    wait: Obj = {"waiting": {"reason": "PodInitializing"}}
    status: Obj = {
        "phase": "Pending" if plain_init else "Running",
        "conditions": kept + conditions,
        "startTime": started,
        "containerStatuses": [one(c, wait if plain_init else state, not plain_init) for c in spec["containers"]],
    }
    if spec.get("initContainers"):
        status["initContainerStatuses"] = [
            one(
                c,
                state if c.get("restartPolicy") == "Always" or c is plain_init[0] else wait,
                c.get("restartPolicy") == "Always",
            )
            for c in spec["initContainers"]
        ]
    return status


class Kubelet:
    """Mutable: one task per pod that has something to do."""

    def __init__(self, api: Api, history: History, auto: bool) -> None:
        self._api, self._history, self.auto = api, history, auto
        self.hands_off: set[Key | str] = (
            set()
        )  # pods whose status the case wrote itself: by name before they exist, else by uid
        self._busy: dict[str, asyncio.Task[None]] = {}
        self.errors: list[str] = []
        history.listeners.append(self._on_change)

    def _on_change(self, c: Change) -> None:
        if c.kind == "Node":
            for pod in self._history.pods.values():
                if node_of(pod) == c.object["metadata"]["name"]:
                    self._look(pod)
        elif c.kind == "Pod" and c.type != "DELETED":
            self._look(c.object)

    def look_again(self) -> None:
        """After a change of mode: every pod once."""
        for pod in list(self._history.pods.values()):
            self._look(pod)

    def _look(self, pod: Obj) -> None:
        uid = pod["metadata"]["uid"]
        if uid in self._busy or not node_of(pod) or not self._todo(pod):
            return
        task = asyncio.create_task(self._act(key(pod), uid))
        self._busy[uid] = task
        task.add_done_callback(lambda _: self._busy.pop(uid, None))

    def _alive(self, pod: Obj) -> bool:
        node = self._history.nodes.get(node_of(pod) or "")
        conditions = ((node or {}).get("status") or {}).get("conditions") or []
        return not any(c["type"] == "Ready" and c["status"] == "Unknown" for c in conditions)

    def _todo(self, pod: Obj) -> str:
        if not self._alive(pod):
            return ""
        if is_deleted(pod):
            return "" if pod["metadata"].get("finalizers") else "remove"
        fresh = not (pod.get("status") or {}).get("startTime")
        gated = pod["spec"].get("schedulingGates")
        return (
            "run"
            if self.auto
            and fresh
            and not gated
            and not is_finished(pod)
            and not self.hands_off & {key(pod), pod["metadata"]["uid"]}
            else ""
        )

    async def _act(self, where: Key, uid: str) -> None:
        try:
            for _ in range(100):
                pod = self._history.pods.get(where)
                todo = self._todo(pod) if pod and pod["metadata"]["uid"] == uid else ""
                if not pod or not todo:
                    return
                await asyncio.sleep(TERMINATE_S if todo == "remove" else START_S)
                pod = self._history.pods.get(where)
                if pod and pod["metadata"]["uid"] == uid and self._todo(pod) == todo:
                    await (self._remove(pod) if todo == "remove" else self._run(pod))
                await asyncio.sleep(0.05)
        except Exception as e:  # a player that dies silently would make cases hang without a cause
            self.errors.append(f"kubelet player, {where[1]}: {e!r}")

    async def _run(self, pod: Obj) -> None:
        path = f"/api/v1/namespaces/{key(pod)[0]}/pods/{key(pod)[1]}"
        now = await self._api.call("GET", path)
        if now.ok and now.body["metadata"]["uid"] == pod["metadata"]["uid"]:
            body = {**now.body, "status": {**now.body.get("status", {}), **running_status(now.body)}}
            await self._api.call("PUT", path + "/status", body)  # a conflict is tried again on the next change

    async def _remove(self, pod: Obj) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": pod["metadata"]["uid"]},
        }
        await self._api.call("DELETE", f"/api/v1/namespaces/{key(pod)[0]}/pods/{key(pod)[1]}", body)

    async def stop(self) -> None:
        for task in list(self._busy.values()):
            task.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)

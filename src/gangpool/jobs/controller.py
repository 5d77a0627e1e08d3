"""The edge of the jobs controller: follows Jobs, their pods and quotas, and carries out what `state` decides.

Works without a Lease: two replicas would try to create the same names, and the server lets one of each through.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import msgspec

from gangpool.intake.config import Config
from gangpool.jobs.quota import shortage
from gangpool.jobs.state import JOB_NAME, Actions, decide, group_of
from gangpool.kube.client import ApiError, Client
from gangpool.kube.reflector import Reflector, give_sign, renew_on_silence
from gangpool.kube.transport import Unreachable
from gangpool.objects.pod import Pod
from gangpool.workloads.base import WorkloadError

log = logging.getLogger("gangpool.jobs")

JOBS = "/apis/batch.volcano.sh/v1alpha1/jobs"
QUOTAS = "/api/v1/resourcequotas"
AGAIN_S = 2.0
"""A Job whose work met trouble is looked at again after so long, after a refusal twice as long each time."""
AGAIN_MOST_S = 60.0
AT_ONCE = 24
"""Jobs that are worked on at the same time; more than that only queues at the API server."""

Key = tuple[str, str]

_object = msgspec.json.Decoder(dict[str, Any]).decode
_pod = msgspec.json.Decoder(Pod).decode


class JobsController:
    """Mutable owner of what is known of Jobs."""

    def __init__(self, client: Client, config: Config) -> None:
        self._client = client
        self._scheduler = config.schedulerNames[0]
        self.jobs: dict[Key, dict[str, Any]] = {}
        self.pods: dict[Key, dict[str, Pod]] = {}
        self.quotas: dict[Key, dict[str, Any]] = {}
        self._grouped: set[str] = set()
        self._dirty: dict[Key, None] = {}
        self._busy: set[Key] = set()
        self._made: dict[Key, set[str]] = {}
        self._refusals: Counter[Key] = Counter()
        self._wake = asyncio.Event()
        self.n_created = 0
        self.n_deleted = 0
        pods: Reflector[Pod] = Reflector(client, "/api/v1/pods", _pod, _Pods(self))
        pods.labels = JOB_NAME
        self.reflectors: list[Reflector[Any]] = [
            Reflector(client, JOBS, _object, _Objects(self, self.jobs)),
            Reflector(client, QUOTAS, _object, _Objects(self, self.quotas)),
            pods,
        ]

    @property
    def is_ready(self) -> bool:
        """Everything has been listed."""
        return all(reflector.synced.is_set() for reflector in self.reflectors)

    def waits_for(self) -> str:
        """What it is not ready for yet; "" when ready."""
        return "" if self.is_ready else "listing Jobs, quotas and pods"

    async def reconfigure(self, config: Config) -> tuple[str, ...]:
        """Go by a new configuration from the next pod on; no key needs a restart."""
        self._scheduler = config.schedulerNames[0]
        return ()

    def touch(self, key: Key) -> None:
        """This Job must be looked at."""
        self._dirty[key] = None
        self._wake.set()

    def touch_namespace(self, namespace: str) -> None:
        """All Jobs of a namespace must be looked at: a quota has changed."""
        for key in self.jobs:
            if key[0] == namespace:
                self.touch(key)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                group.create_task(reflector.run())
            group.create_task(renew_on_silence(self._client, self.reflectors))
            group.create_task(give_sign(self._client))
            await asyncio.gather(*(reflector.synced.wait() for reflector in self.reflectors))
            gate = asyncio.Semaphore(AT_ONCE)
            while True:
                await self._wake.wait()
                self._wake.clear()
                for key in [k for k in self._dirty if k not in self._busy]:
                    del self._dirty[key]
                    self._busy.add(key)
                    group.create_task(self._work(key, gate))

    async def _work(self, key: Key, gate: asyncio.Semaphore) -> None:
        async with gate:
            try:
                await self._reconcile(key)
            except (ApiError, Unreachable) as error:
                log.warning("job-again namespace=%s job=%s error=%s", key[0], key[1], error)
                asyncio.get_running_loop().call_later(self._again_s(key, error), self.touch, key)
            except WorkloadError as error:
                log.warning("job-unreadable namespace=%s job=%s error=%s", key[0], key[1], error)
            finally:
                self._busy.discard(key)
                if key in self._dirty:
                    self._wake.set()

    def _again_s(self, key: Key, error: ApiError | Unreachable) -> float:
        """Seconds until this Job is looked at again; what the server refuses, less and less often."""
        if isinstance(error, Unreachable) or error.status >= 500 or error.status == 429:
            return AGAIN_S
        self._refusals[key] += 1
        return min(AGAIN_S * 2.0 ** min(self._refusals[key] - 1, 10), AGAIN_MOST_S)

    async def _reconcile(self, key: Key) -> None:
        job = self.jobs.get(key)
        if job is None:
            return
        job = {**job, "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
        pods = list(self.pods.get(key, {}).values())
        quotas = [quota for (namespace, _), quota in self.quotas.items() if namespace == key[0]]
        lacking = "" if pods else shortage(job, quotas)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 - the status wants wall time
        actions = decide(job, pods, now, self._scheduler, lacking)
        if actions.create:
            await self._group(job)
        trouble = await self._create(key, actions)
        for pod in actions.delete:
            await self._delete(pod)
        await self._write_status(key, job, said(actions.status, trouble))
        if trouble is not None:
            raise trouble
        self._refusals.pop(key, None)

    async def _group(self, job: dict[str, Any]) -> None:
        uid = job["metadata"]["uid"]
        if uid in self._grouped:
            return
        group = group_of(job)
        namespace = job["metadata"]["namespace"]
        try:
            await self._client.create(f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups", group)
        except ApiError as error:
            if error.status != 409:
                raise
        self._grouped.add(uid)

    async def _create(self, key: Key, actions: Actions) -> BaseException | None:
        """All missing pods together; those that are made, but not yet shown by the watch, are not made twice. The first
        trouble is returned: what else there is to do is done first."""
        made = self._made.setdefault(key, set())
        missing = [pod for pod in actions.create if pod["metadata"]["name"] not in made]
        results = await asyncio.gather(*(self._create_one(key, pod) for pod in missing), return_exceptions=True)
        return next((result for result in results if isinstance(result, BaseException)), None)

    async def _create_one(self, key: Key, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        try:
            await self._client.create(f"/api/v1/namespaces/{key[0]}/pods", pod)
        except ApiError as error:
            if error.status == 409:
                return
            raise
        if name not in self.pods.get(key, {}):
            self._made.setdefault(key, set()).add(name)
        self.n_created += 1

    async def _delete(self, pod: Pod) -> None:
        meta = pod.metadata
        try:
            body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": meta.uid}}
            await self._client.delete(f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}", body)
            self.n_deleted += 1
        except ApiError as error:
            if error.status not in (404, 409):
                raise

    async def _write_status(self, key: Key, job: dict[str, Any], status: dict[str, Any]) -> None:
        old = job.get("status") or {}
        if "message" in (old.get("state") or {}) and "state" in status:  # a merge would keep it for ever
            status = {**status, "state": {"message": None, **status["state"]}}
        if not status or all(old.get(name) == value for name, value in status.items()):
            return
        path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{key[0]}/jobs/{key[1]}/status"
        try:
            await self._client.patch(path, {"status": status})
        except ApiError as error:
            if error.status not in (404, 409):
                raise

    # ---- what the watches bring

    def forget_made(self) -> None:
        """All pods have been listed; one that is made twice because of that is refused by its name."""
        self._made.clear()

    def forget(self, key: Key) -> None:
        """The Job is gone."""
        self._made.pop(key, None)
        self._refusals.pop(key, None)

    def take_pod(self, pod: Pod) -> None:
        """A pod of some Job."""
        key = job_of(pod)
        self.pods.setdefault(key, {})[pod.metadata.name] = pod
        self._made.get(key, set()).discard(pod.metadata.name)
        self.touch(key)

    def drop_pod(self, pod: Pod) -> None:
        """It is gone; a younger one of the same name stays."""
        key = job_of(pod)
        known = self.pods.get(key, {}).get(pod.metadata.name)
        if known is not None and known.metadata.uid == pod.metadata.uid:
            del self.pods[key][pod.metadata.name]
        self._made.get(key, set()).discard(pod.metadata.name)
        self.touch(key)


def said(status: dict[str, Any], trouble: BaseException | None) -> dict[str, Any]:
    """The status, with the server's refusal of a pod where there is one: a quota, a policy."""
    if not status or not isinstance(trouble, ApiError):
        return status
    return {**status, "state": {**status["state"], "message": f"a pod was refused: {trouble.message}"}}


def job_of(pod: Pod) -> Key:
    """(namespace, name) of the Job that a pod belongs to."""
    return pod.metadata.namespace, (pod.metadata.labels or {}).get(JOB_NAME, "")


class _Pods:
    def __init__(self, controller: JobsController) -> None:
        self._controller = controller

    def replace(self, objects: list[Pod]) -> None:
        self._controller.forget_made()  # one that came and went unseen would be waited for without end
        listed = {pod.metadata.uid for pod in objects}
        for pods in list(self._controller.pods.values()):
            for pod in [p for p in pods.values() if p.metadata.uid not in listed]:
                self._controller.drop_pod(pod)
        for pod in objects:
            self._controller.take_pod(pod)

    def change(self, obj: Pod) -> None:
        self._controller.take_pod(obj)

    def gone(self, obj: Pod) -> None:
        self._controller.drop_pod(obj)


class _Objects:
    """Jobs or quotas, by name."""

    def __init__(self, controller: JobsController, store: dict[Key, dict[str, Any]]) -> None:
        self._controller = controller
        self._store = store

    def replace(self, objects: list[dict[str, Any]]) -> None:
        self._store.clear()
        for obj in objects:
            self.change(obj)

    def change(self, obj: dict[str, Any]) -> None:
        key = _key(obj)
        self._store[key] = obj
        self._told(key)

    def gone(self, obj: dict[str, Any]) -> None:
        self._store.pop(_key(obj), None)
        self._told(_key(obj))
        if self._store is self._controller.jobs:
            self._controller.forget(_key(obj))

    def _told(self, key: Key) -> None:
        if self._store is self._controller.jobs:
            self._controller.touch(key)
        else:
            self._controller.touch_namespace(key[0])


def _key(obj: dict[str, Any]) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

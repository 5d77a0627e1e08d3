"""Is the fence there, is it the one that we would install, and does it know by now who leads?

The fence is an admission policy (`gangpool manifests fence`) by which the API server refuses Bindings of a leader that
was replaced. The scheduler works without it, by its Lease alone, but says so: in its log and in its metrics. What is
asked are dry-run Bindings of a pod that does not exist: 404 where the fence lets through, 422 where it refuses.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from gangpool.kube.client import ApiError, Client
from gangpool.kube.transport import Unreachable
from gangpool.live.bind import FENCE, Binder
from gangpool.manifests.fence import fence

log = logging.getLogger("gangpool.fence")

LOOK_S = 60.0
AGAIN_S = 5.0
SETTLE_S = 10.0
"""A new leader waits at most so long until the server sees the new Lease (it takes milliseconds)."""
PAUSE_S = 0.02
SURE_TRIES = 3
"""So often both names must be let through before there is no fence: of several servers one may be late."""
NOBODY = "nobody"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"

_object = msgspec.json.Decoder(dict[str, Any]).decode


class Fence:
    """Mutable owner of what is known of it. None: not known yet."""

    def __init__(self, client: Client, binder: Binder, look_s: float = LOOK_S) -> None:
        self._client = client
        self._binder = binder
        self._look_s = look_s
        self.is_present: bool | None = None
        """It refuses whoever does not lead."""
        self.is_outdated: bool | None = None
        """What is installed differs from what this version would install."""

    async def follow(self) -> None:
        """Look, and look again when what is installed has changed. Reads only, until it has. Until cancelled."""
        before: list[tuple[str, bool]] | None = None
        while True:
            found = await self._installed()
            if found is not None and found != before:
                self.is_outdated = any(version and not is_ours for version, is_ours in found)
                await self._look(found)
                before = found if self.is_present is not None else None
            elif self.is_present is None or self._is_late(found):
                await self._look(found)
            is_settled = before is not None and not self._is_late(found)
            await asyncio.sleep(self._look_s if is_settled else min(self._look_s, AGAIN_S))

    def _is_late(self, found: list[tuple[str, bool]] | None) -> bool:
        """It is installed and does not refuse yet: the server takes a moment to see a new policy."""
        return self.is_present is False and is_whole(found)

    async def _installed(self) -> list[tuple[str, bool]] | None:
        """Version ("": absent) of policy and binding, and whether each says what ours says; None: not known."""
        found = []
        for ours in fence():
            path = POLICIES if ours["kind"].endswith("Policy") else POLICIES.replace("policies", "policybindings")
            try:
                theirs = _object(await self._client.send("GET", f"{path}/{FENCE}"))
            except ApiError as error:
                if error.status != 404:
                    return None
                found.append(("", False))
            except (Unreachable, msgspec.MsgspecError):
                return None
            else:
                found.append((str(theirs["metadata"]["resourceVersion"]), says(theirs["spec"], ours["spec"])))
        return found

    async def _look(self, found: list[tuple[str, bool]] | None) -> None:
        """A fence that is installed and lets through says nothing: it stands open until there is a Lease."""
        status = await self._binder.probe(NOBODY)
        if status == 422 or (status == 404 and not is_whole(found)):
            self._found(status == 422)

    def _found(self, is_present: bool) -> None:
        if is_present != self.is_present and not is_present:
            log.warning("fence-missing policy=%s next=%r", FENCE, "gangpool manifests fence | kubectl apply -f -")
        if self.is_outdated:
            log.warning("fence-outdated policy=%s next=%r", FENCE, "gangpool manifests fence | kubectl apply -f -")
        self.is_present = is_present

    async def settled(self, identity: str, before: str) -> None:
        """Wait until the server lets us through and refuses the leader before us. Without a fence the Lease alone has
        to do."""
        try:
            async with asyncio.timeout(SETTLE_S):
                self._found(await self._knows(identity, before or NOBODY))
        except TimeoutError:
            log.warning("fence-not-settled policy=%s identity=%s before=%s", FENCE, identity, before)

    async def _knows(self, identity: str, before: str) -> bool:
        """True as soon as it tells them apart, False when it lets both through."""
        n_open = 0
        while n_open < SURE_TRIES:
            ours, theirs = await self._binder.probe(identity), await self._binder.probe(before)
            if (ours, theirs) == (404, 422):
                return True
            n_open = n_open + 1 if ours == theirs == 404 else 0
            await asyncio.sleep(PAUSE_S)
        return False


def says(found: Any, wanted: Any) -> bool:
    """Is everything wanted in what was found? A server adds defaults.

    >>> says({"a": [{"b": 1, "c": 2}], "d": 3}, {"a": [{"b": 1}]}), says({"a": []}, {"a": [1]})
    (True, False)
    """
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(key in found and says(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(says, found, wanted))
    return bool(found == wanted)


def is_whole(found: list[tuple[str, bool]] | None) -> bool:
    """Both objects of the fence are there."""
    return found is not None and all(version for version, _ in found)

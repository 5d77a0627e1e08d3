"""The closed list of reason codes: what each means and what its reader can do next.

The page docs/reference/reasons.md is generated from it; event, condition, metric, CLI and page use the same code.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    "cannot-fit": "Proved: no domain of the level has room for the minimum. The numbers name the best domain.",
    "not-found": "The search ended within its budget without a placement and without a proof that there is none.",
    "gated": "Members wait behind scheduling gates that others must remove; gangpool never does.",
    "members-missing": "Fewer members exist than the minimum; the gang is planned when they are there.",
    "claim-missing": "A PersistentVolumeClaim or its StorageClass does not exist.",
    "claim-unbound": "A PersistentVolumeClaim with immediate binding is not bound yet.",
    "object-missing": "An object that the workload refers to (PriorityClass, queue, group, topology) does not exist.",
    "invalid-object": "The objects contradict each other or ask for something impossible, whatever the room.",
    "suspended": "The workload is suspended.",
    "queue-closed": "The queue is closed for new work.",
    "level-unknown": "The level that the workload names is on no node of the pool.",
    "bind-refused": "The API server refuses the bind (policy, quota); its words follow. Live only.",
    "fits-now": "Nothing is in the way: a plan made now seats it, and a scheduler that runs binds it. Reads only.",
    "leaving": "The pod is being deleted: it holds its room until it is gone, or is bound no more. Reads only.",
    "not-ours": "The pods name another scheduler, which places them. Reads only.",
    "node-not-ready": "The node is not ready or cannot be reached: nothing new is placed there. Reads only.",
    "node-cordoned": "The node is marked unschedulable: nothing new is placed there. Reads only.",
    "node-degraded": "The node offers less than it has: devices are unwell or being cut. Reads only.",
    "node-full": "The pods of the node hold all of its cards or of its places for pods. Reads only.",
    "node-tainted": "Taints keep away pods that do not tolerate them. Reads only.",
}

"""The configuration of gangpool as a struct: every key, its default, and no other key.

The keys are those of the machine interface and keep its spelling. Read by the edges (`config_faults` says what is wrong
with a file), used by intake and the processes. Unknown keys are errors: a typing error cannot pass as a default.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta, Struct


class TopologyConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`levels`: None where presets and Topology / HyperNode objects decide."""

    levels: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Label keys of the fabric, widest first. Without it, presets and Topology or HyperNode objects "
            "decide.",
            examples=[["topology.example/spine", "topology.example/leaf"]],
        ),
    ] = None


class GpuMemConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Sliced cards by memory."""

    unit: Annotated[Literal["GiB", "MiB"], Meta(description="What one unit of `aliyun.com/gpu-mem` is.")] = "GiB"


class AgentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The node agent; periods as text such as `60s`."""

    offer: Annotated[
        tuple[Literal["whole", "memory", "mig", "rdma"], ...],
        Meta(
            description="What is offered to the kubelet: `nvidia.com/gpu`, `aliyun.com/gpu-mem`, `nvidia.com/mig-*`, "
            "ports."
        ),
    ] = ("whole", "rdma")
    scanPeriod: Annotated[str, Meta(description="How often the host is looked at.", examples=["500ms"])] = "1s"
    quietPeriod: Annotated[
        str, Meta(description="How long a device must be well before it is offered again.", examples=["2m"])
    ] = "60s"


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration."""

    apiVersion: Annotated[Literal["gangpool.io/v1"], Meta(description="Version of this format.")] = "gangpool.io/v1"
    kind: Annotated[Literal["Config"], Meta(description="Always so.")] = "Config"
    schedulerNames: Annotated[
        tuple[str, ...],
        Meta(
            description="Pods with one of these in `spec.schedulerName` are ours. Pods that the jobs controller makes "
            "get the first.",
            examples=[["gangpool", "volcano"]],
        ),
    ] = ("gangpool",)
    topology: Annotated[TopologyConfig, Meta(description="The fabric.")] = TopologyConfig()
    gpuMem: Annotated[GpuMemConfig, Meta(description="Sliced cards by memory.")] = GpuMemConfig()
    agent: Annotated[AgentConfig, Meta(description="The node agent.")] = AgentConfig()


def differing(old: Struct, new: Struct, place: str = "") -> Iterator[str]:
    """Paths of the keys whose values differ.

    >>> list(differing(Config(), Config(topology=TopologyConfig(("leaf",)))))
    ['topology.levels']
    """
    for name in old.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if isinstance(before, Struct):
            yield from differing(before, after, f"{place}{name}.")
        elif before != after:
            yield f"{place}{name}"

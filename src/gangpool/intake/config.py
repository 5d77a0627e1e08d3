"""The configuration of gangpool as a struct: every key, its default, and no other key.

The keys are those of the machine interface and keep its spelling. Read by the edges (`cli.config` from a file),
used by intake and the processes. Unknown keys are errors, so that a typing error cannot pass as a default.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class TopologyConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`levels`: label keys, widest first; None: presets and Topology / HyperNode objects decide."""

    levels: tuple[str, ...] | None = None


class GpuMemConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`unit`: what one unit of `aliyun.com/gpu-mem` is."""

    unit: Literal["GiB", "MiB"] = "GiB"


class AgentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What the agent offers, and its periods as text such as `60s`."""

    offer: tuple[Literal["whole", "memory", "mig", "rdma"], ...] = ("whole", "rdma")
    scanPeriod: str = "1s"
    quietPeriod: str = "60s"


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration; `schedulerNames` says whose pods are ours."""

    apiVersion: Literal["gangpool.io/v1"] = "gangpool.io/v1"
    kind: Literal["Config"] = "Config"
    schedulerNames: tuple[str, ...] = ("gangpool",)
    topology: TopologyConfig = TopologyConfig()
    gpuMem: GpuMemConfig = GpuMemConfig()
    agent: AgentConfig = AgentConfig()

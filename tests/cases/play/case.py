"""Reads a case folder and refuses what the vocabulary does not know, before anything starts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.cases.play.duration import seconds
from tests.cases.play.registry import CHECKS, STEPS

AREAS = ("scheduling", "sharing", "admission", "rdma", "preflight", "api", "observability")
TOP_KEYS = {"id", "area", "topology", "needs", "product", "kubelet", "partial_max", "gpu_mem_unit", "steps"}
STEP_OPTIONS = {"within", "hold", "must", "should", "for"}
PROCESSES = ("scheduler", "jobs-controller", "webhook")
ADMISSION_STEPS = ("create_each", "admit", "post", "post_result_of", "play")
KUBELET = ("auto", "manual")


class CaseError(Exception):
    """The case cannot be played; the text says where and why."""


@dataclass(frozen=True)
class Check:
    """One line of ``must`` or ``should``."""

    name: str
    value: Any
    must: bool


@dataclass(frozen=True)
class Step:
    """One step with its options and checks. ``raw`` is the mapping as written."""

    number: int
    name: str | None  # None: a step that only checks
    value: Any
    within_s: float | None
    hold_s: float | None
    checks: tuple[Check, ...]
    raw: dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A case as loaded. ``raw`` keeps the whole expect.yaml."""

    id: str
    area: str
    folder: Path
    steps: tuple[Step, ...]
    topology: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    kubelet: str = "auto"
    partial_max_s: float = 10.0
    gpu_mem_unit: str = "GiB"
    raw: dict[str, Any] = field(default_factory=dict)

    def is_live(self) -> bool:
        """Whether one of its steps or checks wants a control plane."""
        used = [STEPS[s.name] for s in self.steps if s.name] + [CHECKS[c.name] for s in self.steps for c in s.checks]
        return any(getattr(f, "live", False) for f in used)


def find(paths: Iterable[Path]) -> list[Path]:
    """Case folders below the given paths, in order of their names."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise CaseError(f"{path}: no such folder")
        found += [path] if (path / "expect.yaml").exists() else sorted(p.parent for p in path.glob("*/expect.yaml"))
    return found


def load(folder: Path) -> Case:
    """The case in ``folder``. Raises CaseError for anything outside the vocabulary."""
    where = folder / "expect.yaml"
    try:
        raw = yaml.safe_load(where.read_text())
    except yaml.YAMLError as e:
        raise CaseError(f"{where}: {e}") from e
    if not isinstance(raw, dict) or raw.get("area") not in AREAS or not raw.get("steps"):
        raise CaseError(f"{where}: needs id, area (one of {', '.join(AREAS)}) and steps")
    if unknown := set(raw) - TOP_KEYS:
        raise CaseError(f"{where}: unknown key {', '.join(sorted(unknown))}")
    processes = tuple(raw.get("product") or default_processes(raw))
    if bad := set(processes) - set(PROCESSES):
        raise CaseError(f"{where}: product: unknown process {', '.join(sorted(bad))}")
    if raw.get("kubelet", "auto") not in KUBELET:
        raise CaseError(f"{where}: kubelet is one of {', '.join(KUBELET)}")
    steps = tuple(_step(where, i + 1, s) for i, s in enumerate(raw["steps"]))
    if not any(c.must for s in steps for c in s.checks):
        raise CaseError(f"{where}: no check under must")
    return Case(
        str(raw["id"]),
        raw["area"],
        folder,
        steps,
        tuple(raw.get("topology") or ()),
        tuple(raw.get("needs") or ()),
        processes,
        raw.get("kubelet", "auto"),
        seconds(raw.get("partial_max"), 10.0),
        raw.get("gpu_mem_unit", "GiB"),
        raw,
    )


def default_processes(raw: dict[str, Any]) -> tuple[str, ...]:
    """Which processes of the product run unless the case says so itself: the webhook only where admission is asked."""
    asks = any(k in s for s in raw["steps"] if isinstance(s, dict) for k in ADMISSION_STEPS)
    return PROCESSES if raw["area"] == "admission" or asks else ("scheduler", "jobs-controller")


def _step(where: Path, number: int, raw: Any) -> Step:
    place = f"{where}: step {number}"
    if not isinstance(raw, dict):
        raise CaseError(f"{place}: not a mapping")
    names = [k for k in raw if k in STEPS]
    rest = set(raw) - STEP_OPTIONS - set(names)
    if len(names) > 1:
        raise CaseError(f"{place}: does more than one thing: {', '.join(names)}")
    name = names[0] if names else None
    allowed = getattr(STEPS[name], "options", None) if name else set()
    if allowed is not None and (unknown := rest - set(allowed)):
        raise CaseError(f"{place}: unknown step or option {', '.join(sorted(map(str, unknown)))}")
    checks: list[Check] = []
    for level in ("must", "should"):
        for item in raw.get(level) or []:
            for key, value in item.items():
                if key not in CHECKS:
                    raise CaseError(f"{place}: unknown check {key}")
                _arguments(f"{place}: check {key}", CHECKS[key], value)
                checks.append(Check(key, value, level == "must"))
    try:
        within = seconds(raw["within"]) if "within" in raw else None
        hold = seconds(raw["hold"]) if "hold" in raw else None
    except ValueError as e:
        raise CaseError(f"{place}: {e}") from e
    return Step(number, name, raw.get(name) if name else None, within, hold, tuple(checks), raw)


def _arguments(place: str, fn: Any, value: Any) -> None:
    """Checks that declare ``keys`` take a mapping with these keys only; ``required`` ones must be there."""
    keys = getattr(fn, "keys", None)
    if keys is None:
        return
    if not isinstance(value, dict):
        raise CaseError(f"{place}: wants a mapping")
    if unknown := set(value) - set(keys):
        raise CaseError(f"{place}: unknown key {', '.join(sorted(map(str, unknown)))}")
    if missing := set(fn.required) - set(value):
        raise CaseError(f"{place}: needs {', '.join(sorted(missing))}")


def objects(path: Path) -> list[dict[str, Any]]:
    """Kubernetes objects of a file (YAML documents, JSON, Lists taken apart)."""
    docs = [json.loads(path.read_text())] if path.suffix == ".json" else list(yaml.safe_load_all(path.read_text()))
    out: list[dict[str, Any]] = []
    for doc in docs:
        if doc:
            out += doc["items"] if str(doc.get("kind", "")).endswith("List") and "items" in doc else [doc]
    return out

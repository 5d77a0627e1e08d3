"""What a step or a check may use. One ``Context`` lives as long as one case.

``last`` is what the previous step returned. Cases that touch no cluster have ``cluster`` and everything
below it set to None; steps and checks of live modules (``LIVE = True`` in the module) make the runner
start a control plane first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.cases.play.api import Api
    from tests.cases.play.audit import Audit
    from tests.cases.play.case import Case
    from tests.cases.play.cluster import Cluster
    from tests.cases.play.history import History
    from tests.cases.play.players import Kubelet
    from tests.cases.play.product import Product


@dataclass
class Context:
    """Mutable: steps put their result into ``last`` and remember things for later steps in ``state``."""

    case: Case
    tmp: Path  # folder of this run of the case; removed at the end unless --keep
    product_cmd: list[str]  # command prefix of the product
    last: Any = None
    state: dict[str, Any] = field(default_factory=dict)
    cluster: Cluster | None = None
    api: Api | None = None
    history: History | None = None
    audit: Audit | None = None
    kubelet: Kubelet | None = None
    product: Product | None = None
    step_started: float = 0.0  # time.monotonic() when the running step began
    cleanups: list[Any] = field(default_factory=list)  # async callables, run at the end in reverse order

    @property
    def folder(self) -> Path:
        """Where the input files of the case are."""
        return self.case.folder

    def file(self, name: str) -> Path:
        """An input file of the case; ``../`` reaches other folders of the collection."""
        return self.case.folder / name

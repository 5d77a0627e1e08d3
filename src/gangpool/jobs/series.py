"""The jobs controller's metrics: every series with its meaning, and where its value is read.

`/metrics` calls `text_of`; the page docs/reference/metrics.md is generated from `SERIES`.
"""

from __future__ import annotations

from gangpool.jobs.controller import JobsController
from gangpool.serve.metrics import Series, exposition

SERIES: tuple[Series, ...] = (
    Series("gangpool_jobs", "gauge", "Volcano Jobs that it looks after."),
    Series("gangpool_jobs_pods_created_total", "counter", "Pods created."),
    Series("gangpool_jobs_pods_deleted_total", "counter", "Pods deleted."),
)


def text_of(controller: JobsController) -> str:
    """The text of /metrics."""
    values = {
        "gangpool_jobs": len(controller.jobs),
        "gangpool_jobs_pods_created_total": controller.n_created,
        "gangpool_jobs_pods_deleted_total": controller.n_deleted,
    }
    return exposition((series, float(values[series.name])) for series in SERIES)

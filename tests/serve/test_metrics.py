"""The text format: what is written is what Prometheus' own parser reads, whatever the labels hold."""

from __future__ import annotations

import math

import hypothesis.strategies as st
from hypothesis import given
from prometheus_client.parser import text_string_to_metric_families

from gangpool.serve.metrics import Histogram, Series, exposition

GAUGE = Series("depth", "gauge", "How deep.")


def test_plain_text() -> None:
    assert exposition([(GAUGE, 3.5), (Series("n_total", "counter", "Count."), {(("a", "x"), ("b", "y")): 2})]) == (
        "# HELP depth How deep.\n"
        "# TYPE depth gauge\n"
        "depth 3.5\n"
        "# HELP n_total Count.\n"
        "# TYPE n_total counter\n"
        'n_total{a="x",b="y"} 2\n'
    )


def test_family_without_samples_is_left_out() -> None:
    assert exposition([(GAUGE, {})]) == "\n"


@given(st.dictionaries(st.text(), st.floats(allow_nan=False)), st.text())
def test_any_label_and_value_come_back(values: dict[str, float], words: str) -> None:
    text = exposition([(Series("depth", "gauge", words), {(("who", key),): value for key, value in values.items()})])
    found = {
        sample.labels["who"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found == values


@given(st.lists(st.floats(0, 100)))
def test_histogram_counts_up_to_each_bound(values: list[float]) -> None:
    histogram = Histogram((0.5, 1, 10))
    for value in values:
        histogram.observe(value)
    (family,) = text_string_to_metric_families(exposition([(Series("t_seconds", "histogram", "T."), histogram)]))
    found = {(sample.name, sample.labels.get("le", "")): sample.value for sample in family.samples}
    for bound in (0.5, 1, 10):
        assert found["t_seconds_bucket", str(bound)] == sum(value <= bound for value in values)
    assert found["t_seconds_bucket", "+Inf"] == found["t_seconds_count", ""] == len(values)
    assert math.isclose(found["t_seconds_sum", ""], sum(values))

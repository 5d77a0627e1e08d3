"""Numbers beyond 64 bits, which JSON and YAML may hold, are told under their field like any other mistake."""

from __future__ import annotations

import pytest

from gangpool.objects.books import requests
from gangpool.objects.faults import ObjectError
from gangpool.objects.pod import Pod
from gangpool.objects.shape import shape_of
from gangpool.objects.typed import as_pod

HUGE = 10**30


def with_container(**more: object) -> Pod:
    return as_pod({"spec": {"containers": [{"name": "a", **more}]}})


def test_a_huge_request() -> None:
    pod = with_container(resources={"limits": {"nvidia.com/gpu": HUGE}})
    for read in (requests, shape_of):
        with pytest.raises(ObjectError, match="more than any node can have"):
            read(pod)


def test_a_huge_port() -> None:
    with pytest.raises(ObjectError, match=r"spec.containers\[0\].ports\[0\]: .* is no port"):
        shape_of(with_container(ports=[{"hostPort": HUGE}]))

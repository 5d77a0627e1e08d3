"""Builds the binaries of the control plane from source, once per machine.

Called by `make cluster`, by the fixtures and by hand: `python -m tests.cluster.build [--only NAME…]` prints the
folder. Why from source: versions are pinned by go.sum, nobody has to trust a download, and a Go toolchain is enough.
Promises: the folder lies outside the checkout, is named by what goes into the binaries, and holds only finished
ones (a lock keeps two builds apart, a rename makes each binary appear whole); when all are there, nothing is run.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

HERE = Path(__file__).resolve().parent
KUBERNETES = "v1.37.2"  # as in go.mod (a test compares them)
GO_MINIMUM = "1.26"  # as in go.mod
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kubelet": "k8s.io/kubernetes/cmd/kubelet",
}
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
# Cold, on two cores; the Go cache of the first one serves the others. Only for the line that people wait at.
_COLD_MINUTES = {"kube-apiserver": 4}
NO_GO = (
    f"The tests of the live cluster build Kubernetes from source and find no `go`: install Go {GO_MINIMUM} or newer "
    "(https://go.dev/dl) so that `go` is on PATH. `make test-unit` runs the part of the suite that needs none."
)


class BuildFailed(Exception):
    """A binary could not be made; the text says what to do."""


def flags(name: str) -> tuple[str, ...]:
    """Flags of `go build` for one binary."""
    ldflags = "-s -w"  # no symbols: 100 MB a binary instead of 150
    if name != "etcd":
        # Unstamped binaries call themselves v0.0.0-master, and clients complain about it.
        major, minor, _ = KUBERNETES.removeprefix("v").split(".")
        stamps = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor}
        ldflags += "".join(f" -X k8s.io/component-base/version.{key}={value}" for key, value in stamps.items())
    return ("-mod=readonly", "-buildvcs=false", "-ldflags", ldflags)


def cache() -> Path:
    """Where everything that is built once per machine lies: $GANGPOOL_CACHE, or a folder in the user's cache."""
    if given := os.environ.get("GANGPOOL_CACHE"):
        return Path(given).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gangpool"


def folder() -> Path:
    """Folder of the binaries of exactly these sources and flags, built or not."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((HERE / name).read_bytes())
    digest.update(repr([(name, package, flags(name)) for name, package in PACKAGES.items()]).encode())
    digest.update(f"{platform.system()} {platform.machine()}".encode())
    return cache() / "cluster" / digest.hexdigest()[:16]


def ensure(names: Sequence[str] = CONTROL_PLANE) -> Path:
    """Build what is missing of `names` and return their folder. Minutes when cold; a few file look-ups otherwise."""
    out = folder()
    if not any(_missing(out, names)):
        return out
    if not shutil.which("go"):
        raise BuildFailed(NO_GO)
    out.mkdir(parents=True, exist_ok=True)
    with (out.parent / "lock").open("w") as lock, _locked(lock):
        for name in _missing(out, names):
            _build(name, out)
    return out


def _missing(out: Path, names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if not (out / name).exists())


@contextmanager
def _locked(lock: IO[str]) -> Iterator[None]:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _say("waiting for another build to end")
        fcntl.flock(lock, fcntl.LOCK_EX)
    yield  # closing the file ends the lock


def _build(name: str, out: Path) -> None:
    start = time.monotonic()
    _say(f"building {name} from source (once; up to {_COLD_MINUTES.get(name, 1)} min on two cores)")
    # Go's own settings of this machine stay (proxy, module and build cache), but no workspace around the checkout.
    environment = {**os.environ, "GOWORK": "off"}
    work = Path(tempfile.mkdtemp(dir=out, prefix=".building-"))
    try:
        command = ["go", "build", *flags(name), "-o", str(work / name), PACKAGES[name]]
        if subprocess.run(command, cwd=HERE, env=environment, check=False).returncode:
            raise BuildFailed(f"{name} could not be built: `go build` says why above. Is a Go module proxy reachable?")
        (work / name).replace(out / name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    _say(f"built {name} in {time.monotonic() - start:.0f} s")


def _say(line: str) -> None:
    print(f"cluster: {line}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """0: all are there, their folder is on stdout; 1: a build failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.build", description="Build the control plane once.")
    parser.add_argument(
        "--only", nargs="+", choices=PACKAGES, default=CONTROL_PLANE, metavar="NAME", help=", ".join(PACKAGES)
    )
    try:
        print(ensure(parser.parse_args(arguments).only))
    except BuildFailed as failed:
        _say(str(failed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

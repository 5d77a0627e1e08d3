"""Runs a control plane until Ctrl-C, for work by hand: `python -m tests.cluster [--scheduler]`."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from types import FrameType

from tests.cluster import build
from tests.cluster.commands import Settings
from tests.cluster.plane import ControlPlane, PlaneFailed


def _end(number: int, frame: FrameType | None) -> None:
    # A second signal would break into the end that the first one begins.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> int:
    """0 after Ctrl-C; 1 where it doesn't start, or is ended before it serves."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description="A control plane, until Ctrl-C.")
    parser.add_argument("--scheduler", action="store_true", help="with kube-scheduler")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    try:
        with ControlPlane(Settings(controllers=True, scheduler=arguments.scheduler)) as plane:
            print(f"export KUBECONFIG={plane.kubeconfig()} PATH={plane.site.binaries}:$PATH", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                print("serving; Ctrl-C ends it", file=sys.stderr)
                signal.pause()
    except (PlaneFailed, build.BuildFailed) as failed:
        print(failed, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

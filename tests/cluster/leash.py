"""Becomes another program which the kernel kills as soon as the thread that started it ends.

Run by `child`: `python -I -S leash.py PARENT PROGRAM ARGUMENT…`; the process id stays the same. A program of its own,
because code between fork and exec is not safe once a test run has threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Tie the leash, then become the program; does not return."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        sys.exit("prctl refused PR_SET_PDEATHSIG")
    if os.getppid() != parent:
        sys.exit("the parent ended before the leash was tied")
    os.execv(program[0], program)


if __name__ == "__main__":
    main()

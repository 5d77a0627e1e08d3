"""`python -m tests.cluster`: serves until it is told to end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import build


@pytest.mark.cluster
def test_serves_until_ctrl_c() -> None:
    command = [sys.executable, "-m", "tests.cluster"]
    root = build.HERE.parent.parent
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        said = re.fullmatch(r"export KUBECONFIG=(\S+) PATH=(\S+):\$PATH\n", process.stdout.readline())
        assert said
        kubectl = [f"{said[2]}/kubectl", "--kubeconfig", said[1], "get", "namespace", "default", "-o", "name"]
        assert subprocess.run(kubectl, capture_output=True, text=True, check=True).stdout == "namespace/default\n"
        assert process.stderr.readline() == "serving; Ctrl-C ends it\n"
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == ""
    assert process.returncode == 0
    assert not Path(said[1]).parent.exists()

"""`pytest tests/scenarios --rewrite` writes the traces as they are now; read the difference before you keep it."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite the traces of scenarios for review")


@pytest.fixture(scope="session")
def rewrite(pytestconfig: pytest.Config) -> bool:
    """Whether traces are rewritten. The option exists only where this folder is named on the command line."""
    return bool(pytestconfig.getoption("--rewrite", default=False))

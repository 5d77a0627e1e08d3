"""All words that a case may use: importing this registers the steps and checks of every module beside it.

The meaning of each word, and its arguments, are in tests/cases/vocabulary.md.
"""

from __future__ import annotations

import sys

from tests.cases.play import (
    checks_live,
    checks_load,
    checks_words,
    files_other,
    files_watch,
    steps_live,
    steps_load,
    steps_process,
    steps_status,
)
from tests.cases.play.registry import CHECKS, STEPS

MODULES = (
    checks_live,
    checks_load,
    checks_words,
    files_other,
    files_watch,
    steps_live,
    steps_load,
    steps_process,
    steps_status,
)

for word in (*STEPS.values(), *CHECKS.values()):
    if getattr(sys.modules[word.__module__], "LIVE", False) and not hasattr(word, "live"):
        word.live = True  # type: ignore[attr-defined]

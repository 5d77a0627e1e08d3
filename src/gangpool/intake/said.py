"""Reasons as text, and texts on pods back as reasons: the one wording of condition, event, status and `explain`.

Called by the live scheduler when it writes and by the read commands when they read, so that both say the same. Pure.
"""

from __future__ import annotations

from gangpool.core.model import Reason
from gangpool.core.reasons import CODES
from gangpool.objects.pod import Condition, Pod

BIND_REFUSED = "bind-refused"
REFUSED_MOST = 400
"""Characters of the server's own words that are repeated."""
REFUSED_STEP = "change what refuses it (policy, quota) or the pods; it is tried again, each time later"


def text_of(reason: Reason) -> str:
    """`CODE: text with numbers; next step`."""
    return f"{reason.code}: {reason.message}" + (f"; {reason.next_step}" if reason.next_step else "")


def code_of(text: str) -> str:
    """The code of a text of ours, "" for others' texts.

    >>> code_of("gated: 1 of 2 members wait behind gate x"), code_of("0/3 nodes are available: x")
    ('gated', '')
    """
    code = text.partition(":")[0]
    return code if code in CODES else ""


def refused(text: str) -> Reason:
    """Why a unit waits whose bind the server refuses, with the server's words."""
    words = cut(text or "no text", REFUSED_MOST)
    return Reason(BIND_REFUSED, f"the API server refuses the bind: {words}", next_step=REFUSED_STEP)


def refusal_of(text: str) -> Reason | None:
    """The reason that a text of ours tells, if it is the server's refusal: only the live scheduler can know that.

    >>> refusal_of(text_of(refused("no"))) == refused("no"), refusal_of("gated: 1 of 2 members wait")
    (True, None)
    """
    if code_of(text) != BIND_REFUSED:
        return None
    message = text.removeprefix(f"{BIND_REFUSED}: ").removesuffix(f"; {REFUSED_STEP}")
    return Reason(BIND_REFUSED, message, next_step=REFUSED_STEP)


def scheduled(pod: Pod) -> Condition | None:
    """The pod's PodScheduled condition."""
    return next((c for c in pod.status.conditions or () if c.type == "PodScheduled"), None)


def said_on(pod: Pod) -> str:
    """What PodScheduled says on a waiting pod; "" when nothing is said or it is scheduled."""
    found = scheduled(pod)
    return found.message if found is not None and found.status == "False" else ""


def cut(text: str, most: int) -> str:
    """At most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"

"""What `submit` says: a gang in words, before it is written in any dialect.

`gang H 2 x 8 required rack preferred switch apart min 1 cpu=4` or, with roles,
`gang H master 1 x 8 (cpu=32), worker 3 x 8`. Further words: `priority 10`, `blocks 4:rack`, `late 2`, `as native`.
"""

from __future__ import annotations

import re

from msgspec import Struct

from tests.scenarios.parts import CARD, pairs

_SIZE = re.compile(r"(?:(?P<role>[a-z]+) )?(?P<count>\d+) x (?P<cards>\d+)(?: \((?P<more>[^)]*)\))?(?:, )?")


class RoleAsk(Struct, frozen=True):
    """`count` members that ask for `cards` and `more` each; name "" where the gang has no roles."""

    name: str
    count: int
    cards: int
    more: dict[str, str] = {}


class GangAsk(Struct, frozen=True):
    """A gang. `required`, `preferred`, `blocks`: words for levels. `more`: what each member asks besides cards.
    `n_late`: so many members, the last, come only with `arrive`."""

    name: str
    roles: tuple[RoleAsk, ...]
    minimum: int
    required: str = ""
    preferred: tuple[str, ...] = ()
    blocks: tuple[int, str] | None = None
    apart: bool = False
    priority: int = 0
    more: dict[str, str] = {}
    dialect: str = ""
    n_late: int = 0

    @property
    def total(self) -> int:
        """All members."""
        return sum(role.count for role in self.roles)

    def asks(self, role: RoleAsk) -> dict[str, str]:
        """The limits of a member."""
        return {CARD: str(role.cards), **self.more, **role.more}


def read_gang(text: str) -> GangAsk:
    """The words behind `submit gang`; ValueError when they are none."""
    name, _, rest = text.strip().partition(" ")
    roles = []
    while found := _SIZE.match(rest):
        roles.append(_role(found))
        rest = rest[found.end() :].lstrip()
    if not roles:
        raise ValueError(f"{text!r}: a gang is `NAME COUNT x CARDS …` or `NAME ROLE COUNT x CARDS, ROLE …`")
    more = pairs([word for word in rest.split() if "=" in word])
    words = [word for word in rest.split() if "=" not in word]
    said: dict[str, str] = {}
    apart = "apart" in words
    words = [word for word in words if word != "apart"]
    while words:
        if words[0] not in ("min", "required", "preferred", "blocks", "priority", "as", "late") or len(words) < 2:
            raise ValueError(f"{text!r}: {words[0]!r} is no word of a gang")
        said[words[0]] = words[1]
        words = words[2:]
    size, _, level = said.get("blocks", "").partition(":")
    return GangAsk(
        name=name,
        roles=tuple(roles),
        minimum=int(said.get("min", sum(role.count for role in roles))),
        required=said.get("required", ""),
        preferred=tuple(said["preferred"].split(",")) if "preferred" in said else (),
        blocks=(int(size), level) if size else None,
        apart=apart,
        priority=int(said.get("priority", 0)),
        more=more,
        dialect=said.get("as", ""),
        n_late=int(said.get("late", 0)),
    )


def _role(found: re.Match[str]) -> RoleAsk:
    return RoleAsk(found["role"] or "", int(found["count"]), int(found["cards"]), pairs((found["more"] or "").split()))

"""Which cards and ports of its node a member gets: one PCIe switch if it can be, else one NUMA node, beside its
ports. Where the node says nothing of its cards, the lowest free numbers. Called when a seat is settled."""

from __future__ import annotations

from functools import lru_cache

from gangpool.core.descent import share
from gangpool.core.model import Card, NodeFacts, Port


def mask_of(indexes: tuple[int, ...]) -> int:
    """Bit mask of card indexes."""
    mask = 0
    for index in indexes:
        mask |= 1 << index
    return mask


@lru_cache(maxsize=4096)
def indexes_of(mask: int) -> tuple[int, ...]:
    """Card indexes of a mask, ascending."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def whole_mask(facts: NodeFacts, n_cards: int) -> int:
    """All cards that can be handed out: the healthy ones that the node names, else 0 … n-1."""
    if facts.cards:
        return mask_of(tuple(card.index for card in facts.cards if card.healthy))
    return (1 << n_cards) - 1


@lru_cache(maxsize=65536)
def lowest_bits(mask: int, n: int) -> int:
    """The n lowest bits that are set; fewer where there are fewer."""
    chosen = 0
    for _ in range(n):
        bit = mask & -mask
        chosen |= bit
        mask ^= bit
    return chosen


def choose_cards(facts: NodeFacts, free: int, n: int) -> int:
    """A mask of n free cards of a node; fewer where fewer are free (someone else holds them)."""
    if not n:
        return 0
    if n >= free.bit_count():  # a whole node, most often
        return free
    if not facts.cards:
        return lowest_bits(free, n)
    return _choose(facts.cards, free, n)


@lru_cache(maxsize=65536)
def _choose(cards: tuple[Card, ...], free: int, n: int) -> int:
    """NUMA nodes, and in them switches, by the rule of all domains: the tightest that holds the rest."""
    usable = [card for card in cards if free >> card.index & 1]
    n = min(n, len(usable))
    chosen = 0
    for numa_cards, k in _split(usable, [str(card.numa) for card in usable], n):
        for switch_cards, m in _split(numa_cards, [str(card.switch) for card in numa_cards], k):
            for card in sorted(switch_cards, key=lambda c: c.index)[:m]:
                chosen |= 1 << card.index
    return chosen


def _split(cards: list[Card], keys: list[str], n: int) -> list[tuple[list[Card], int]]:
    groups: dict[str, list[Card]] = {}
    for card, key in zip(cards, keys, strict=True):
        groups.setdefault(key, []).append(card)
    ordered = sorted(groups.values(), key=lambda group: min(card.index for card in group))
    return [(ordered[p], k) for p, k in share([len(group) for group in ordered], n) if k] if n else []


def choose_ports(facts: NodeFacts, cards: int, n: int, uses: dict[str, int]) -> tuple[str, ...]:
    """Up to n ports: on the switches of the chosen cards first, then on their NUMA nodes, least used, in order.
    `uses`: members per port now."""
    ports = [port for port in facts.ports if port.healthy]
    if n <= 0 or not ports:
        return ()
    if n >= len(ports):
        return tuple(port.device for port in ports)
    mine = [card for card in facts.cards if cards >> card.index & 1]
    switches = {card.switch for card in mine if card.switch}
    numas = {card.numa for card in mine if card.numa is not None}

    def distance(port: Port) -> tuple[int, int]:
        near = 0 if port.switch in switches else 1 if port.numa in numas else 2
        return near, uses.get(port.device, 0)

    order = {port.device: position for position, port in enumerate(ports)}
    chosen = sorted(ports, key=lambda port: (*distance(port), order[port.device]))[:n]
    return tuple(sorted((port.device for port in chosen), key=lambda device: order[device]))

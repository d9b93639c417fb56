"""Secrets masked before a record is made (design section 5): what is not in a record cannot leave with it (P11).

A mask says which kind of secret stood there and nothing else, neither its length nor a hash: `[masked:github-token]`. It is
the same on every machine, so that copies which differ in masked places only are duplicates, and masking twice changes nothing.
Paths, names, hashes, UUIDs and numbers stay: they are facts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from ledger.masking.contexts import CONTEXTS
from ledger.masking.families import TOKENS, Family

MASK_VERSION = "m1"
"""Changes whenever the masked form of any text changes: duplicates are recognised by masked text."""

FAMILIES: tuple[Family, ...] = TOKENS + CONTEXTS
"""In order of precedence: where two families name the same place, the first names the mask."""

_NAMES = frozenset(family.name for family in FAMILIES)
_MASK = re.compile(rb"\[masked:([a-z0-9-]{1,40})\]")
_SECRET_GROUPS = ("s", "quoted", "bare")
_COMMON = b" etaoinsrhldcumfpgwybvkxjqz-.,:/"
"""Bytes of plain text, most frequent first; all others count as rarer."""


def _by_rare_byte(*, folded: bool) -> tuple[tuple[int, tuple[tuple[bytes, int], ...]], ...]:
    """Triggers with the rank of their family, grouped by the byte of theirs that plain text has least: most groups are passed
    over with one look each.
    """
    groups: dict[int, list[tuple[bytes, int]]] = {}
    for rank, family in enumerate(FAMILIES):
        for trigger in family.triggers if family.folded == folded else ():
            rare = max(trigger, key=lambda byte: _COMMON.find(byte) % 256)
            groups.setdefault(rare, []).append((trigger, rank))
    return tuple((rare, tuple(entries)) for rare, entries in groups.items())


_CASED = _by_rare_byte(folded=False)
_FOLDED = _by_rare_byte(folded=True)

Span = tuple[int, int]


def mask(text: str) -> str:
    """`text` with every secret that a family knows replaced by `[masked:<family>]`. Pure, linear in the text, idempotent.

    Never raises on any string, lone surrogates included.
    """
    data = text.encode("utf-8", "surrogatepass")
    found = _secrets(data)
    if not found:
        return text
    pieces, at = [], 0
    for start, end, name in found:
        pieces += [data[at:start], b"[masked:", name.encode(), b"]"]
        at = end
    pieces.append(data[at:])
    return b"".join(pieces).decode("utf-8", "surrogatepass")


def masked_places(text: str) -> list[tuple[int, int, str]]:
    """Code points `[start, end)` of `text` that `mask` replaces, in order, each with what stands there afterwards."""
    data = text.encode("utf-8", "surrogatepass")
    places, at, passed = [], 0, 0
    for start, end, name in _secrets(data):
        passed += len(data[at:start].decode("utf-8", "surrogatepass"))
        length = len(data[start:end].decode("utf-8", "surrogatepass"))
        places.append((passed, passed + length, f"[masked:{name}]"))
        at, passed = end, passed + length
    return places


def _secrets(data: bytes) -> list[tuple[int, int, str]]:
    """Disjoint secrets in order. Where families overlap, the whole of both is one secret with the name of the longer."""
    masks = [match.span() for match in _MASK.finditer(data) if match[1].decode() in _NAMES] if b"[masked:" in data else []
    folded = data.lower()  # bytes fold ASCII only, whatever the interpreter knows of Unicode
    found: list[tuple[int, int, int]] = []
    for haystack, groups in ((data, _CASED), (folded, _FOLDED)):
        for trigger, rank in (entry for rare, entries in groups if rare in haystack for entry in entries):
            if trigger in haystack:
                found += [(start, end, rank) for start, end in _places(data, haystack, FAMILIES[rank], trigger, masks)]
    merged: list[tuple[int, int, int, int]] = []
    for start, end, rank in sorted(found):
        if merged and start < merged[-1][1]:
            first, last, longest, named = merged[-1]
            if (end - start, -rank) > (longest, -named):
                longest, named = end - start, rank
            merged[-1] = (first, max(last, end), longest, named)
        else:
            merged.append((start, end, end - start, rank))
    return [(start, end, FAMILIES[rank].name) for start, end, _, rank in merged]


def _places(data: bytes, haystack: bytes, family: Family, trigger: bytes, masks: list[Span]) -> Iterator[Span]:
    """Where secrets of the family stand, found by one of its triggers."""
    at = haystack.find(trigger)
    while at >= 0:
        begin = at - family.back
        match = family.pattern.match(data, begin) if begin >= 0 else None
        if match and not _touches(match, masks) and (family.accept is None or family.accept(match)):
            yield _secret_span(match)
            at = haystack.find(trigger, max(match.end(), at + 1))
        else:
            at = haystack.find(trigger, at + len(trigger))


def _touches(match: re.Match[bytes], masks: list[Span]) -> bool:
    """Does the match, context included, overlap a mask or stand right beside one?

    Then it was judged when the mask was made, with the secret in its place; a mask is no better neighbour than a secret was.
    """
    after = bisect_left(masks, (match.end() + 1,))
    return after > 0 and masks[after - 1][1] >= match.start()


def _secret_span(match: re.Match[bytes]) -> Span:
    for group in _SECRET_GROUPS:
        if group in match.re.groupindex and match[group] is not None:
            return match.span(group)
    return match.span()

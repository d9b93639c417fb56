"""How losses look on a terminal: those of one message together, its quotes as a list, what followed once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from ops.cli.pairing import beside, shown_outcome
from ops.cli.screen import Part, console, one_line, say
from ops.cli.words import listed, of_class, place, short_action, short_ids

if TYPE_CHECKING:
    from ops.queries.forgotten import Forgotten

QUOTE_CHARACTERS = 300
"""A quote longer than this is cut on screen; `--json` has all of it."""

NAMES_SHOWN = 3
"""Names or figures of one message that are quoted where there are `NAMES_MAX` or more; the rest is counted."""

NAMES_MAX = 6
ACTION_CHARACTERS = 40

_OUTCOME_STYLES = {"inverted": "bold red", "changed": "bold yellow", "weakened": "yellow", "missing": "bold"}
_LISTED = frozenset({"identifier", "numeric"})
"""Classes whose facts are short and come in numbers, as in a table."""

SETTLED = {
    "acted": ("acted on", "acted on"),
    "answered": ("answered", "answered"),
    "held_shorter": ("kept in a shorter form", "kept in a shorter form"),
    "passing": ("passing remark or one-off figure", "passing remarks and one-off figures"),
    "superseded": ("taken back or replaced later", "taken back or replaced later"),
}
"""How reasons for which a loss is settled are called, of one and of several."""


class _Item(msgspec.Struct):
    """Losses of one message that are told in one line: one, or several names or figures that are missing alike."""

    entries: list[Forgotten]

    @property
    def first(self) -> Forgotten:
        return self.entries[0]

    def what(self) -> list[Part]:
        """`CHANGED decision (reason)`, or `MISSING 12 identifiers`."""
        outcome = _outcome(self.first)
        kind = f"{self.first.cls} ({self.first.kind})" if self.first.kind else self.first.cls
        several = of_class(len(self.entries), self.first.cls) if len(self.entries) > 1 else kind
        return [(outcome.upper(), _OUTCOME_STYLES.get(outcome, "bold")), f" {several}"]

    def quote(self, *, whole: bool) -> str:
        """The words that were lost."""
        names = [f"“{one_line(entry.text, QUOTE_CHARACTERS)}”" for entry in self.entries]
        if whole or len(names) < NAMES_MAX:
            return ", ".join(names)
        return f"{', '.join(names[:NAMES_SHOWN])} and {len(names) - NAMES_SHOWN} more"


def show_losses(entries: Iterable[Forgotten], home: str, *, whole: bool = False) -> None:
    """Losses, worst first: what was said, where it stood, what the summary says instead, what followed.

    `home` is the file that the reader was told of already; only another one is named. `whole` leaves no name out.
    """
    for number, (_, group) in enumerate(groupby(entries, key=_message), 1):
        items = _items(list(group))
        _show_group(number, items, home, whole=whole)
        _show_followed(items[0].first)


def _message(entry: Forgotten) -> tuple[str, str, bool]:
    return entry.span, entry.role, bool(entry.reversed_at)


def _items(entries: Sequence[Forgotten]) -> list[_Item]:
    """Missing names and figures that stand one behind the other and differ in nothing else are one item."""
    items: list[_Item] = []
    for entry in entries:
        alike = items and _is_listed(entry) and _is_listed(items[-1].first) and _told_of(entry) == _told_of(items[-1].first)
        if alike:
            items[-1].entries.append(entry)
        else:
            items.append(_Item([entry]))
    return items


def _is_listed(entry: Forgotten) -> bool:
    return entry.cls in _LISTED and _outcome(entry) == "missing"


def _outcome(entry: Forgotten) -> str:
    return shown_outcome(entry.text, entry.cls, entry.outcome, entry.summary_says)


def _told_of(entry: Forgotten) -> tuple[str, ...]:
    return entry.cls, *_details(entry), _settled(entry)


def _details(entry: Forgotten) -> list[str]:
    return [f"rule {entry.rule}", f"round {entry.round}"]


def _settled(entry: Forgotten) -> str:
    if not entry.settled:
        return ""
    where = f", line {entry.settled_line}" if entry.settled_line is not None else ""
    return f"; settled: {SETTLED[entry.settled][0]}{where}"


def _show_group(number: int, items: Sequence[_Item], home: str, *, whole: bool) -> None:
    """The message, with everything that holds for all of its items, and then the items."""
    first = items[0].first
    where = f"line {first.line}" if first.path == home and first.line is not None else one_line(place(first.path, first.line))
    if len(items) == 1:
        rest = _joined([*_details(first), first.role, where]) + _settled(first)
        say(f"{number:>3}. ", *items[0].what(), f", {rest}", indent=1, hang=5)
        say(items[0].quote(whole=whole), indent=6)
        _show_beside(items[0], indent=6)
        return
    every = [_details(item.first) for item in items]
    common = [detail for at, detail in enumerate(every[0]) if all(one[at] == detail for one in every)]
    settled = {_settled(item.first) for item in items}
    losses = sum(len(item.entries) for item in items)
    head = _joined([*common, first.role, where]) + (_settled(first) if len(settled) == 1 else "")
    say(f"{number:>3}. ", (f"{losses} facts", "bold"), f" of one message, {head}", indent=1, hang=5)
    for item, details in zip(items, every, strict=True):
        own = "".join(f", {detail}" for detail in details if detail not in common)
        own += _settled(item.first) if len(settled) > 1 else ""
        say("- ", *item.what(), f"{own}: {item.quote(whole=whole)}", indent=6, hang=2)
        _show_beside(item, indent=8)


def _joined(details: list[str]) -> str:
    """What is known; a span that no file holds has no line."""
    return ", ".join(detail for detail in details if detail)


def _show_beside(item: _Item, indent: int) -> None:
    """What the summary has instead, where it is one fact, and whether it was reversed."""
    entry = item.first
    if len(item.entries) == 1 and entry.summary_says:
        lead = beside(entry.text, entry.cls, entry.outcome, entry.summary_says)
        say(f"{lead}: ", (f"“{one_line(entry.summary_says, QUOTE_CHARACTERS)}”", "italic"), indent=indent)
    if entry.reversed_at:
        say(f"reversed later, at {short_ids(entry.reversed_at)}", indent=indent)


def _show_followed(entry: Forgotten) -> None:
    """What the agent did next, as far as it goes into one line."""
    if entry.reversed_at or not entry.followed_by:
        return
    lead, indent = "followed by: ", 6
    width = console().width - indent - len(lead)
    actions = [one_line(short_action(action), ACTION_CHARACTERS) for action in entry.followed_by]
    distinct = list(dict.fromkeys(actions))
    shown = 1
    while shown < len(distinct) and len(_in_line(distinct, shown + 1)) <= width:
        shown += 1
    say(lead, _in_line(distinct, shown), indent=indent)


def _in_line(actions: Sequence[str], shown: int) -> str:
    left = len(actions) - shown
    return ", ".join(actions[:shown]) + (f" and {left} more" if left else "")


def settled_told(counts: dict[str, int], *, more: bool) -> str:
    """How many losses a session settled, and how: `77 dropped facts were settled in the session: 4 acted on, …`. `more` says
    that they come on top of open ones.
    """
    total = sum(counts.values())
    reasons = [f"{number:,} {SETTLED[reason][number > 1]}" for reason, number in counts.items()]
    facts = f"{total:,} {'more ' if more else ''}dropped {'fact was' if total == 1 else 'facts were'}"
    return f"{facts} settled in the session: {listed(reasons)}"

"""Which date or time holds another one, by their canonical values (rule F2)."""

from __future__ import annotations

from ledger.facts.comparing.places import Place


def more_exact(value: str, other: str) -> bool:
    """Is a day or time held by a date that says more? Never the other way round.

    `--12-09` is held by `2026-12-09` and `--12-09T17:00`, `2026-12-09` by `2026-12-09T17:00`, `T17:00` by all with that time.
    """
    day, mark, clock = other.partition("T")
    if value.startswith("T"):
        return bool(day and mark) and ".." not in value and mark + clock == value
    if "T" in value:
        return value.startswith("--") and other[4:] == value[1:]
    if value.startswith("--"):
        return len(value) == len("--12-09") and day[-len("-12-09") :] == value[1:] and len(day) > len("-12-09")
    return len(value) == len("2026-12-09") and other.startswith(value + "T")


def told_apart(value: str, places: list[Place]) -> list[Place]:
    """`on 8 December it begins at 15:00`: the day of a date with a time, where its clause has that day and that time only."""
    day, _, clock = value.partition("T")
    found = []
    for place in places:
        if place.value == day or more_exact(day, place.value):
            beside = [other.value for other in places if other.clause == place.clause and other is not place]
            if place.clause >= 0 and beside == [f"T{clock}"]:
                found.append(place)
    return found

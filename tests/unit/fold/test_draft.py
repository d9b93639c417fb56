"""A draft shows the changes of a step over the rows below, hands them over, and is used up when it is written."""

from __future__ import annotations

from ledger.rows import PlaceRow
from ledger.state import PLACE, SESSION_NAME, WINDOW, Draft, ordinal_key
from tests.support.rows import MemoryRows


def base() -> MemoryRows:
    """Places 1 to 3 of session 1, and one of session 2."""
    rows, draft = MemoryRows(), Draft(MemoryRows())
    for session, ordinal in ((1, 1), (1, 2), (1, 3), (2, 1)):
        draft.put(PLACE, ordinal_key(session, ordinal), PlaceRow(span=f"{session}.{ordinal}"))
    rows.apply(draft)
    return rows


def spans(draft: Draft, group: bytes, start: bytes = b"") -> list[str]:
    """Names in walking order."""
    return [row.span for _, row in draft.walk(PLACE, group, start)]


def test_walk_shows_every_change_of_its_group_once() -> None:
    """One changed key of a group, several, one changed twice, and one that is gone."""
    draft = Draft(base())
    draft.put(PLACE, ordinal_key(1, 4), PlaceRow(span="new"))
    assert spans(draft, ordinal_key(1)) == ["1.1", "1.2", "1.3", "new"]
    draft.put(PLACE, ordinal_key(1, 2), PlaceRow(span="once"))
    draft.put(PLACE, ordinal_key(1, 2), PlaceRow(span="twice"))
    draft.delete(PLACE, ordinal_key(1, 1))
    assert spans(draft, ordinal_key(1)) == ["twice", "1.3", "new"]
    assert spans(draft, ordinal_key(1), ordinal_key(1, 3)) == ["1.3", "new"]
    assert spans(draft, ordinal_key(2)) == ["2.1"]
    assert spans(draft, b"") == ["twice", "1.3", "new", "2.1"]
    assert draft._groups[PLACE.prefix] == {ordinal_key(1): [ordinal_key(1, 4), ordinal_key(1, 2), ordinal_key(1, 1)]}


def test_walk_under_way_does_not_see_what_is_changed_meanwhile() -> None:
    draft = Draft(base())
    draft.delete(PLACE, ordinal_key(1, 1))
    seen = []
    for key, row in draft.walk(PLACE, ordinal_key(1)):
        seen.append(row.span)
        draft.delete(PLACE, key)
        draft.put(PLACE, ordinal_key(1, 9), PlaceRow(span="late"))
    assert seen == ["1.2", "1.3"]
    assert spans(draft, ordinal_key(1)) == ["late"]


def test_changes_are_handed_over_to_an_empty_draft_and_to_one_with_changes() -> None:
    """Whoever handed them over has none left, and what it changes from then on stays its own."""
    rows = base()
    target = Draft(rows)
    for number in (4, 5):
        step = Draft(target)
        step.put(PLACE, ordinal_key(1, number), PlaceRow(span=f"1.{number}"))
        step.delete(PLACE, ordinal_key(1, number - 3))
        step.apply_to(target)
        assert not list(step.changes())
        step.put(PLACE, ordinal_key(1, 8), PlaceRow(span="its own"))
    assert spans(target, ordinal_key(1)) == ["1.3", "1.4", "1.5"]
    assert [key for _, key, _ in target.changes()] == [ordinal_key(1, number) for number in (4, 1, 5, 2)]


def test_draining_gives_each_table_once_and_leaves_nothing() -> None:
    draft = Draft(MemoryRows())
    draft.put(WINDOW, ordinal_key(1, 2), PlaceRow(span="b"))
    draft.put(SESSION_NAME, ordinal_key(1), PlaceRow(span="s"))
    draft.delete(WINDOW, ordinal_key(1, 1))
    assert draft.tables() == [WINDOW, SESSION_NAME]
    assert list(draft.drain(WINDOW)) == [(ordinal_key(1, 2), PlaceRow(span="b")), (ordinal_key(1, 1), None)]
    assert draft.tables() == [SESSION_NAME]
    assert not list(draft.walk(WINDOW, ordinal_key(1)))

"""A name that is no session's is answered with those that may have been meant."""

from __future__ import annotations

import pytest

from ledger.errors import UsageError
from ops.session_names import COMPARED_MAX, NAMED_MAX, begins, nearest, the_one
from tests.support.cli import SESSION, Cli, has_no_traceback

IDS = ["c813f6a4-3b6a", "c813f6a4-3b6a/agent", "0d5e-77aa", "reports-2026"]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("c813f6a5", "c813f6a4-3b6a"),
        ("813f6a4", "c813f6a4-3b6a"),
        ("c813f6a4-3b6a/agnet", "c813f6a4-3b6a/agent"),
        ("report-2026", "reports-2026"),
    ],
)
def test_nearest_ids_are_those_that_a_slip_of_the_hand_leads_away_from(name: str, first: str) -> None:
    """A letter changed, left out at the beginning, swapped, left out in the middle."""
    assert nearest(name, IDS)[0] == first


def test_nearest_ids_are_few_and_none_that_is_unlike() -> None:
    assert nearest("zzzz", IDS) == nearest("", IDS) == nearest("x" * 5000, IDS) == []
    many = [f"session-{number}" for number in range(3 * COMPARED_MAX)]
    assert nearest("session-12345", many)[0] in ("session-1234", "session-123")
    assert len(nearest("session-12345", many)) == NAMED_MAX


def test_several_sessions_of_one_beginning_are_named() -> None:
    with pytest.raises(UsageError, match="names 2 sessions") as raised:
        the_one("c8", [("a", "c813"), ("b", "c814")])
    assert "c813, c814" in raised.value.hint


@pytest.mark.parametrize("command", ["recall", "carriers", "explain"])
def test_question_about_an_unknown_session_names_the_nearest(ingested: Cli, command: str) -> None:
    """Exit 2, the name that was given, and the ids that it may have meant; how to list all."""
    ran = ingested(command, "port 8443", "--session", SESSION[1:12])
    assert ran.code == 2
    assert SESSION in ran.err
    assert "cledger sessions" in ran.err
    assert "Nearest" not in ingested(command, "port 8443", "--session", "\udcff\x1b[31m").err
    assert has_no_traceback(ran)


def test_session_begins_with_its_own_letters_or_a_sub_agent_with_both_ids() -> None:
    for name in ("", "c8", "c813/", "c813/a7", "c813f6a4/a7c"):
        assert begins("c813f6a4/a7c41f2", name)
    for name in ("d8", "c813/b7", "/a7", "c813f6a4/a7c41f2x"):
        assert not begins("c813f6a4/a7c41f2", name)
    assert not begins("c813f6a4", "c8/a7")

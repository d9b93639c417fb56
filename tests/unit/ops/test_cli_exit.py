"""Exit codes: one meaning each, and which of several wins (contracts section 4)."""

from __future__ import annotations

import errno
import itertools

import pytest

from ledger.errors import IndexDamaged, LogDamaged, LogMissing, LogUnavailable, UsageError
from ops.cli import exit as exits
from ops.cli.exit import NothingToJudge, begin, faults_handled, settle, settled, worst


@pytest.fixture(autouse=True)
def _fresh() -> None:
    begin()


def test_exit_of_several_outcomes_is_the_first_of_5_4_2_1_3() -> None:
    for codes in itertools.permutations((0, 1, 2, 3, 4, 5)):
        assert worst(*codes) == 5
    assert worst(0, 3, 1, 2, 4) == 4
    assert worst(3, 1, 2) == 2
    assert worst(3, 1, 0) == 1
    assert worst(0, 3) == 3
    assert worst(0) == worst() == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("a", hint="b"), 2),
        (NothingToJudge("a"), 3),
        (LogMissing("a"), 4),
        (LogUnavailable("a"), 4),
        (LogDamaged("a"), 5),
        (IndexDamaged("a"), 5),
        (OSError(errno.ENOSPC, "No space left on device", "/x"), 4),
        (OSError(errno.EFBIG, "File too large"), 4),
        (OSError(errno.EDQUOT, "Quota"), 4),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 2),
        (MemoryError(), 4),
        (ZeroDivisionError("a"), 5),
    ],
)
def test_exit_of_an_error_is_its_code_with_a_message_and_no_traceback(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with faults_handled():
        raise error
    assert settled() == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert "Traceback" not in captured.err


def test_exit_debugging_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(exits.DEBUG_VARIABLE, "1")
    with faults_handled():
        raise ZeroDivisionError("a")
    assert "Traceback" in capsys.readouterr().err


def test_exit_a_later_error_does_not_hide_what_was_settled_before() -> None:
    settle(exits.INTEGRITY)
    with faults_handled():
        raise UsageError("a")
    assert settled() == 5


def test_exit_an_error_message_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """P10: a path or a record's id may hold anything."""
    with faults_handled():
        raise UsageError("\x1b]0;pwned\x07", hint="\u202eabc")
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "\u202e" not in err
    assert "\\x1b]0;pwned\\x07" in err

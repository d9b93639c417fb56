"""A command gives back what it freed, and is none the worse where the C library has no such knob."""

from __future__ import annotations

import ctypes
import sys

import pytest

from ops.cli.allocator import LARGE_BYTES, keep_little
from ops.cli.main import main


class Library:
    """A C library that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def mallopt(self, parameter: int, value: int) -> int:
        """Remember it."""
        self.told.append((parameter, value))
        return 1


@pytest.mark.parametrize(("platform", "told"), [("linux", [(-8, 1), (-3, LARGE_BYTES), (-1, LARGE_BYTES)]), ("darwin", [])])
def test_c_library_is_told_to_keep_little(platform: str, told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    keep_little()
    assert library.told == told


def test_library_without_the_knob_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    keep_little()


@pytest.mark.parametrize(("command", "kept"), [("worker", False), ("status", True)])
def test_who_serves_for_long_keeps_what_it_will_ask_for_again(
    command: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    monkeypatch.setattr("ops.cli.main.allocator.keep_little", lambda: told.append(True))
    main([command, "--no-such-option"])
    assert bool(told) is kept

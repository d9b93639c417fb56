"""Fault points: inert unless named, and then exact."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import faults
from ledger.errors import UsageError

PROJECT = Path(__file__).parents[3]
POINT = faults.declare("test.point", "a place in a test")


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    faults.arm("")


def test_fault_point_that_is_not_armed_does_nothing() -> None:
    for _ in range(3):
        faults.fault_point(POINT)


def test_fault_point_armed_with_error_raises_at_the_nth_hit_only() -> None:
    faults.arm(f"{POINT}:2:error, other.point:1")
    faults.fault_point(POINT)
    with pytest.raises(OSError, match=r"test\.point 2"):
        faults.fault_point(POINT)
    faults.fault_point(POINT)


def test_fault_point_armed_by_the_environment_kills_the_process_at_the_nth_hit() -> None:
    code = """
from ledger import faults
name = faults.declare("a.b", "")
for n in range(5):
    print(n, flush=True)
    faults.fault_point(name)
"""
    armed = os.environ | {faults.VARIABLE: "a.b:3"}
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, env=armed, capture_output=True, text=True, check=False)
    assert done.returncode == -9
    assert done.stdout.split() == ["0", "1", "2"]
    assert done.stderr == "fault-point a.b 3\n"


@pytest.mark.parametrize("text", ["name", "name:", "name:0", "name:x", ":1", "name:1:burn", "name:-1"])
def test_arm_with_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        faults.arm(text)


def test_declare_of_one_name_with_two_meanings_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        faults.declare(POINT, "another place")


def test_fault_point_never_declared_is_refused_when_armed() -> None:
    faults.arm("x:1")
    with pytest.raises(ValueError, match="never declared"):
        faults.fault_point("nobody.declared.this")

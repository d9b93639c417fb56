"""Text that no UTF-8 can hold is an error that names its field, and nothing is appended (P10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger.errors import UsageError
from ops import open_ledger


async def test_client_half_of_a_surrogate_pair_is_refused_with_its_field(tmp_path: Path) -> None:
    """P10: a program that cuts a string inside a character learns which one it was."""
    half = "\ud83d"
    async with open_ledger(f"lmdb:{tmp_path / 'log'}") as client:
        scope = client.scope("s", session="s1")
        with pytest.raises(UsageError, match=r"text\.text holds half of a surrogate pair"):
            await scope.record_span("e1", f"Never restart {half} now.")
        with pytest.raises(UsageError, match=r"spans\[1\] holds half"):
            await scope.request_eviction(["s1:e1", f"s1:{half}"], timeout_s=1)
        with pytest.raises(UsageError, match=r"holds half"):
            await scope.record_summary("m1", f"Restart {half}.")

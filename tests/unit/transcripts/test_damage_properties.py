"""Damaged files: no reader falls over, and none calls a reading complete in which something was lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.transcripts.model import Item, Message, Round
from tests.unit.transcripts.builders import (
    as_bytes,
    assistant,
    boundary,
    codex,
    codex_kept,
    codex_message,
    codex_tokens,
    items_of,
    messages,
    report,
    summary,
    tool_result,
    tool_use,
    user,
)
from tests.unit.transcripts.recording import records

CLAUDE = [
    user("u1", "Ship only after QA has signed."),
    assistant("a1", "Understood — 12 October."),
    tool_use("a2", "Bash", {"command": "echo '{\"x\": [1]}'"}),
    tool_result("u2", 'done {"type":"user"}\nnext'),
    boundary("b1", "u2"),
    summary("s1", "Ship after QA.", "b1"),
    user("u3", "Except glass."),
    assistant("a3", "Glass apart.", isSidechain=True, agentId="ag"),
]
CODEX = [
    codex("session_meta", id="cx"),
    codex_message("user", "Sort the claims."),
    codex("response_item", type="function_call", name="exec", arguments='{"cmd":"ls"}', call_id="c1"),
    codex_tokens(1000),
    codex("compacted", message="Claims.", replacement_history=[codex_kept("user", "Sort the claims.")]),
    codex_message("assistant", "Half are sorted."),
]
WHOLE = {False: as_bytes(CLAUDE), True: as_bytes(CODEX)}

damage = st.lists(
    st.tuples(
        st.sampled_from(["cut", "flip", "insert", "swap", "repeat"]), st.integers(0, 10**6), st.binary(min_size=1, max_size=6)
    ),
    min_size=1,
    max_size=6,
)


def damaged(data: bytes, steps: list[tuple[str, int, bytes]]) -> bytes:
    for kind, where, extra in steps:
        at = where % (len(data) + 1)
        if kind == "cut":
            data = data[:at] + data[at + 1 + where % 40 :]
        elif kind == "flip":
            data = data[:at] + extra + data[at + len(extra) :]
        elif kind == "insert":
            data = data[:at] + extra + data[at:]
        elif kind == "swap":
            data = data[at:] + data[:at]
        else:
            data = data[:at] + data[max(0, at - 200) : at] + data[at:]
    return data


@settings(max_examples=300, deadline=None)
@given(st.booleans(), damage, st.integers(1, 400))
def test_damaged_file_never_fails_and_shares_add_up(
    codex_format: bool, steps: list[tuple[str, int, bytes]], chunk: int
) -> None:
    data = damaged(WHOLE[codex_format], steps)
    items = items_of(data, codex_format=codex_format, chunk=chunk)
    report(items)
    records(items)
    assert items == items_of(data, codex_format=codex_format)
    live: dict[str, list[str]] = {}
    for item in items:
        if isinstance(item, Message):
            live.setdefault(item.session, []).append(item.key)
        elif isinstance(item, Round):
            shares = [*item.summarised.keys, *item.kept.keys, *item.unseen.keys]
            assert set(shares) <= set(live.get(item.session, []))
            assert len(shares) == len(set(shares))


@settings(max_examples=300, deadline=None)
@given(st.booleans(), st.integers(0, 10**6), st.integers(1, 60))
def test_reading_is_never_complete_where_part_of_a_line_was_cut_out(codex_format: bool, where: int, length: int) -> None:
    """T1: bytes missing inside one line show, unless what is left is a whole object again with the same words."""
    data = WHOLE[codex_format]
    at = where % len(data)
    end = min(at + length, data.find(b"\n", at))
    if end <= at:
        return
    before, after = items_of(data, codex_format=codex_format), items_of(data[:at] + data[end:], codex_format=codex_format)
    lost = len(messages(after)) < len(messages(before))
    if lost and b'"' not in data[at:end]:
        assert report(after).reading != "complete"


@settings(max_examples=200, deadline=None)
@given(st.booleans(), st.integers(0, 10**6))
def test_file_that_breaks_off_anywhere_is_complete_only_at_the_end_of_an_object(codex_format: bool, where: int) -> None:
    data = WHOLE[codex_format]
    at = where % len(data)
    items = items_of(data[:at], codex_format=codex_format)
    tail = data[:at].rpartition(b"\n")[2]
    if tail and data[at : at + 1] != b"\n":
        assert report(items).reading == "degraded"


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=2000), st.booleans())
def test_noise_never_fails(data: bytes, codex_format: bool) -> None:
    items: list[Item] = items_of(data, codex_format=codex_format, chunk=97)
    report(items)
    records(items)

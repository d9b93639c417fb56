"""Manifest: grounded, bounded, deterministic (P2, C2, section 3 of the design)."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ledger.facts import EXTRACTOR, check, extract, grounded, seed_sentences, seed_survives, unsupported
from ledger.facts.extraction.salience import FACTS_MAX, SHORT_TOOL_FACTS, TOOL_FACTS_MAX
from schemas.records import Role

TEXT = (
    "Never reuse a number. Budget: 12.5k EUR until 4 December 2026 at noon; ask Ines about SN-77120.\n"
    "| a | b |\n|---|---|\n| x | 38 ms |"
)


def test_extract_facts_are_grounded_in_their_text() -> None:
    found = extract(TEXT, "user", scope_key="scope").facts
    assert found
    assert all(grounded(fact, TEXT, scope_key="scope") for fact in found)


@pytest.mark.parametrize(
    "change",
    [{"value": "other"}, {"start": 1}, {"end": 10_000}, {"id": "f00"}, {"polarity": "affirmed"}, {"subject": "x"}],
)
def test_grounded_altered_fact_fails(change: dict[str, object]) -> None:
    fact = extract(TEXT, "user", scope_key="scope").facts[0]
    assert fact.polarity == "negated"
    assert not grounded(msgspec.structs.replace(fact, **change), TEXT, scope_key="scope")


def test_grounded_fact_of_another_scope_fails() -> None:
    fact = extract(TEXT, "user", scope_key="scope").facts[0]
    assert not grounded(fact, TEXT, scope_key="other")


def test_extract_same_text_gives_the_same_bytes_p2() -> None:
    one = msgspec.json.encode(extract(TEXT, "user", scope_key="scope"))
    assert one == msgspec.json.encode(extract(TEXT, "user", scope_key="scope"))
    assert EXTRACTOR.encode() in one


def test_extract_validity_bounds_every_fact() -> None:
    found = extract(TEXT, "user", scope_key="scope", valid=("2026-01-01", "2026-12-31")).facts
    assert {(f.valid_from, f.valid_to) for f in found} == {("2026-01-01", "2026-12-31")}
    assert {f.id for f in found}.isdisjoint(f.id for f in extract(TEXT, "user", scope_key="scope").facts)


def test_extract_bulk_is_bounded_and_counted() -> None:
    listing = "\n".join(f"src/module_{n}/file_{n}.py: {n + 2} errors, {n} ms" for n in range(3000))
    tool = extract(listing, "tool", scope_key="s")
    assert len(tool.facts) <= TOOL_FACTS_MAX
    assert tool.passed_over > 0
    assert len(extract(listing, "user", scope_key="s").facts) <= FACTS_MAX
    assert len(extract(listing[:1200], "tool", scope_key="s").facts) <= SHORT_TOOL_FACTS


def test_extract_of_bulk_prefers_the_ban() -> None:
    listing = "\n".join(f"src/module_{n}/file_{n}.py" for n in range(900))
    found = extract(f"{listing}\nThe signing key must never be rotated by hand.\n{listing}", "tool", scope_key="s").facts
    assert any(f.cls == "prohibition" for f in found)


ODD = {
    "empty": "",
    "surrogates": "\ud800" * 40 + " never \udfff",
    "nul": "\0" * 50 + "do not\0",
    "bidi": "\u202enever\u202c do it",
    "spaceless": "a" * 60_000,
    "digits": "1" * 60_000,
    "percent": "1% " * 20_000,
    "ticks": "`a " * 20_000,
    "pipes": "|a" * 20_000,
    "commas": "1," * 20_000,
    "han": "不要删除文件" * 4_000,
    "open_tags": "<system-reminder>" * 4_000,
}


@pytest.mark.parametrize("role", ["user", "assistant", "tool", "system"])
@pytest.mark.parametrize("name", ODD)
def test_extract_odd_text_never_raises(name: str, role: Role) -> None:
    found = extract(ODD[name], role, scope_key="s").facts
    assert all(grounded(fact, ODD[name], scope_key="s") for fact in found[:20])


def test_unsupported_names_the_sentence_that_no_source_holds() -> None:
    source = "Timeout is 30 s on host api.example.com."
    summary = "The timeout is 30 s. It was raised on 4 May 2027. The host is api.example.com."
    found = unsupported(source, summary)
    assert [p.text for p in found] == ["It was raised on 4 May 2027."]
    assert summary[found[0].start : found[0].end] == found[0].text


def test_check_answer_has_the_names_of_the_contract() -> None:
    answer = msgspec.json.decode(msgspec.json.encode(check("Never reuse a number.", "Numbers are reused.", "user", id="x")))
    assert list(answer) == ["id", "verdict", "polarity", "quantifier", "hedge", "facts", "unsupported", "rules_version"]
    assert list(answer["facts"][0]) == ["text", "class", "start", "end", "survival", "survives", "fidelity", "floor"]


def test_check_text_in_unknown_letters_is_unknown() -> None:
    assert check("ᓄᓇᕗᑦ ᐅᑭᐅᖅᑕᖅᑐᖅ ᓄᓇᓕᒃ", "ᓄᓇᕗᑦ", "user").verdict == "unknown"


def test_check_empty_summary_is_below_floor() -> None:
    assert check("Never reuse a number.", "", "user").verdict == "below_floor"


def test_seed_method_has_its_own_bounds_and_threshold_d3() -> None:
    text = "We decided to keep the index because it is small. Too short, no? We won’t use it in the fallback path at all."
    found = seed_sentences(text)
    assert [s.kinds for s in found] == [("decided", "reason")]
    assert text[found[0].start : found[0].end] == found[0].text
    assert seed_survives(found[0], ["We decided not to keep the index because it is small."])
    assert not seed_survives(found[0], ["The index stays, its size is fine."])


TRANSCRIPTS = Path(__file__).parents[4] / "shared" / "transcripts"


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="recorded sessions are not beside the project")
def test_extract_lines_of_recorded_sessions_are_grounded() -> None:
    for path in sorted(TRANSCRIPTS.glob("*.jsonl"))[:4]:
        for line in path.read_text("utf-8", errors="replace").splitlines()[:60]:
            found = extract(line, "tool", scope_key="s").facts
            assert all(grounded(fact, line, scope_key="s") for fact in found)

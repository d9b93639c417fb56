"""`--method seed` keeps the fourth seed's own rule, for comparison (D3); `asked_first` gives a real decision."""

from __future__ import annotations

from ledger.transcripts.reading import Transcript
from ops.transcripts import read_records
from ops.whatif import asked_first
from schemas.records import CompactionObserved
from tests.support.cli import SAMPLE, Cli


def test_seed_method_looks_at_assistant_text_and_decision_words_only(cli: Cli) -> None:
    ran = cli("forgotten", SAMPLE, "--method", "seed", "--json", "--limit", 0)
    assert ran.code == 1
    answer = ran.object
    assert answer["receipt"]["method"] == "seed"
    assert answer["dropped_total"] == answer["survived_in_summary"] + answer["forgotten_total"]
    texts = [one["text"] for one in answer["forgotten"]]
    assert {one["role"] for one in answer["forgotten"]} == {"assistant"}
    assert any(text.startswith("We decided on the token bucket in Redis") for text in texts)
    assert any("because workers restart" in text for text in texts)
    assert not any("3 attempts" in text and "Do not contact" in text for text in texts), "the user's words are not looked at"
    assert {one["kind"] for one in answer["forgotten"]} <= {"decided", "rejected", "reason"}
    assert [one["sequence"] for one in answer["forgotten"]] == sorted(
        (one["sequence"] for one in answer["forgotten"]), reverse=True
    )


def test_seed_method_filters_and_limits(cli: Cli) -> None:
    whole = cli("forgotten", SAMPLE, "--method", "seed", "--json", "--limit", 0).object
    second = cli("forgotten", SAMPLE, "--method", "seed", "--round", 2, "--json").object
    assert second["forgotten_total"] == whole["forgotten_total"]
    assert {one["round"] for one in second["forgotten"]} == {2}
    assert len(cli("forgotten", SAMPLE, "--method", "seed", "--limit", 1, "--json").object["forgotten"]) == 1


async def test_asked_first_refuses_what_was_observed_to_lose_facts() -> None:
    """C3: the same spans and the same summary, asked for instead of observed."""
    with Transcript(SAMPLE) as transcript:
        records = list(read_records(transcript))
    answer = await asked_first(records)
    assert answer is not None
    assert answer.decision == "refused"
    observed = next(record for record in records if isinstance(record, CompactionObserved))
    assert answer.spans == 31
    assert observed.ordinal == 1
    assert answer.evidence_total >= len(answer.evidence) > 0
    assert answer.would_pass.carry_facts
    assert answer.would_pass.skip_spans
    assert any("3 attempts per 15-minute" in item.text for item in answer.evidence)


async def test_asked_first_can_be_put_at_a_later_round_and_knows_when_there_is_none() -> None:
    with Transcript(SAMPLE) as transcript:
        records = list(read_records(transcript))
    second = await asked_first(records, 2)
    assert second is not None
    assert second.decision in {"refused", "granted"}
    assert second.reason != "not_in_window"
    assert await asked_first(records, 3) is None

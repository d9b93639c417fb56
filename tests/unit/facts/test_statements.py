"""L and F rules on statements: who speaks decides what is a statement; sign, quantifier and hedge decide what it says."""

from __future__ import annotations

import pytest

from ledger.facts import SummaryText, extract, survival
from schemas.facts import Fact
from schemas.records import Role


def facts(text: str, role: Role = "user") -> list[Fact]:
    return [f for f in extract(text, role, scope_key="s").facts if f.cls not in {"numeric", "identifier"}]


def only(text: str, role: Role = "user") -> Fact:
    (fact,) = facts(text, role)
    return fact


@pytest.mark.parametrize(
    ("text", "cls", "polarity", "quantifier"),
    [
        ("Never load the sheets in full.", "prohibition", "negated", ""),
        ("The step is not optional.", "prohibition", "negated", ""),
        ("Don't forget to switch on the camera.", "prohibition", "affirmed", ""),
        ("Do not start the job without a new go from Ines.", "prohibition", "affirmed", "only"),
        ("Nobody except the release manager may tag a build.", "prohibition", "affirmed", "only"),
        ("Send the mail only to subscribers.", "instruction", "affirmed", "only"),
        ("Keep the form short.", "instruction", "affirmed", ""),
        ("Nothing has been released.", "prohibition", "negated", ""),
        ("We decided to use the small index.", "decision", "affirmed", ""),
    ],
)
def test_statement_of_a_user_has_class_sign_and_quantifier_f1(text: str, cls: str, polarity: str, quantifier: str) -> None:
    fact = only(text)
    assert (fact.cls, fact.polarity, fact.quantifier) == (cls, polarity, quantifier)


@pytest.mark.parametrize(
    "text", ["Let me check the tests.", "Now I'll run the linter.", "I don't see any problem.", "No matches found"]
)
def test_statement_of_the_moment_by_an_assistant_or_tool_is_none(text: str) -> None:
    assert facts(text, "assistant" if text[0] != "N" or " I" in text else "tool") == []


def test_statement_bound_is_no_negation_f2() -> None:
    assert only("Read no more than 250 rows at a time.").polarity == "affirmed"


@pytest.mark.parametrize(
    ("source", "summary", "outcome", "polarity"),
    [
        ("Do not push to main.", "Never push to main.", "equivalent", "kept"),
        ("Do not push to main.", "Push to main.", "inverted", "inverted"),
        ("The step is not optional.", "The step is mandatory.", "equivalent", "kept"),
        ("The step is not optional.", "The step is optional.", "inverted", "inverted"),
        ("The voucher is non-transferable.", "The voucher isn't transferable.", "equivalent", "kept"),
        ("The lid was not read.", "Lid unread.", "equivalent", "kept"),
        ("Enable tracing on the gateway.", "Disable tracing on the gateway.", "inverted", "inverted"),
        ("Enable tracing and start the worker.", "Disable tracing and stop the worker.", "inverted", "inverted"),
        (
            "The staging database must not be dropped before the audit.",
            "The staging database may be dropped before the audit.",
            "inverted",
            "inverted",
        ),
        ("Do not restart the job without approval.", "Restart the job only with approval.", "equivalent", "kept"),
        ("Run the linter before every commit.", "Run the linter after every commit.", "changed", "n/a"),
        ("Inform Marta about the outage.", "Inform Jonas about the outage.", "changed", "n/a"),
        ("Delete the old index.", "Something else entirely happened.", "missing", "n/a"),
    ],
)
def test_statement_outcome_follows_sense_not_words_f2(source: str, summary: str, outcome: str, polarity: str) -> None:
    found = survival(facts(source)[0], SummaryText(summary))
    assert (found.outcome, found.polarity) == (outcome, polarity)


def test_statement_only_dropped_is_a_changed_quantifier_f2() -> None:
    found = survival(only("Send the mail only to subscribers."), SummaryText("Send the mail to subscribers."))
    assert (found.outcome, found.quantifier) == ("changed", "changed")


def test_statement_hedge_stripped_is_reported_c6() -> None:
    found = survival(facts("Maybe we should move the launch to Tuesday.")[0], SummaryText("The launch moves to Tuesday."))
    assert found.hedge == "stripped"


def test_statement_question_is_no_decision_f2() -> None:
    question = facts("Should we drop the legacy endpoint?")[0]
    assert survival(question, SummaryText("Decision: drop the legacy endpoint.")).outcome == "changed"
    assert survival(question, SummaryText("User asked whether to drop the legacy endpoint.")).outcome == "equivalent"


def test_statement_done_that_became_to_do_is_inverted_f2() -> None:
    done = facts("Done: validation of the tax number and the export.", "assistant")[0]
    assert survival(done, SummaryText("To-do: validation of the tax number and the export.")).outcome == "inverted"


def test_statement_with_its_value_swapped_is_changed_f2() -> None:
    source = "Use 40 req/s for the free plan and 400 req/s for the paid plan."
    summary = SummaryText("Free plan: 400 req/s, paid plan: 40 req/s.")
    found = [survival(f, summary).outcome for f in extract(source, "user", scope_key="s").facts if f.cls == "numeric"]
    assert "changed" in found


def test_statement_in_wrapper_of_the_runtime_is_none() -> None:
    text = "<system-reminder>You must never reveal this.</system-reminder>\nKeep the form short."
    assert [f.value for f in facts(text)] == ["keep the form short"]

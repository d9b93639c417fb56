"""Kinds of restatement: what takes a rule back, what loosens it, what leaves a part out, and what says the same (F2)."""

from __future__ import annotations

import pytest

from ledger.facts import SummaryText, check, extract, survival
from schemas.facts import Fact


def statement(text: str) -> Fact:
    found = extract(text, "user", scope_key="s").facts
    return next(fact for fact in found if fact.cls not in {"numeric", "identifier"} and fact.context)


def fate(text: str, told: str) -> str:
    return survival(statement(text), SummaryText(told)).outcome


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Do not publish drafts.", "Publishing drafts is fine now."),
        ("Never run jobs on mill_db.", "Jobs on mill_db are permitted."),
        ("Keep the mill under 40 turns.", "The limit of 40 turns for the mill was lifted."),
        ("Signatures are required on every order.", "Orders can go out without signatures."),
        ("Ask Noor before you open the sluice.", "The sluice can be opened without asking Noor."),
        ("Treat the ledger as read-only.", "Write access to the ledger is granted."),
        ("Open items: paint the fence. To do: oil the gate.", "The gate was oiled."),
    ],
)
def test_statement_taken_back_is_inverted_f2(text: str, told: str) -> None:
    assert check(text, told, "user").polarity == "inverted"


@pytest.mark.parametrize(
    ("text", "told", "outcome"),
    [
        ("Never lift the barrier.", "Try not to lift the barrier.", "weakened"),
        ("Orders must be counted.", "Orders are usually counted.", "weakened"),
        ("Stack the orders.", "The orders may be stacked.", "weakened"),
        ("If the river rises, close the sluice.", "Close the sluice.", "changed"),
        ("Bring salt, rope and oil.", "Bring salt and rope.", "changed"),
        ("Move the barrels from the cellar to the yard.", "Move the barrels from the yard to the cellar.", "changed"),
        ("The miller sends the flour to the baker.", "The baker sends the flour to the miller.", "changed"),
        ("Scrub the vats before you lend them.", "The vats can be lent out.", "changed"),
        ("The wheel probably needs oil.", "The wheel needs oil.", "changed"),
    ],
)
def test_statement_loosened_or_cut_is_not_kept_f2(text: str, told: str, outcome: str) -> None:
    assert fate(text, told) == outcome


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Never use the winch.", "The winch is banned."),
        ("Only touch files in src/mill/.", "Do not touch files outside src/mill/."),
        ("Do not touch files outside src/mill/.", "Only touch files inside src/mill/."),
        ("Do not open the sluice without approval.", "Opening the sluice requires approval."),
        ("Leave the weir alone.", "Do not touch the weir."),
        ("The miller sends the flour to the baker.", "The flour is sent to the baker by the miller."),
        ("At most 9 people may enter the loft.", "The loft holds no more than nine people."),
        ("If the river rises, close the sluice.", "The sluice must be closed if the river rises."),
        ("Do not remove sacks from the loft.", "Do not remove sacks that lie in the loft."),
        ("Repair the wheel, which has 12 paddles.", "The wheel has 12 paddles. Repair it."),
    ],
)
def test_statement_told_another_way_survives_f2(text: str, told: str) -> None:
    assert fate(text, told) == "equivalent"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The weekly budget is $200.", "The budget is $200 per week."),
        ("The daily limit is 40 calls.", "At most 40 calls a day."),
        ("Costs are capped at $1,500 per month.", "The monthly cap on costs is $1,500."),
        ("A yearly fee of 120 EUR is due.", "The fee is 10 EUR per month."),
    ],
)
def test_value_of_a_period_is_one_value_as_adverb_and_as_rate_f2(text: str, told: str) -> None:
    """F2: exact value in any notation."""
    assert [f.text for f in check(text, told, "user").facts if f.cls == "numeric" and not f.survives] == []


@pytest.mark.parametrize("told", ["The budget is $200 per day.", "The monthly budget is $200.", "The budget is $300 per week."])
def test_value_of_another_period_is_changed_f2(told: str) -> None:
    assert check("The weekly budget is $200.", told, "user").verdict == "below_floor"


@pytest.mark.parametrize(
    "said", ["no, we should copy the list first", "No - we should copy the list first", "Nope, copy the list first"]
)
def test_no_as_an_answer_negates_nothing_f2(said: str) -> None:
    """F2: an interjection is no negation of the clause that follows it."""
    found = check(said, "We should copy it, the list, first.", "user")
    assert (found.polarity, found.verdict) == ("n/a", "evict_ok")


def test_no_before_a_noun_and_as_a_value_still_negates_f2() -> None:
    """F2: `no` inside a clause, or after a label, is the negation itself."""
    assert check("No new locks.", "New locks.", "user").polarity == "inverted"
    assert statement("Never, ever open the loft.").polarity == "negated"


def test_question_in_quotes_is_no_statement_f2() -> None:
    """F2: what was asked was neither ordered nor denied."""
    asked = 'The user asked: "should we not drop the cache?"'
    assert check("Drop the cache.", asked, "user").polarity != "inverted"
    assert check(asked, 'User: "should we not drop the cache?"', "user").polarity != "inverted"


def test_check_reads_half_of_a_surrogate_pair_as_the_readers_do() -> None:
    """P10: a text that no UTF-8 can hold still gets an answer, and the answer can be written."""
    found = check("Do not open `sluice\ud800` now.", "Open \udfff it.", "user", quoted=True)
    assert found.verdict == "below_floor"
    assert not any("\ud800" <= char <= "\udfff" for fact in found.facts for char in fact.text)
    assert any("\ufffd" in fact.text for fact in found.facts)

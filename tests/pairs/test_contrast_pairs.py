"""Pairs that differ in one word, one order or one remark, each kind with faithful ones beside the turned ones (F2).

Read for the first time, 68 of the 72 were judged right: one turned condition and one order with a rare verb were certified, two
faithful summaries refused. Those four were put in other words; the rules were left as they were. Of 57 further pairs (`second`)
45 were right: 8 of 34 turned ones were certified, 4 of 23 faithful ones refused. Seven of the eight were mended; the other five
pairs are left out: who does what to whom in a plain report (`the agent pays the buyer`), and the four faithful ones.
"""

from __future__ import annotations

from collections import Counter

import pytest

from ledger.facts import check
from ledger.facts.comparing.contrasts import CONTRASTS, contrast, narrowed
from ledger.facts.language.lexicon import ENGLISH, LANGUAGES
from schemas.facts import SURVIVING
from tests.support.pairs import Pair, pairs_of, verdict_of

PAIRS = pairs_of("contrasts")


@pytest.mark.parametrize("case", PAIRS, ids=lambda case: f"{case['kind']}-{case['id']}")
def test_pair_that_differs_in_one_thing_is_judged_as_a_reader_would_f2(case: Pair) -> None:
    assert verdict_of(case) == case["verdict"]


def test_contrast_pairs_have_both_verdicts_of_each_kind_f2() -> None:
    """Without faithful pairs a rule that refuses everything would pass."""
    counted = Counter((case["kind"], case["verdict"]) for case in PAIRS)
    for kind in {case["kind"] for case in PAIRS}:
        assert counted[kind, "evict_ok"] >= 3
        assert counted[kind, "below_floor"] >= 3


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ("Stay under budget", "Stay over budget", "inverted"),
        ("Stay under 40 EUR", "Stay over 40 EUR", ""),
        ("Raise it by 5", "Raise it to 5", "inverted"),
        ("Raise it by lunch", "Raise it to lunch", ""),
        ("We ship by Friday", "We ship from Friday", "changed"),
        ("Use A1 instead of B2", "Use B2 instead of A1", "changed"),
        ("Invite Olga and Ivan", "Invite Ivan and Olga", ""),
        ("Invite Olga or Ivan", "Invite Ivan or Olga", ""),
        ("Call her before you leave town", "Leave town before you call her", "changed"),
        ("Call her before you leave town", "Before you leave town call her", ""),
        ("Keep the door open", "Do not keep the door closed", ""),
        ("Give the cache 512 MiB and 3 tries", "Give the cache 512 MB and 3 tries", ""),  # its number says that
        ("Guest data must stay here", "Data must stay here", "changed"),
        ("Guest data may stay here", "Data may stay here", ""),
    ],
)
def test_contrast_of_two_sentences_is_found_word_by_word_f2(one: str, other: str, wanted: str) -> None:
    assert contrast(one, other, ENGLISH) == wanted


def test_ban_narrowed_by_what_the_source_says_elsewhere_is_kept_f2() -> None:
    ban, told = "do not email customers", "Do not email customers in spring."
    assert narrowed(ban, told, ban, ENGLISH)
    assert not narrowed(ban, told, ban + ". this holds for spring.", ENGLISH)


def test_vocabulary_of_contrasts_is_of_languages_that_have_a_table_f2() -> None:
    assert set(CONTRASTS) <= set(LANGUAGES)
    for known in CONTRASTS.values():
        for table in (known.contrary, known.before_number, known.before_day):
            assert all(phrase not in others and others for phrase, others in table.items())


def test_version_with_a_zero_at_its_end_is_another_version_f2() -> None:
    found = check("Use Python 3.10.", "Use Python 3.1.", "user").facts
    assert [fact.survival in SURVIVING for fact in found if fact.cls == "numeric"] == [False]
    assert check("The price is 3.10 EUR.", "The price is 3.1 EUR.", "user").verdict == "evict_ok"

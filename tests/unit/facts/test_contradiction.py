"""R3: which of two statements says the opposite of the other, by their own words."""

from __future__ import annotations

import pytest

from ledger.facts import extract
from ledger.facts.contradiction import contradicts, opposes, topic_key
from schemas.facts import Fact


def stated(text: str) -> list[Fact]:
    return [fact for fact in extract(text, "user", scope_key="s").facts if topic_key(fact)]


def pairs(later: str, earlier: str) -> list[tuple[Fact, Fact]]:
    return [(new, old) for new in stated(later) for old in stated(earlier) if topic_key(new) == topic_key(old)]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Never deploy on Friday.", "Deploy on Friday."),
        ("Do not ship on 5 May 2027.", "Ship on 5 May 2027."),
        ("Do not use sudo.", "Use sudo."),
    ],
)
def test_opposite_of_one_thing_is_told(earlier: str, later: str) -> None:
    """R3: one word and a value that both state are a topic, as two words are."""
    assert any(opposes(new, old) and contradicts(new, old) for new, old in pairs(later, earlier))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Never deploy on Friday.", "Deploy on Monday."),
        ("Never deploy.", "Deploy."),
        ("Never deploy on Friday.", "Do not deploy on Friday."),
        ("Never deploy on Friday.", "Never deploy on Friday or Monday."),
        ("The invoice is for 31 EUR.", "The bill is for 32 EUR."),
    ],
)
def test_too_little_in_common_or_the_same_sense_is_no_contradiction(earlier: str, later: str) -> None:
    """R3: a contradiction that is claimed blocks an action, so it must not rest on likeness."""
    assert not any(opposes(new, old) or contradicts(new, old) for new, old in pairs(later, earlier))

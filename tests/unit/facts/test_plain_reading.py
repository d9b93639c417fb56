"""Quick looks and remembered words change nothing but speed: the facts are those of plain readings (P2, F1)."""

from __future__ import annotations

from ledger.facts import extract
from ops.evidence.generator import turns
from schemas.records import Role
from tests.bench.plain_facts import by_class, plainly

BULK = (
    "The plan of the yard lists every tank with the valve that belongs to it and the day of its last check.\n" * 5
    + "You must not open the north valve before the tank is empty and the pump has stopped.\n"
    + "The crew checks every tank by 14 March 2027 and writes the level of the water down.\n"
    + "Error: the pump of tank LX-77 ran into a timeout after 30 s and the level fell.\n"
    + "The south tank holds 40 barrels of water and was filled to the brim on that day.\n"
    + "Report of the pump for the yard, which the crew of the day has to sign when it leaves.\n"
)


def test_extract_facts_equal_those_of_a_plain_reading_f1() -> None:
    texts: list[tuple[str, Role]] = [(turn.text, turn.role) for turn in turns(11, count=60, bulk_bytes=600)]
    texts += [(BULK, "tool"), (BULK, "assistant"), (BULK, "user")]
    quick = [extract(text, role, scope_key="k").facts for text, role in texts]
    for reading in (plainly, by_class):
        with reading():
            assert [extract(text, role, scope_key="k").facts for text, role in texts] == quick, reading.__name__
    assert [extract(text, role, scope_key="k").facts for text, role in texts] == quick
    assert {fact.cls for facts in quick for fact in facts} >= {
        "numeric",
        "identifier",
        "prohibition",
        "commitment",
        "narrative",
    }
    assert any("must not open the north valve" in fact.value for fact in extract(BULK, "tool", scope_key="k").facts)

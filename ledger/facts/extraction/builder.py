"""Collects the facts of one span."""

from __future__ import annotations

from ledger.facts.structure.toolout import LONG_CHARS, SMALL_CHARS, is_record, marked_up, puts_a_question, thinks_aloud
from schemas.facts import Fact, FactClass, FactKind, Polarity
from schemas.ids import fact_id
from schemas.records import Role


class Builder:
    """Collects facts of one span; the first of two equal facts stays."""

    def __init__(self, text: str, folded: str, role: Role, scope_key: str, valid: tuple[str, str]) -> None:
        self.text, self.folded, self.role, self.scope_key, self.valid = text, folded, role, scope_key, valid
        self.found: dict[str, Fact] = {}
        self.seen: set[tuple[str, ...]] = set()
        self.bulk = role == "tool" and len(text) > SMALL_CHARS
        """Output of some length: only what reports a fault or a rule, and what stands in tables, is kept of it."""
        self.explains = role == "assistant" and len(text) > SMALL_CHARS // 2 and marked_up(text)
        """More than a short report: reasons, counts and examples within it serve the explanation, not the work."""
        self.aloud = role == "assistant" and thinks_aloud(folded)
        """It goes on to act at once: what it found out is in what follows."""
        self.asks = role == "assistant" and puts_a_question(text)
        """It puts a choice to the user: the answer, and what is done after it, settle what it says."""
        self.record = role == "tool" and is_record(text)
        """Its counts belong to the one event that it records."""
        self.long = self.bulk or (role == "assistant" and len(text) > LONG_CHARS)
        """An explanation of some length: only full statements and what it names more than once are kept of it."""

    def add(
        self,
        cls: FactClass,
        start: int,
        end: int,
        value: str,
        *,
        subject: str = "",
        negated: bool = False,
        quantifier: str = "",
        hedge: str = "",
        kind: FactKind = "",
        context: str = "",
    ) -> None:
        """One fact; nothing where the value is empty or the same fact is there already."""
        polarity: Polarity = "negated" if negated else "affirmed"
        identity = (cls, value, subject, polarity, quantifier)
        if not value or identity in self.seen:
            return
        self.seen.add(identity)
        fact = Fact(
            id=fact_id(self.scope_key, *identity, *self.valid),
            cls=cls,
            start=start,
            end=end,
            value=value,
            subject=subject,
            polarity=polarity,
            quantifier=quantifier,
            hedge=hedge,
            kind=kind,
            context=context,
            valid_from=self.valid[0],
            valid_to=self.valid[1],
        )
        self.found[fact.id] = fact

"""Collects the facts of one span."""

from __future__ import annotations

from schemas.facts import Fact, FactClass, FactKind
from schemas.ids import fact_id
from schemas.records import Role


class Builder:
    """Collects facts of one span; the first of two equal facts stays."""

    def __init__(self, text: str, folded: str, role: Role, scope_key: str, valid: tuple[str, str]) -> None:
        self.text, self.folded, self.role, self.scope_key, self.valid = text, folded, role, scope_key, valid
        self.found: dict[str, Fact] = {}
        self.seen: set[tuple[str, ...]] = set()

    def add(
        self, cls: FactClass, start: int, end: int, value: str, *, subject: str = "", negated: bool = False, quantifier: str = "",
        hedge: str = "", kind: FactKind = "", context: str = "",
    ) -> None:  # fmt: skip
        """One fact; nothing where the value is empty."""
        if not value:
            return
        identity_parts = (cls, value, subject, "negated" if negated else "affirmed", quantifier)
        if identity_parts not in self.seen:
            self.seen.add(identity_parts)
            identity = fact_id(self.scope_key, *identity_parts, *self.valid)
            self.found[identity] = Fact(
                id=identity, cls=cls, start=start, end=end, value=value, subject=subject, polarity="negated" if negated else "affirmed",
                quantifier=quantifier, hedge=hedge, kind=kind, context=context, valid_from=self.valid[0], valid_to=self.valid[1],
            )  # fmt: skip

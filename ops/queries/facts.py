"""From what a person types to the facts it names."""

from __future__ import annotations

import hashlib
import re

from ledger.errors import UsageError
from ledger.facts import extract
from ledger.facts.comparing.survival import split_bound
from ledger.lookup import fact_row, facts_by_value, span_facts
from ledger.rows import FactRow
from ledger.state import FACT, PLACE, SPAN, fact_key, name_key, ordinal_key
from ops.store import Found
from schemas.facts import Fact


class Named:
    """Facts that a text or id names, and what in it the scope never saw."""

    def __init__(self) -> None:
        self.rows: dict[str, FactRow] = {}
        self.unseen: list[Fact] = []
        self.span = ""
        self.measured = True


def named_facts(found: Found, text: str) -> Named:
    """Facts named by an id, by the whole text of a span or of several, or by any text (contracts section 1).

    A fact in the text counts as seen if the scope has it under the same id, or the same class and value with whatever subject.
    """
    if not text.strip():
        raise UsageError("an empty FACT names nothing", hint="Give a fact id (f…) or the words of the fact.")
    named = Named()
    row = _by_id(found, text)
    if row is not None:
        named.rows[row.id] = row
        return named
    if _whole_span(found, text, named):
        return named
    facts = extract(text, "user", scope_key=found.scope).facts
    for fact in facts:
        _look_up(found, fact, named)
    if named.rows and any(_is_all(fact, text) for fact in facts if fact not in named.unseen):
        named.unseen = [fact for fact in named.unseen if fact.cls != "narrative"]
    return named


def _is_all(fact: Fact, text: str) -> bool:
    """Is the text this value and nothing else, so that it is no sentence besides?"""
    rest = text[: fact.start] + text[fact.end :]
    return fact.cls in {"numeric", "identifier", "commitment"} and not any(char.isalnum() for char in rest)


_ID = re.compile(r"(f[0-9a-f]{7,24})(?:@.*)?", re.ASCII | re.DOTALL)


def _by_id(found: Found, text: str) -> FactRow | None:
    """The fact with this id, with its beginning, or that of an alert's subject. Raises `UsageError` where several begin so."""
    m = _ID.fullmatch(text)
    if m is None:
        return None
    head = bytes.fromhex(m[1][1 : 1 + (len(m[1]) - 1) // 2 * 2])
    rows = [row for _, row in found.rows.walk(FACT, head) if row.id.startswith(m[1])]
    if len(rows) > 1:
        raise UsageError(f"{len(rows)} facts begin with {m[1]}", hint=f"Give more of it: {rows[0].id}, {rows[1].id}")
    return rows[0] if rows else None


def _look_up(found: Found, fact: Fact, named: Named) -> None:
    exact = fact_row(found.rows, fact_key(fact.id))
    if exact is not None:
        named.rows[exact.id] = exact
        return
    same = [
        row
        for value in _values(fact)
        for row in facts_by_value(found.rows, fact.cls, value)
        if row.polarity == fact.polarity and (not fact.subject or not row.subject or row.subject == fact.subject)
    ]
    for row in same:
        named.rows[row.id] = row
    if not same and all(fact.id != other.id for other in named.unseen):
        named.unseen.append(fact)


BOUNDS = ("", "<=", ">=", "<", ">", "~")


def _values(fact: Fact) -> list[str]:
    """Canonical values that the words may stand for: a number without a bound names the same number with one."""
    if fact.cls != "numeric" or split_bound(fact.value)[0]:
        return [fact.value]
    return [bound + fact.value for bound in BOUNDS]


def _whole_span(found: Found, text: str, named: Named) -> bool:
    """Is this the whole text of spans of the session? Then it names all facts of them, measured or not: the same words said
    for another time are another fact.
    """
    wanted = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    for _, place in found.rows.walk(PLACE, ordinal_key(found.session.ordinal)):
        span = found.rows.get(SPAN, name_key(place.span))
        if span is None or span.length != len(text) or span.text_sha256 != wanted:
            continue
        named.span = named.span or span.id
        named.measured = named.measured and span.manifested
        for ref in span_facts(found.rows, span.id).refs:
            row = fact_row(found.rows, ref.fact)
            if row is not None:
                named.rows[row.id] = row
    return bool(named.span)

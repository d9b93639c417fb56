"""Sessions, spans, summaries and manifests come in."""

from __future__ import annotations

import hashlib

import msgspec

from ledger.evolve.effects import Effects
from ledger.evolve.facts import (
    add_carrier,
    change_in_session,
    change_stored,
    needed_session,
    regain,
    regain_everywhere,
    register_fact,
    take_carrier_ordinal,
)
from ledger.evolve.rehydration import register_backing
from ledger.facts import grounded
from ledger.facts.contradiction import opposes, topic_key
from ledger.grounding import facts_to_add
from ledger.lookup import as_fact, fact_row, is_referred, is_summary_text, session_at, span_facts
from ledger.rows import FactRef, PlaceRow, SessionRow, SpanFactsRow, SpanRow, SummaryRow, SummaryTextRow
from ledger.rules.floors import WHOLE, at_least, ratio_of
from ledger.state import (
    PLACE,
    SESSION,
    SESSION_NAME,
    SPAN,
    SPAN_FACTS,
    SUMMARY,
    SUMMARY_BY_TEXT,
    SUMMARY_TEXT,
    TOPIC,
    WINDOW,
    fact_key,
    name_key,
    ordinal_key,
)
from schemas.facts import Fact, Manifest
from schemas.ids import digest
from schemas.records import (
    ManifestRecorded,
    PlainText,
    SessionClosed,
    SessionOpened,
    Setting,
    SpanRecorded,
    SummaryRecorded,
)

replace = msgspec.structs.replace


def text_digest(role: str, text: str) -> bytes:
    """I1: what a raw span is, for telling a duplicate from a conflict."""
    return digest("span-text", role, text)


def text_sha256(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, as publishers compute it too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def on_session_opened(fx: Effects, record: SessionOpened) -> None:
    """The scope's first session pins rules version and policy; a later one changes neither."""
    scope = fx.row
    first = not scope.opened
    if first:
        fx.set_scope(
            opened=True,
            root=record.session,
            rules_version=record.rules_version,
            policy=tuple(sorted({setting.key: setting.value for setting in record.policy}.items())),
            store=record.store,
            horizon_s=record.horizon_s,
        )
    fx.set_scope(sessions=fx.row.sessions + 1)
    row = SessionRow(
        id=record.session,
        ordinal=fx.row.sessions,
        event=record.id,
        parent=record.parent or "",
        runtime=record.runtime,
        horizon_s=record.horizon_s,
        window_budget=record.window_budget,
    )
    fx.draft.put(SESSION, name_key(record.session), row)
    fx.draft.put(SESSION_NAME, ordinal_key(row.ordinal), PlaceRow(span=record.session))
    if first:
        for setting in record.policy:
            note_lowered_floor(fx, setting)


def note_lowered_floor(fx: Effects, setting: Setting) -> None:
    """F1: a floor that puts a class with floor 1.0 below 1.0 makes the scope best effort."""
    cls = setting.key.removeprefix("floor.")
    if cls == setting.key or cls == "narrative":
        return
    ratio = ratio_of(setting.value)
    if ratio is not None and not at_least(ratio, WHOLE):
        fx.degrade(f"floor_below_one:{cls}")


def on_session_closed(fx: Effects, record: SessionClosed) -> None:
    """A closed session's window carries nothing any more; that is no loss, for nobody reads it."""
    session = needed_session(fx, record.session)
    fx.draft.put(SESSION, name_key(record.session), replace(session, closed=True))


def on_span_recorded(fx: Effects, record: SpanRecorded) -> None:
    """A new raw span, immutable from here on (I1). Its facts gain a carrier; lost ones among them are regained."""
    session = needed_session(fx, record.session)
    ordinal = take_carrier_ordinal(fx)
    turns = record.turns or (max(session.boundary_turn, session.last_turn) + 1,) * 2
    in_window = record.in_window and turns[1] > session.boundary_turn and not session.closed
    in_store = fx.row.store == "ledger"
    text = text_of(record.text)
    row = SpanRow(
        id=record.span,
        ordinal=ordinal,
        session=session.ordinal,
        role=record.role,
        turns=turns,
        text_digest=text_digest(record.role, text),
        text_sha256=text_sha256(text),
        length=len(text),
        extractor=record.manifest.extractor if record.manifest is not None else "",
        manifested=record.manifest is not None,
        in_window=in_window,
        in_store=in_store,
        tokens=record.tokens,
    )
    if record.ttl_s is not None and (fx.row.horizon_s is None or record.ttl_s < fx.row.horizon_s):
        _flag_ttl(fx, record.span, record.ttl_s)
    place = ordinal_key(session.ordinal, ordinal)
    fx.draft.put(SPAN, name_key(record.span), row)
    fx.draft.put(PLACE, place, PlaceRow(span=record.span))
    if in_window:
        fx.draft.put(WINDOW, place, PlaceRow(span=record.span))
    last_turn = max(session.last_turn, turns[1])
    fx.draft.put(SESSION, name_key(record.session), replace(session, spans=session.spans + 1, last_turn=last_turn))
    if record.manifest is None or add_facts(fx, row, session, record.manifest, text)[1]:
        fx.draft.put(SPAN, name_key(record.span), replace(row, manifested=False))
        fx.draft.put(SUMMARY_TEXT, name_key(record.span), SummaryTextRow(text=text))


def _flag_ttl(fx: Effects, span: str, ttl_s: int) -> None:
    """I2: a TTL below the session's horizon is a scheduled loss."""
    fx.degrade("ttl_below_horizon")
    fx.raise_alert(
        kind="ttl_below_horizon",
        rule="I2",
        severity="ticket",
        subject=f"span:{span}",
        reason=f"the entry expires after {ttl_s} s, before the session's horizon",
    )


def add_facts(fx: Effects, span: SpanRow, session: SessionRow, manifest: Manifest, text: str | None) -> tuple[int, int]:
    """List facts under a span, each once, and count the span as their carrier wherever it is one. Returns how many are new, and
    how many do not stand in the text.

    The fold checks each listed fact against its offsets and never extracts: one that does not stand there is left out, alerted,
    and its manifest does not count as one (C2).
    """
    facts, ungrounded = facts_to_add(fx.draft, span, manifest, text, fx.scope)
    fresh = [_add_fact(fx, span, session, fact) for fact in facts]
    if fresh:
        listed = span_facts(fx.draft, span.id).refs
        fx.draft.put(SPAN_FACTS, name_key(span.id), SpanFactsRow(refs=(*listed, *fresh)))
    if ungrounded:
        fx.raise_alert(
            kind="manifest_not_grounded",
            rule="C2",
            severity="ticket",
            subject=f"manifest:{span.id}",
            reason=f"{ungrounded} listed facts do not stand at their offsets and were left out",
        )
    return len(fresh), ungrounded


TOPIC_FACTS_MAX = 50
"""Earlier facts on one topic that a new one is held against: a topic with more is a refrain, not a decision."""


def _flag_conflict(fx: Effects, span: SpanRow, fact: Fact) -> None:
    """R3: the user's words now say the opposite of an earlier span's; which of the two holds is not for the ledger to say."""
    about = topic_key(fact) if span.role == "user" else ""
    if not about:
        return
    for seen, (_, marker) in enumerate(fx.draft.walk(TOPIC, name_key(about))):
        row = fact_row(fx.draft, marker.fact)
        if row is None or seen >= TOPIC_FACTS_MAX:
            return
        if row.span != span.id and is_referred(row) and opposes(fact, as_fact(row)):
            fx.raise_alert(
                kind="polarity_conflict", rule="R3", severity="info", subject=f"{row.span}|{span.id}", reason=row.span
            )
            return


def _add_fact(fx: Effects, span: SpanRow, session: SessionRow, fact: Fact) -> FactRef:
    _flag_conflict(fx, span, fact)
    key, _ = register_fact(fx, fact, span.id, span.role, span.ordinal)
    add_carrier(fx, key, span.ordinal, span.id)
    if span.in_store or span.external:
        change_stored(fx, key, stored=int(span.in_store), external=int(span.external), leaving=int(bool(span.leaving_store)))
        regain_everywhere(fx, key, span.id)
    if span.in_window:
        change_in_session(fx, key, session, window=1, leaving=int(bool(span.leaving)))
        regain(fx, key, session, span.id)
    return FactRef(key, fact.start, fact.end)


def on_manifest_recorded(fx: Effects, record: ManifestRecorded, span: SpanRow) -> None:
    """C2: the span's facts are known now. A newer extractor adds facts and removes none.

    The text of a span without manifest is kept until its first good one arrives; for a later one only offsets can be checked.
    One that lists what does not stand in the text is none: the span has to stay raw until a better one arrives.
    """
    session = session_at(fx.draft, span.session)  # whoever measured it: the span counts for its own session
    assert session is not None, "a span has a session"
    kept = fx.draft.get(SUMMARY_TEXT, name_key(span.id))
    row = replace(span, manifested=True, extractor=record.manifest.extractor)
    fx.draft.put(SPAN, name_key(span.id), row)
    fresh, ungrounded = add_facts(fx, row, session, record.manifest, kept.text if kept is not None else None)
    if ungrounded and not span.manifested:
        fx.draft.put(SPAN, name_key(span.id), replace(row, manifested=False))
    else:
        if kept is not None:
            fx.draft.delete(SUMMARY_TEXT, name_key(span.id))
        fx.resolve_alert("C2", f"span:{span.id}", "its facts are known now")
    if fresh and span.manifested and record.manifest.extractor == span.extractor:
        fx.raise_alert(
            kind="fact_omitted",
            rule="T2",
            severity="page",
            subject=f"manifest:{span.id}",
            reason=f"{fresh} facts stand in the span that its manifest, by the same extractor, left out",
        )


def on_summary_recorded(fx: Effects, record: SummaryRecorded) -> None:
    """A summary is on record; it becomes a carrier when its compaction is applied or observed, not before."""
    session = needed_session(fx, record.session)
    ordinal = take_carrier_ordinal(fx)
    text = text_of(record.text) if record.text is not None else ""
    row = SummaryRow(
        id=record.summary,
        ordinal=ordinal,
        session=session.ordinal,
        event=record.id,
        round=record.round,
        generation=record.generation,
        state=record.state if text.strip() or record.state != "text" else "empty",
        text_sha256=text_sha256(text),
        tokens=record.tokens,
        covers_summaries=record.covers_summaries,
    )
    key = name_key(record.summary)
    fx.draft.put(SUMMARY, key, register_backing(fx, session, record, row))
    if row.state == "text":
        fx.draft.put(SUMMARY_TEXT, key, SummaryTextRow(text=text))
        if not is_summary_text(fx.draft, row.text_sha256):
            fx.draft.put(SUMMARY_BY_TEXT, name_key(row.text_sha256), PlaceRow(span=row.id))
    if record.manifest is not None and row.state == "text":
        refs = tuple(
            FactRef(fact_key(fact.id), fact.start, fact.end)
            for fact in record.manifest.facts
            if grounded(fact, text, scope_key=fx.scope)
        )
        fx.draft.put(SPAN_FACTS, key, SpanFactsRow(refs=refs))


def text_of(text: PlainText) -> str:
    """The text of a tagged text field."""
    return text.text

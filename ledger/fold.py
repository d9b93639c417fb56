"""One step of the fold: a record and what is known of its scope in, changed rows and outputs out.

The step holds no rule. It tells duplicates and conflicts apart by event id, asks `decide`, hands record and decision to
`evolve`, and turns what cannot take effect into a `record.rejected`. It never raises on a record that decodes: an exception of
the core becomes `record.rejected: internal_error`, the scope unknown, paged, and the rest goes on.
"""

from __future__ import annotations

import msgspec

from ledger.decide import decide
from ledger.errors import LedgerError
from ledger.evolve import Effects, evolve_decision, evolve_record
from ledger.facts import RULES_VERSION
from ledger.lookup import request_row, scope_row, session_row, span_row, summary_row
from ledger.recorded import NotRecorded, OutputsMissed, Recorded, follow, follow_unfoldable
from ledger.rows import SeenRow
from ledger.rules.identity import ID_NOT_ITS_OWN, IMMUTABLE, SPAN_ID_REUSED, span_conflict
from ledger.state import REQUEST, SEEN, Draft, Rows, name_key
from schemas.alerts import AnyAlert
from schemas.codec import decode_record, encode
from schemas.decisions import AnyDecision, RecordRejected
from schemas.ids import digest, rejection_id
from schemas.objects import own_id
from schemas.records import (
    ActionProposed,
    AnyRecord,
    CompactionRequested,
    EvictionRequested,
    IndexWriteRequested,
    ManifestRecorded,
    SessionOpened,
    SpanRecorded,
    SummaryRecorded,
)
from schemas.validity import fault_of

REPEATABLE = (CompactionRequested, EvictionRequested, IndexWriteRequested, ActionProposed)
_SPAN_TEXT = "span-text"


class RulesVersionNotCarried(Exception):
    """The scope is under a rules version that this build does not carry, and what the record needs is not on record; the fold
    stops before it.
    """

    def __init__(self, scope: str, version: str, why: str = "", missed: int = 0) -> None:
        """`missed` is the number of an output of the scope that was not on record when its record was folded; 0 if none is."""
        lacks = f": {why}" if why else ""
        super().__init__(f"scope {scope} is under rules version {version!r}, this build carries {RULES_VERSION!r}{lacks}")
        self.scope = scope
        self.version = version
        self.missed = missed


class Step(msgspec.Struct, frozen=True, eq=False):
    """What one record did. `repeated` holds the bytes of a decision that is on record already and is said again, `status` what
    had become of its request by then.
    """

    changes: Draft
    decision: AnyDecision | None = None
    alerts: tuple[AnyAlert, ...] = ()
    duplicate: bool = False
    repeated: bytes = b""
    status: str = ""
    followed: str = ""
    """The rules version whose recorded outputs were taken, where this build does not carry it."""

    error: Exception | None = None
    """What the core raised, for the process's own diagnostics; no part of it reaches the log."""


def content_digest(record: AnyRecord) -> bytes:
    """What makes two records with one id the same: everything but source, sequence, time and manifest (contracts section 1)."""
    bare: dict[str, object] = {"source": None, "sequence": None, "time_ms": None}
    if isinstance(record, SpanRecorded | SummaryRecorded):
        bare["manifest"] = None
    return digest("content", encode(msgspec.structs.replace(record, **bare)))


def step(view: Rows, record: AnyRecord, recorded: Recorded | None = None) -> Step:
    """Fold one record. In a scope under a rules version that this build does not carry what is `recorded` is taken.

    Raises `RulesVersionNotCarried`, and what memory and the store raise; nothing else for a record that decodes.
    """
    foreign = _version_not_carried(view, record)
    if foreign and recorded is None:
        raise RulesVersionNotCarried(record.scope, foreign)
    content = content_digest(record)
    seen = _seen(view, record)
    if (seen is not None and seen.content == content) or _changes_nothing(view, record):
        return _duplicate(view, record)
    if _stays_refused(view, record, content):
        return Step(Draft(view), duplicate=True)
    if foreign and recorded is not None:
        return _follow(view, record, content, recorded, foreign, known=seen is not None)
    try:
        return _fold_new(view, record, content, known=seen is not None)
    except (RecursionError, MemoryError, OSError, LedgerError):
        raise  # memory, I/O and the store: no function of the records, so the fold halts and tries again
    except Exception as error:  # noqa: BLE001  the core is pure: whatever it raises, it raises again on every replay
        return _internal_error(view, record, content, error)


def carries(version: str) -> bool:
    """Does this build carry a rules version?"""
    return version == RULES_VERSION


def _version_not_carried(view: Rows, record: AnyRecord) -> str:
    """The scope's rules version, or the one that its first record pins, if this build does not carry it."""
    scope = scope_row(view)
    version = scope.rules_version
    if not scope.opened:
        version = record.rules_version if isinstance(record, SessionOpened) else ""
        return "" if version in ("", RULES_VERSION) else version
    return "" if version == RULES_VERSION else version


def _follow(view: Rows, record: AnyRecord, content: bytes, recorded: Recorded, version: str, *, known: bool) -> Step:
    reason, early = _unacceptable(view, record, known=known)[0], _too_early(view, record)
    try:
        fx, decision, alerts = follow(view, record, content, reason=reason, early=early, recorded=recorded)
    except NotRecorded as error:
        raise _not_carried(record.scope, version, error) from None
    return Step(fx.draft, decision, alerts, duplicate=reason != "" and decision is None, followed=version)


def _not_carried(scope: str, version: str, error: NotRecorded) -> RulesVersionNotCarried:
    return RulesVersionNotCarried(scope, version, str(error), error.number if isinstance(error, OutputsMissed) else 0)


def identity_mark(record: AnyRecord) -> bytes:
    """What must be equal for a second record with the same id to change nothing: of a span its role and text (I1), of an
    opened session nothing, of anything else its content.
    """
    if isinstance(record, SpanRecorded):
        return digest(_SPAN_TEXT, record.role, record.text.text)
    return b"" if isinstance(record, SessionOpened) else content_digest(_as_read(record))


def _as_read(record: AnyRecord) -> AnyRecord:
    """The record as a reader of its bytes sees it, for a publisher that has it as it was made."""
    return decode_record(encode(record))


def is_span_on_record(view: Rows, span: str, role: str, text: str) -> bool:
    """Is a span with this role and text on record under this id? Then recording it again changes nothing (I1)."""
    row = span_row(view, span)
    return row is not None and row.text_digest == digest(_SPAN_TEXT, role, text)


def is_other_span(view: Rows, span: str, role: str, text: str) -> bool:
    """Is a span with another role or text on record under this id? Then recording it is refused (I1)."""
    row = span_row(view, span)
    return row is not None and row.text_digest != digest(_SPAN_TEXT, role, text)


def is_on_record(view: Rows, record: AnyRecord) -> bool:
    """Would appending this record change nothing, because it, or its refusal, is on record? For publishers that read again."""
    if _changes_nothing(view, record):
        return True
    content = content_digest(_as_read(record))
    seen = _seen(view, record)
    return (seen is not None and seen.content == content) or _stays_refused(view, record, content)


def _seen(view: Rows, record: AnyRecord) -> SeenRow | None:
    """What was folded under the record's id."""
    return view.get(SEEN, bytes.fromhex(record.id)) if _is_hex(record.id) else None


def _refusal(view: Rows, record: AnyRecord, content: bytes) -> SeenRow | None:
    return view.get(SEEN, bytes.fromhex(rejection_id(record.id, content.hex())))


def _stays_refused(view: Rows, record: AnyRecord, content: bytes) -> bool:
    """Refused once is refused for good: what came since must not decide (P3). But a record that came too early, before its
    session was opened or its span recorded, never was on record, so nothing was first: once that has come, it is taken when it
    is sent again.
    """
    mark = _refusal(view, record, content)
    return mark is not None and (not mark.early or bool(_too_early(view, record)[0]))


def _is_hex(text: str) -> bool:
    return len(text) == 32 and all(c in "0123456789abcdef" for c in text)


def _changes_nothing(view: Rows, record: AnyRecord) -> bool:
    """I1: a span with the same role and text is a duplicate, whatever else its publisher says of it; and a session that is
    open stays as its first record opened it.
    """
    if record.id != own_id(record):
        return False
    if isinstance(record, SessionOpened):
        return session_row(view, record.session) is not None
    if not isinstance(record, SpanRecorded):
        return False
    row = span_row(view, record.span)
    return row is not None and row.text_digest == digest(_SPAN_TEXT, record.role, record.text.text)


def _duplicate(view: Rows, record: AnyRecord) -> Step:
    """P3: nothing changes. A repeated request gets its recorded decision again, same bytes."""
    row = request_row(view, record.session, record.request) if isinstance(record, REPEATABLE) else None
    if row is None:
        return Step(Draft(view), duplicate=True)
    return Step(Draft(view), duplicate=True, repeated=row.decision, status=row.status)


def _fold_new(view: Rows, record: AnyRecord, content: bytes, *, known: bool) -> Step:
    fx = Effects(view, scope=record.scope, session=record.session, cause=record.id)
    reason, rule, subject = _unacceptable(view, record, known=known)
    if reason:
        return _reject(fx, record, content, reason, rule, subject)
    fx.draft.put(SEEN, bytes.fromhex(record.id), SeenRow(content=content))
    fx.set_scope(records=fx.row.records + 1)
    decision = decide(view, record)
    if decision is not None:
        evolve_decision(fx, decision, record)
    else:
        reason = evolve_record(fx, record)
        if reason:
            fx = Effects(view, scope=record.scope, session=record.session, cause=record.id)
            return _reject(fx, record, content, reason, "", "")
    fx.settle_trust()
    return Step(fx.draft, decision, tuple(fx.alerts))


def _unacceptable(view: Rows, record: AnyRecord, *, known: bool) -> tuple[str, str, str]:
    """Why a record may not be folded at all: reason, rule, subject."""
    if not _is_hex(record.id):
        return "malformed_event_id", "", record.id
    if isinstance(record, SpanRecorded):
        reason = _span_refusal(view, record)
        if reason:
            return reason, "I1", record.span
    if record.id != own_id(record):
        return ID_NOT_ITS_OWN, "I1", record.session
    if known:
        return "conflicting_content", "I1" if isinstance(record, SummaryRecorded) else "", record.id
    fault = fault_of(record)
    if fault is not None:
        return fault.reason, "", record.session
    early = _too_early(view, record)
    if early[0]:
        return early
    if isinstance(record, SessionOpened) and not record.rules_version and not scope_row(view).opened:
        return "rules_version_missing", "", record.session  # a later release would pin another one (P2)
    if isinstance(record, SummaryRecorded) and span_row(view, record.summary) is not None:
        return "summary_id_is_a_raw_span", "I3", record.summary
    if isinstance(record, SpanRecorded) and summary_row(view, record.span) is not None:
        return "span_id_is_a_summary", "I3", record.span
    if isinstance(record, REPEATABLE) and view.get(REQUEST, name_key(record.session, record.request)) is not None:
        return "request_id_reused", "", record.request
    return "", "", ""


def _too_early(view: Rows, record: AnyRecord) -> tuple[str, str, str]:
    """What the record builds on and what is not on record yet, as `_unacceptable` says it."""
    if session_row(view, record.session) is None and not isinstance(record, SessionOpened):
        return "session_not_opened", "", record.session
    if isinstance(record, ManifestRecorded) and span_row(view, record.span) is None:
        return "span_not_recorded", "C2", record.span
    return "", "", ""


def _span_refusal(view: Rows, record: SpanRecorded) -> str:
    row = span_row(view, record.span)
    if row is None:
        return ""
    return span_conflict(row.text_digest, digest(_SPAN_TEXT, record.role, record.text.text), tombstoned=row.tombstoned)


def _reject(fx: Effects, record: AnyRecord, content: bytes, reason: str, rule: str, subject: str) -> Step:
    """The record changes nothing; its rejection is said once for each content, and whoever sends again what came too early
    and is refused for another reason is told by the alert alone.
    """
    mark, again = rejection_id(record.id, content.hex()), _refusal(fx.draft, record, content) is not None
    early = bool(reason) and (reason, rule, subject) == _too_early(fx.draft, record)
    fx.draft.put(SEEN, bytes.fromhex(mark), SeenRow(content=content, refused=True, early=early))
    decision = None if again else _rejection(fx, record, content, reason, rule, subject)
    if rule == "I1":
        _alert_identity(fx, reason, subject)
    return Step(fx.draft, decision, tuple(fx.alerts), duplicate=again)


def _rejection(fx: Effects, record: AnyRecord, content: bytes, reason: str, rule: str, subject: str) -> RecordRejected:
    """In a scope that pinned no rules version none is named: no rule of any was asked, so every release says the same (P2)."""
    return RecordRejected(
        id=rejection_id(record.id, content.hex()),
        scope=record.scope,
        session=record.session,
        request=record.id,
        request_id=getattr(record, "request", ""),
        rule=rule,
        rules_version=fx.row.rules_version,
        output_seq=fx.next_output(),
        reason=reason,
        content_sha256=content.hex(),
        subject=subject,
    )


def _alert_identity(fx: Effects, reason: str, subject: str) -> None:
    """I1: somebody tried to rewrite a raw span, which pages, or used an id that is another record's, one ticket a session."""
    rewritten = reason in (IMMUTABLE, SPAN_ID_REUSED)
    fx.raise_alert(
        kind="raw_span_rewritten" if rewritten else "record_conflict",
        rule="I1",
        severity="page" if rewritten else "ticket",
        subject=f"ids:{subject}" if reason == ID_NOT_ITS_OWN else f"span:{subject}",
        reason=reason,
    )


def _internal_error(view: Rows, record: AnyRecord, content: bytes, error: Exception) -> Step:
    fx = Effects(view, scope=record.scope, session=record.session, cause=record.id)
    fx.unclear(f"internal_error:{record.id}")
    fx.set_scope(rules_version=fx.row.rules_version)
    result = _reject(fx, record, content, f"internal_error:{type(error).__name__}", "", "")
    fx.raise_alert(
        kind="internal_error",
        rule="P4",
        severity="page",
        subject=f"record:{record.id}",
        reason=f"{type(error).__name__} while folding this record; it changed nothing",
    )
    fx.settle_trust()
    return Step(fx.draft, result.decision, tuple(fx.alerts), error=error)


def _quarantine_id(scope: str, content_sha256: str) -> str:
    return digest("unfoldable", scope, content_sha256).hex()


def is_quarantine(decision: RecordRejected) -> bool:
    """Is this the rejection of bytes that could not be folded, rather than of a record?"""
    return decision.request == _quarantine_id(decision.scope, decision.content_sha256)


def reject_unfoldable(view: Rows, *, scope: str, content_sha256: str, reason: str, recorded: Recorded | None = None) -> Step:
    """Bytes that cannot be folded are quarantined whole: rejected once, their scope unknown, the rest goes on.

    In a scope under a rules version that this build does not carry the rejection is taken from what is `recorded`, if that is
    given: its number among the outputs of the scope follows from those before it. Raises `RulesVersionNotCarried` then.
    """
    fx = Effects(view, scope=scope, session="", cause=_quarantine_id(scope, content_sha256))
    mark = rejection_id(scope, content_sha256)
    if view.get(SEEN, bytes.fromhex(mark)) is not None:
        return Step(Draft(view), duplicate=True)
    version = fx.row.rules_version
    if recorded is not None and version not in ("", RULES_VERSION):
        try:
            taken, rejection, alerts = follow_unfoldable(
                view, scope=scope, cause=fx.cause, content_sha256=content_sha256, recorded=recorded
            )
        except NotRecorded as error:
            raise _not_carried(scope, version, error) from None
        return Step(taken.draft, rejection, alerts, followed=version)
    fx.draft.put(SEEN, bytes.fromhex(mark), SeenRow(content=bytes.fromhex(content_sha256)[:16], refused=True))
    fx.unclear(f"unreadable_record:{content_sha256[:16]}")
    decision = RecordRejected(
        id=mark,
        scope=scope,
        session="",
        request=fx.cause,
        rules_version=fx.row.rules_version,
        output_seq=fx.next_output(),
        reason=reason,
        content_sha256=content_sha256,
    )
    fx.raise_alert(
        kind="record_unreadable",
        rule="P1",
        severity="page",
        subject=f"content:{content_sha256}",
        reason=reason,
    )
    fx.settle_trust()
    return Step(fx.draft, decision, tuple(fx.alerts))

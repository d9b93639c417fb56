"""What one machine offers beside reading: the gate, audits, acknowledgements and policy.

Each appends records and folds them; the answer is the fold's.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import msgspec

from consumers.auditor import audit_record, has_passed, omitted_facts, pinned_fact, pinned_span
from ledger.errors import LedgerError, UsageError
from ledger.evolve.trust import policy_fault
from ledger.facts import extract
from ledger.fold import is_on_record
from ledger.log import EVENTS, NewEntry
from ledger.lookup import request_row, scope_row, span_facts
from ledger.masking import mask
from ledger.recorder import made
from ledger.retrieval import Fetched, Retrieval
from ledger.state import fact_name
from ops.json_lines import NothingInFile, json_lines
from ops.queries.overview import trust_of
from ops.queries.quotes import Quotes
from ops.queries.rejections import rejection_of
from ops.retrieval.backing import rehydrate
from ops.retrieval.command import CommandStore
from ops.retrieval.own_store import OwnStore, Undeclared
from ops.store import Found, Reading, Store
from schemas.codec import decode_decision, encode
from schemas.decisions import ActionAllowed, ActionDenied
from schemas.ids import digest
from schemas.records import (
    ActionProposed,
    AnyRecord,
    Claim,
    DegradationAcknowledged,
    FetchedClaim,
    ManifestRecorded,
    PolicySet,
    SpanRecorded,
)


class NothingToAudit(LedgerError):
    """No span has left the session's window, so there is nothing whose retrieval could be tried."""

    exit_code = 3


class ClaimAnswer(msgspec.Struct, kw_only=True):
    """What became of one claim, with the authority it has (R4) and why."""

    text: str
    status: str
    authority: str
    reason: str
    substantiated_by: str | None


class GateAnswer(msgspec.Struct, kw_only=True):
    """May the action rest on these claims?"""

    decision: str
    claims: list[ClaimAnswer]
    trust: str
    reason: str
    rule: str
    request: str


class AuditAnswer(msgspec.Struct, kw_only=True):
    """One audit: the span asked for, what came back, and what that makes of the trust."""

    session: str
    span: str
    fact: str
    status: str
    passed: bool
    detail: str
    omitted_facts: int
    trust: str
    reasons: list[str]
    event: str


class SaidAnswer(msgspec.Struct, kw_only=True):
    """A statement that was put on record, and whether it took effect."""

    session: str
    event: str
    added: bool
    accepted: bool
    reason: str
    trust: str


def retrieval_for(reading: Reading, found: Found, command: str | None) -> Retrieval:
    """The agent's own path: a command of the user's, else the ledger's own store. Raises `UsageError` for a bad command."""
    if command:
        return CommandStore(command)
    own = OwnStore(reading, found)
    return Undeclared(own, found.session.id) if scope_row(found.rows).store == "none" else own


async def append_new(store: Store, records: Iterable[AnyRecord]) -> list[AnyRecord]:
    """Append those records that are not on record yet, fold, and return what was appended."""
    fresh: list[AnyRecord] = []
    with store.reading() as reading:
        for record in records:
            rows = reading.rows(record.scope)
            if rows is None or not is_on_record(rows, record):
                fresh.append(record)
    if fresh:
        await store.log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in fresh])
    await store.fold("wait")
    return fresh


# The gate.


class _ClaimLine(msgspec.Struct):
    text: str
    key: str | None = None
    summary: str | None = None


def read_claims(name: str, data: bytes) -> list[Claim]:
    """Claims of a file, one object a line: {"text", "key"|"summary"}. Raises `UsageError` that names the line, and
    `NothingInFile`.
    """
    claims = []
    for number, line in json_lines(data):
        try:
            found = msgspec.json.decode(line, type=_ClaimLine)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(
                f"{name}:{number}: not a claim: {error}", hint='Expected one object a line: {"text": …, "key": …} or "summary".'
            ) from None
        claims.append(Claim(text=mask(found.text), key=found.key, summary=found.summary))
    if not claims:
        raise NothingInFile(f"{name}: holds no claim", hint="An action that rests on nothing needs no gate.")
    return claims


async def gate(
    store: Store, session: str, claims: list[Claim], *, action: str = "", side_effects: bool = True, command: str | None = None
) -> GateAnswer:
    """R5: rehydrate every claim through the agent's own path, put the proposal on record, and return the fold's decision."""
    with store.reading() as reading:
        found = reading.session(session)
        retrieval = retrieval_for(reading, found, command)
        fetched = [_fetched(found, claim, await rehydrate(found.rows, claim, retrieval)) for claim in claims]
    request = f"action-{uuid.uuid4().hex}"
    record = made(
        ActionProposed,
        found.scope,
        found.session.id,
        request=request,
        name=action,
        side_effects=side_effects,
        claims=tuple(item for item, _ in fetched),
    )
    await append_new(store, [record])
    with store.reading() as reading:
        found = reading.session(session)
        row = request_row(found.rows, found.session.id, request)
        state, _ = trust_of(found, 0)
    decision = decode_decision(row.decision) if row is not None else None
    if not isinstance(decision, ActionAllowed | ActionDenied):
        raise UsageError(f"the proposal {request} was rejected", hint="Look for it with: cledger replay --emit decisions")
    answers = [
        ClaimAnswer(
            text=claim.text,
            status=result.status,
            authority=result.authority,
            reason=f"contradicted_by:{result.contradicted_by}" if result.contradicted_by else answer.detail,
            substantiated_by=result.substantiated_by or None,
        )
        for claim, result, (_, answer) in zip(claims, decision.claims, fetched, strict=True)
    ]
    verdict = "allowed" if isinstance(decision, ActionAllowed) else "denied"
    return GateAnswer(
        decision=verdict, claims=answers, trust=state, reason=decision.reason, rule=decision.rule, request=request
    )


def _fetched(found: Found, claim: Claim, answer: Fetched) -> tuple[FetchedClaim, Fetched]:
    item = FetchedClaim(
        claim=claim,
        manifest=extract(claim.text, "assistant", scope_key=found.scope),
        status=answer.status,
        span=answer.carrier,
        text=mask(answer.text),
        raw=answer.raw is True,
    )
    return item, answer


# Audits.


async def audit(store: Store, session: str, *, command: str | None = None) -> AuditAnswer:
    """T2: a span that has left the window, pinned by a rule that nobody can steer, must come back as it was recorded.

    The span's facts are extracted again; one that its manifest left out is put on record and alerted. Raises `NothingToAudit`.
    """
    with store.reading() as reading:
        found = reading.session(session)
        if command is None and scope_row(found.rows).store == "none":
            raise NothingToAudit(
                f"session {found.session.id} declares no retrieval store, so there is nothing to ask",
                hint="Name the agent's own with --retrieval COMMAND. Nothing was recorded.",
            )
        span = pinned_span(found.rows, found.session)
        if span is None:
            raise NothingToAudit(
                f"nothing has left the window of session {found.session.id}, so there is nothing to ask for",
                hint="Audit again after the next compaction.",
            )
        answer = await retrieval_for(reading, found, command).fetch(span.id)
        recorded = await Quotes(reading, found.scope).span(span.id)
        omitted = _omitted(found, recorded) if recorded is not None else []
        fact = pinned_fact(found.rows, span)
    record = audit_record(found.scope, found.session.id, span, fact, answer, uuid.uuid4().hex)
    await append_new(store, [*omitted, record])
    with store.reading() as reading:
        found = reading.session(session)
        state, reasons = trust_of(found, 0)
    passed = has_passed(record, span)
    return AuditAnswer(
        session=found.session.id,
        span=span.id,
        fact=fact,
        status=answer.status,
        passed=passed,
        detail=answer.detail or ("" if passed or answer.status != "ok" else "what came back is not what was recorded"),
        omitted_facts=sum(len(item.manifest.facts) for item in omitted),
        trust=state,
        reasons=reasons,
        event=record.id,
    )


def _omitted(found: Found, recorded: SpanRecorded) -> list[ManifestRecorded]:
    """Facts that stand in the span's text and that its publisher's manifest left out."""
    listed = frozenset(fact_name(ref.fact) for ref in span_facts(found.rows, recorded.span).refs)
    omitted = omitted_facts(recorded, listed)
    return [omitted] if omitted is not None else []


# Statements.


async def acknowledge(store: Store, session: str, evidence: str, authority: str) -> SaidAnswer:
    """T3: say that the event `evidence` shows the scope repaired. It counts only if it is younger than the last fault."""
    with store.reading() as reading:
        found = reading.session(session)
    occurrence = digest("acknowledged", evidence, authority).hex()
    record = made(
        DegradationAcknowledged,
        found.scope,
        found.session.id,
        evidence=evidence,
        authority=authority,
        occurrence=occurrence,
    )
    return await _said(store, found, record)


async def _said(store: Store, found: Found, record: DegradationAcknowledged | PolicySet) -> SaidAnswer:
    fresh = await append_new(store, [record])
    reason = await rejection_of(store.log, record.id)
    with store.reading() as reading:
        state, _ = trust_of(reading.session(found.session.id), 0)
    return SaidAnswer(
        session=found.session.id,
        event=record.id,
        added=bool(fresh),
        accepted=not reason,
        reason=reason,
        trust=state,
    )


async def set_policy(store: Store, key: str, value: str, session: str | None, authority: str) -> list[SaidAnswer]:
    """Set one policy key for the scope of a session, or once for every scope. Raises `UsageError` for a bad setting."""
    fault = policy_fault(key, value)
    if fault:
        raise UsageError(
            f"policy {key} = {value!r}: {fault}",
            hint="Keys: floor.CLASS (a ratio, as 2/5), audit.window, audit.interval, context.reinject_tokens (counts).",
        )
    with store.reading() as reading:
        chosen = [reading.session(session)] if session is not None else _roots(reading)
    answers = []
    for found in chosen:
        occurrence = uuid.uuid4().hex
        record = made(
            PolicySet,
            found.scope,
            found.session.id,
            key=key,
            value=value,
            authority=authority,
            occurrence=occurrence,
        )
        answers.append(await _said(store, found, record))
    return answers


def _roots(reading: Reading) -> list[Found]:
    """One session of every scope, the first that was opened."""
    roots: dict[str, Found] = {}
    for found in reading.sessions():
        roots.setdefault(found.scope, found)
    return list(roots.values())

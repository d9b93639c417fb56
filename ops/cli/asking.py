"""`sessions`, `status`, `recall`, `carriers` and `explain`: what the log knows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.errors import UsageError
from ops.cli.exit import FINE, UNKNOWN, VIOLATION, settle
from ops.cli.options import FactText, Json, Local, LogUrl, SessionName, TokenFile
from ops.cli.screen import console, listing, one_line, print_json, put, say, talk
from ops.cli.words import day_time, left_cut, of_class, place, short_ids, short_path, short_sessions

if TYPE_CHECKING:
    from ops.queries.overview import SessionAnswer, StatusAnswer
    from ops.queries.recall import CarrierAnswer, ExplainAnswer, RecallAnswer

_ANSWER_CODES = {
    "anchored": FINE,
    "tombstoned": FINE,
    "unanchored": VIOLATION,
    "empty": VIOLATION,
    "absent": UNKNOWN,
    "unknown": UNKNOWN,
}
_TRUST_CODES = {"lossless": FINE, "degraded": VIOLATION, "unknown": UNKNOWN}
_ANSWER_STYLES = {"anchored": "green", "tombstoned": "cyan", "unanchored": "bold red", "empty": "bold red"}
WHERE_CHARACTERS_MIN = 16
"""A path is cut from the left to what is left of the line, and not further."""

AsOf = Annotated[str, typer.Option("--as-of", metavar="T", help="Was it valid then? ISO 8601.")]


def sessions(
    compacted: Annotated[bool, typer.Option("--compacted", help="Only sessions that were compacted.")] = False,
    log: LogUrl = None,
    local: Local = False,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """List the sessions of the log, newest first.

    `lost` counts all losses that stand, of the facts that left the window: cledger forgotten SESSION says which are open.
    """
    from ops.cli.reading import answer_of

    answers = asyncio.run(answer_of(log, lambda ask: ask.sessions(compacted=compacted), local=local, token_file=token_file))
    if json:
        for answer in answers:
            print_json(answer)
        return
    if not answers:
        talk("no session was compacted" if compacted else "no sessions yet: cledger ingest PATH...")
    _show_sessions(sorted(answers, key=lambda one: one.last or "", reverse=True))


def _show_sessions(answers: list[SessionAnswer]) -> None:
    """In the order given. What would say the same of all is no column: no time is known, or trust is unknown."""
    names = short_sessions(one.session for one in answers)
    columns: list[tuple[str, list[str]]] = [
        ("last", [day_time(one.last) for one in answers]),
        ("rounds", [str(one.compactions) for one in answers]),
        ("lost", [_lost(one) for one in answers]),
        ("trust", [one.trust for one in answers] if any(one.trust != "unknown" for one in answers) else []),
        ("session", [names[one.session] for one in answers]),
        ("runtime", [one.runtime for one in answers]),
        ("where", [_where(one) for one in answers]),
    ]
    shown = [(head, cells) for head, cells in columns if any(cells)]
    taken = sum(max(len(head), *map(len, cells)) + 2 for head, cells in shown if head != "where")
    room = max(console().width - taken, WHERE_CHARACTERS_MIN)
    rows = zip(*([left_cut(cell, room) for cell in cells] if head == "where" else cells for head, cells in shown), strict=True)
    right = frozenset(at for at, (head, _) in enumerate(shown) if head in ("rounds", "lost"))
    listing(list(rows), header=[head for head, _ in shown], right=right)


def _lost(answer: SessionAnswer) -> str:
    """Losses of what left the window, or that nobody can tell."""
    if not answer.compactions:
        return "-"
    if answer.unreadable:
        return f"at least {answer.lost:,}" if answer.lost else "not judged"
    return f"{answer.lost:,} of {answer.dropped:,}"


def _where(answer: SessionAnswer) -> str:
    """The file, or its folder where the file is named after the session."""
    folder, _, name = short_path(answer.path).rpartition("/")
    return folder if answer.session.partition("/")[0] in name else short_path(answer.path)


def status(
    session: Annotated[str | None, typer.Argument(metavar="[SESSION]", help="Session id; default: all of them.")] = None,
    log: LogUrl = None,
    local: Local = False,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """How far may a session be trusted, and why?

    With the figures that are watched: audits, hit rate, facts below their floor, the window against its budget.
    """
    from ops.cli.reading import answer_of

    answers = asyncio.run(answer_of(log, lambda ask: ask.status(session), local=local, token_file=token_file))
    if not answers:
        talk("no sessions yet: cledger ingest PATH...")
    for answer in answers:
        settle(_TRUST_CODES[answer.trust])
    for answer in answers:
        put(answer, json, _show_status)


def _show_status(answer: StatusAnswer) -> None:
    from ops.cli.findings import show_trust

    say((f"session {answer.session}", "bold"))
    show_trust(answer.trust, answer.reasons)
    if not answer.compactions:
        say("- nothing was compacted yet, so there is nothing to audit", indent=4, hang=2)
    lost = sum(row.lost for row in answer.rounds)
    unknown = sum(row.unknown for row in answer.rounds)
    judged = [f"{lost:,} lost"] + ([f"{unknown:,} went with a summary that cannot be read"] if unknown else [])
    rates = ", ".join(f"{cls} {rate:.0%}" for cls, rate in answer.floor_violation_rate.items())
    change = f" ({answer.hit_rate_change:+.1%} over the last pass)" if answer.hit_rate_change is not None else ""
    listing(
        [
            ("compactions", f"{answer.compactions}, of which {answer.compactions_since_audit} since the last passed audit"),
            ("facts, summed over rounds", ", ".join(judged)),
            ("evicted spans below floor", rates or ("none" if answer.compactions and not unknown else "not judged")),
            ("hit rate", f"{answer.hit_rate:.1%}{change}" if answer.hit_rate is not None else "not measured"),
            ("held back as unmeasured", f"{answer.context_retained_raw} spans"),
            *_window(answer),
            ("index behind the log", f"{answer.gap} records"),
        ],
        indent=2,
    )


def _window(answer: StatusAnswer) -> list[tuple[str, str]]:
    """The window against its budget, where anybody said what either is."""
    if answer.window_tokens is None and answer.window_budget is None:
        return []
    return [("window", f"{_or(answer.window_tokens)} of {_or(answer.window_budget)} tokens")]


def _or(number: int | None) -> str:
    return f"{number:,}" if number is not None else "?"


def recall(
    fact: FactText,
    session: SessionName,
    as_of: AsOf = "",
    log: LogUrl = None,
    local: Local = False,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Does the session still hold this?

    There is one answer for each fact that the text names.
    """
    answers = _answers(fact, session, as_of, log, local, token_file)
    for answer in answers:
        settle(_ANSWER_CODES[answer.answer])
    for answer in answers:
        put(answer, json, _show_recall)


def _answers(fact: str, session: str, as_of: str, log: str | None, local: bool, token_file: str | None) -> list[RecallAnswer]:
    from ops.cli.reading import answer_of

    _check_as_of(as_of)
    return asyncio.run(answer_of(log, lambda ask: ask.recall(session, fact, as_of), local=local, token_file=token_file))


def _check_as_of(as_of: str) -> None:
    from datetime import datetime

    if not as_of:
        return
    try:
        datetime.fromisoformat(as_of)
    except ValueError:
        raise UsageError(f"--as-of {as_of!r} is no time", hint="Expected ISO 8601, for instance 2026-11-30") from None


def _show_recall(answer: RecallAnswer) -> None:
    _show_answer(answer)
    for carrier in answer.carriers:
        _show_carrier("carried by ", carrier, indent=4)
    if answer.say:
        say("what the agent should say: ", (answer.say, "italic"), indent=4)


def _show_answer(answer: RecallAnswer | ExplainAnswer) -> None:
    what = f"  {answer.cls} {one_line(answer.value, 120)}" if answer.cls else ""
    say((answer.answer, _ANSWER_STYLES.get(answer.answer, "yellow")), what, f"  {short_ids(answer.fact)}" if answer.cls else "")
    if answer.reason:
        say(short_ids(answer.reason), indent=4)
    evidence = answer.evidence
    if evidence is not None:
        source = "from the log, not from the agent; " if evidence.from_log_only else ""
        say(f"“{one_line(evidence.text, 300)}”", indent=4)
        say(f"({source}{evidence.role}, {place(evidence.path, evidence.line) or short_ids(evidence.span)})", indent=4)


def _show_carrier(lead: str, carrier: CarrierAnswer, indent: int) -> None:
    """One carrier, and what a summary is worth for the fact's class: one that states this fact may have dropped others."""
    kind = "raw span" if carrier.raw else f"summary of generation {carrier.generation}"
    say(lead, f"{short_ids(carrier.id)} ({kind}, {carrier.where}, {carrier.stands})", indent=indent)
    for cls, fidelity, floor in carrier.tags:
        (kept, whole), (low, high) = (map(int, ratio.split("/")) for ratio in (fidelity, floor))
        below = kept * high < low * whole
        rest = "; it states this one, and is not to be trusted for the class (F4)" if below else ""
        say(f"of {of_class(whole, cls)} in the spans that it replaced it kept {kept}, floor {floor}{rest}", indent=indent + 2)


def carriers(
    fact: FactText,
    session: SessionName,
    log: LogUrl = None,
    local: Local = False,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """List what still carries this fact."""
    from ops.queries.recall import carriers_answer

    answers = _answers(fact, session, "", log, local, token_file)
    for answer in answers:
        settle(_ANSWER_CODES[answer.answer])
    for answer in answers:
        if json:
            print_json(carriers_answer(answer))
            continue
        _show_answer(answer)
        for carrier in answer.carriers:
            _show_carrier("- ", carrier, indent=2)


def explain(
    fact: FactText,
    session: SessionName,
    log: LogUrl = None,
    local: Local = False,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Tell the life of a fact, round by round.

    First seen, carried, lost or turned at round n, stated again, dropped on purpose.
    """
    from ops.cli.reading import answer_of

    answers = asyncio.run(answer_of(log, lambda ask: ask.explain(session, fact), local=local, token_file=token_file))
    for answer in answers:
        settle(FINE if answer.steps else UNKNOWN)
    for answer in answers:
        put(answer, json, _show_life)


def _show_life(answer: ExplainAnswer) -> None:
    _show_answer(answer)
    for step in answer.steps:
        where = f"round {step.round}: " if step.round else ""
        what = step.step.replace("_", " ")
        outcome = f" ({step.outcome})" if step.outcome and step.outcome not in what else ""
        say(f"- {where}{what}{outcome} by {short_ids(step.carrier) or 'no summary'}", indent=2)
        if step.words and step.step != "first_seen":
            say(f"“{one_line(step.words, 200)}”", indent=6)

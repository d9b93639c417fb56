"""Restatements that give leave for what was forbidden, end a rule, or do away with its limit or its condition (rule F2)."""

from __future__ import annotations

import re
from typing import Literal

from ledger.facts.comparing.alignment import LIGHT_KEYS, Match, act_of, within_bound
from ledger.facts.comparing.summary import LONG_SUMMARY_PARTS, Part
from ledger.facts.findings import is_date
from ledger.facts.language import lexicon as lx
from schemas.facts import Fact


def permitted(fact: Fact, marks: list[str], match: Match) -> bool:
    """`Do not delete files outside the workspace` told as `deleting files anywhere is fine`: the banned act is allowed."""
    main = match.main
    if fact.cls != "prohibition" or {"%exc", "%may"} & set(marks) or not match.predicate or not main.flags & lx.PERMIT:
        return False
    if main.sign < 0 or main.label or main.question or main.hedge or len(match.summary.parts) > LONG_SUMMARY_PARTS:
        return False
    if any(part.flags & (lx.NEG | lx.EXC | lx.UNTIL) or part.quantifier == "only" for part in match.parts):
        return False
    size = match.size
    if within_bound(match):
        return False
    if not any(key in main.keys for key in match.predicate):
        return not LIGHT_KEYS.isdisjoint(match.predicate) and match.own * 2 >= size
    return match.own_words > 1 and (bool(main.flags & lx.ALL) or match.own * 2 >= size)


def opened(fact: Fact, marks: list[str], match: Match) -> bool:
    """`Read-only queries only` told as `write access was granted`, `must stay in Norway` as `may be kept outside it`: leave is
    given for the opposite of what a rule holds to.
    """
    main = match.main
    if "%rule" not in marks or "%may" in marks or fact.polarity == "negated" or main.sign < 0 or main.label or main.question:
        return False
    beyond = _OUT in main.keys and not _has(match, frozenset({_OUT}))
    return bool(main.flags & lx.PERMIT) and (match.turned or beyond) and match.own * 2 >= match.size


def confined(fact: Fact, match: Match) -> bool:
    """`Only touch files in src` and `do not touch files outside src` say the same."""
    main = match.main
    if not match.enough() or match.wrong or not match.acts or main.question or main.label:
        return False
    out = any(_OUT in word.keys for word in match.words)
    if fact.quantifier == "only" and fact.polarity == "affirmed":
        return main.sign < 0 and _OUT in main.keys and not out
    return fact.cls == "prohibition" and fact.polarity == "negated" and out and main.quantifier == "only" and main.sign > 0


_OUT = "-@inside"


def unbounded(match: Match) -> bool:
    """`At most $25 may be spent` told as `spend is unlimited`: the bound of a statement is gone."""
    main = match.main
    if not any(word.text[1:2] in _BOUND_SIGNS and word.text for word in match.words) and not _has(match, _LIMITS):
        return False
    if main.question or main.label or not main.english:
        return False
    if not _NO_LIMIT.search(match.summary.folded, main.start, main.end):
        return False
    told = [word for word in match.words if word.weight and not word.text and _LIMITS.isdisjoint(word.keys)]
    held = sum(any(key in main.keys for key in word.keys) for word in told)
    return held > 0 and held * 2 >= len(told)


_STAYS = frozenset({"@keep", "liv"})
_LIMITS = frozenset({"@limit", "budget", "quota"})
_BOUND_SIGNS = frozenset("<>")
_NO_LIMIT = re.compile(
    r"\b(?:unlimited|uncapped|limitless|unbounded|freely|no (?:\w+ ){0,2}(?:limit|cap|ceiling|bound|maximum|restriction)"
    r"|without (?:a |any )?(?:limit|cap|ceiling|maximum|restriction)|any (?:amount|size|number|length)"
    r"|as (?:much|many|often|large|long) (?:\w+ ){0,5}as)\b",
    re.ASCII,
)


def consent_waived(marks: list[str], match: Match) -> bool:
    """`Deletions require confirmation` told as `delete them without asking`, whatever the word for the consent."""
    demands = "%imp" in marks or _has(match, _DEMANDS)
    if not demands or not _has(match, _CONSENT) or match.main.question or match.main.label:
        return False
    if match.main.flags & lx.MUST or not match.main.keys.isdisjoint(_DEMANDS):
        return False
    clauses = [match.summary.parts[at] for at in match.summary.sentence_parts[match.main.sentence]]
    at = clauses.index(match.main)
    denied = any(_denies_consent(part) for part in clauses[max(0, at - 1) : at + 2])
    rest = [word for word in match.words if word.weight and _CONSENT.isdisjoint(word.keys) and _DEMANDS.isdisjoint(word.keys)]
    held = sum(any(key in match.main.keys for key in word.keys) for word in rest)
    return denied and held > 1 and held * 2 >= len(rest)


def _denies_consent(part: Part) -> bool:
    return part.sign < 0 and bool(part.flags & (lx.EXC | lx.NONE)) and not part.keys.isdisjoint(_CONSENT)


_CONSENT = frozenset({"@permit2", "@ask", "confirm", "@approve", "approv", "permiss", "consent", "review", "@signoff"})


def _has(match: Match, keys: frozenset[str]) -> bool:
    return any(key in keys for word in match.words for key in word.keys)


def widened(fact: Fact, marks: list[str], match: Match) -> bool:
    """`Deploy only to us-east-1` told as `all regions are approved targets`: the limit of an *only* is gone."""
    main = match.main
    confined_to = fact.quantifier == "only" or ("%imp" in marks and _has(match, _STAYS))
    if not confined_to or fact.polarity == "negated" or main.sign < 0 or main.label or main.question:
        return False
    left = fact.quantifier == "only" and any(word.hard and main.keys.isdisjoint(word.keys) for word in match.words)
    if not (main.flags & lx.ALL and (main.flags & lx.PERMIT or left)) or any(part.quantifier == "only" for part in match.parts):
        return False
    plain = sum(not word.hard and word.weight > 0 for word in match.words)
    return match.plain > 0 and match.plain * 2 >= plain


def decided_otherwise(fact: Fact, match: Match) -> bool:
    """`We ruled out SQLite` told as `we picked SQLite`: what was turned down is taken, or the other way round."""
    main = match.main
    if fact.cls != "decision" or fact.polarity == "negated" or main.sign < 0 or main.label or main.question:
        return False
    if match.own * 2 < match.size or main.flags & lx.INSTEAD:
        return False
    taken, refused = bool(main.flags & lx.DECIDED), bool(main.flags & lx.REJECTED)
    if fact.kind == "rejected":
        return taken and not refused and not _OVER.search(match.summary.folded, main.start, main.end)
    return fact.kind == "decided" and refused and not taken


_OVER = re.compile(r"\b(?:over|than|not|instead|rather|against|without|vs)\b", re.ASCII)


def revoked(marks: list[str], match: Match) -> bool:
    """`The cap of $200 was cancelled`, of a rule that sets the cap."""
    main = match.main
    if not main.flags & lx.REVOKE or main.sign < 0 or main.label or main.question or main.hedge:
        return False
    act = act_of(marks)
    nothing_to_revoke = main.keys.isdisjoint(_RULES | _WAIVED) and main.keys.isdisjoint(act)
    if nothing_to_revoke or len(match.summary.parts) > LONG_SUMMARY_PARTS:
        return False
    if any(not _ENDS.isdisjoint(word.keys) for word in match.words):
        return False
    return match.own_words > 1 and match.own * 2 >= match.size


_RULES = frozenset(
    lx.ENGLISH.stem(word)
    for word in """rule cap limit ceiling restriction requirement policy ban freeze budget quota constraint instruction embargo
    deadline condition threshold obligation""".split()
)
"""What can be revoked."""

_WAIVED = frozenset(lx.ENGLISH.stem(word) for word in "waived rescinded repealed overturned".split())
"""Said of rules only."""

_ENDS = frozenset({"-@keep", "@delete2", "@stop_using", "-@enable", "-@start"})
"""A statement that itself asks for an end is not turned by its coming about."""


def exception_dropped(fact: Fact, marks: list[str], match: Match) -> bool:
    """`Do not call it without approval` told as `it may be called`: the act is allowed, nothing is left of its condition."""
    if fact.cls != "prohibition" or not {"%exc", "%not"} <= set(marks) or not match.predicate:
        return False
    main, told = match.main, [word for word in match.words if word.weight]
    if match.whole and demanded(match.parts):
        return False
    act = 0
    while act < len(told) and any(key in main.keys for key in told[act].keys):
        act += 1
    if act < 2 or main.size > act + 1 or not any(key in main.keys for key in match.predicate):
        return False
    if any(key.lstrip("-") in part.keys for word in told[act:] for key in word.keys for part in match.parts):
        return False
    if main.label or main.question or main.hedge or (len(match.summary.parts) > LONG_SUMMARY_PARTS and not main.flags & lx.MAY):
        return False
    limits = lx.NEG | lx.EXC | lx.UNTIL
    return main.sign > 0 and not any(part.flags & limits or part.quantifier == "only" for part in match.parts)


def asked_first(fact: Fact, marks: list[str], match: Match) -> Order:
    """`Never delete it without asking Olga` told as `ask Olga before deleting it`; or turned: `ask Olga after deleting
    it`, `no need to ask before`.
    """
    main = match.main
    if fact.cls != "prohibition" or not {"%exc", "%not"} <= set(marks) or main.question or main.label:
        return ""
    keys = frozenset(key for part in match.parts for key in part.keys)
    ordered = any(part.flags & (lx.MUST | lx.VERB) for part in match.parts) or not keys.isdisjoint(_DEMANDS)
    if not ordered or any(part.flags & (lx.MAY | lx.PERMIT) for part in match.parts):
        return ""
    if any(keys.isdisjoint(word.keys) and "@first" not in word.keys for word in match.words if word.weight):
        return ""
    if any(part.negated for part in match.parts):
        return "waived" if not keys.isdisjoint(_DEMANDS) and main.flags & lx.UNTIL else ""
    if any(f"<{key}" in keys for key in match.predicate):
        return "before"
    return "after" if any(f"-<{key}" in keys for key in match.predicate) else ""


Order = Literal["", "before", "after", "waived"]


def due_then(fact: Fact, marks: list[str], match: Match) -> bool:
    """`All comments must arrive by 7 July` told as `deadline for comments: 7 July`: all but the verb stands there."""
    main, parts = match.main, match.parts
    if fact.polarity == "negated" or fact.cls not in {"instruction", "commitment"} or "%if" in {mark[:3] for mark in marks}:
        return False
    keys = frozenset(key for part in parts for key in part.keys)
    if keys.isdisjoint(_DUE) or main.question or any(part.sign < 0 or part.hedge for part in parts):
        return False
    told = [word for word in match.words if word.weight]
    missing = [word for word in told if keys.isdisjoint(word.keys) and len(word.keys[0]) > PARTICLE_CHARS_MAX]
    dated = [word for word in told if is_date(word.text[1:])]
    if not dated or any(word in missing for word in dated) or len(missing) > 1 or len(told) - len(missing) < 2:
        return False
    return all(not word.hard and _STARTED.isdisjoint(word.keys) for word in missing)


PARTICLE_CHARS_MAX = 2
"""A word so short is a part of the verb that stands apart from it (`gib ... ab`)."""

_DUE = frozenset({"@deadline", "@expire", "due"})
_STARTED = frozenset({"@start", "@open", "open", "begin", "@begin"})
"""What begins on a day is not due then."""


def demanded(parts: list[Part]) -> bool:
    """`Pushes require review` says what `no push without review` says."""
    return any(part.sign > 0 and (part.flags & lx.MUST or not part.keys.isdisjoint(_DEMANDS)) for part in parts)


def unconditioned(marks: list[str], match: Match) -> bool:
    """`Refunds require approval` told as `refunds can be issued without approval`: what is demanded is what may be left out."""
    main = match.main
    demands = "%imp" in marks or any(key in _DEMANDS for word in match.words for key in word.keys)
    return demands and main.excepted and bool(main.flags & lx.EXC) and main.size == match.own_words > 0


_DEMANDS = frozenset({"@require", "@mandatory", "@needed"})


def act_denied(marks: list[str], match: Match) -> bool:
    """`Ask before you install` told as `it can be installed without asking`: the verb of the order is denied."""
    act = act_of(marks)
    holders = [part for part in match.parts if any(key in part.keys for key in act)]
    return match.main.sign > 0 and bool(holders) and all(part.sign < 0 and part.flags & (lx.EXC | lx.NONE) for part in holders)

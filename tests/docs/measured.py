"""The section *Measured* of the README, made from the figures that `make bench` and `make evidence` left."""

from __future__ import annotations

import re

from ops.evidence.report import Table
from ops.evidence.stored import Evidence, Part
from tests.bench.__main__ import GOALS
from tests.bench.harness import Outcome
from tests.bench.stored import Taken

_PLACE = re.compile(r"(<!-- measured -->\n)(.*?)(<!-- /measured -->)", re.DOTALL)

SESSION_ROWS = (
    "answered with the value that was said",
    "answered with success and wrongly",
    "said not to have it",
    "statements that drifted at least once",
    "facts lost by the ledger's own count",
    "context held, against the run without",
    "actions that rested on a wrong answer",
    "actions denied",
)
"""What the README shows of the long session; the command prints the rest."""


VERDICTS = (
    ("May a summary replace its source? Verdicts against a careful reader's, by language, on", "languages"),
    ("By class of fact, on", "classes"),
    ("On", "guard"),
)
"""Tables of verdict quality, with what stands before each."""


def section(bench: list[Taken], evidence: Evidence) -> str:
    """The tables, with what they were taken on."""
    parts = ["`make bench` compares answers first and speeds then, each pair in one run; a goal is a ratio."]
    parts += _bench(bench)
    parts.append(
        "`make evidence` plays one long session without the rules and with them, counts what real rounds kept, "
        "and judges labelled pairs."
    )
    if evidence.session is not None:
        parts += _part("A session of", evidence.session, _only(evidence.session.figures, SESSION_ROWS))
    if evidence.rounds is not None:
        parts += _part("Sentences that look like a decision, in", evidence.rounds, evidence.rounds.figures)
    for head, found in VERDICTS:
        part = getattr(evidence, found)
        if part is not None:
            parts += _part(head, part, part.figures)
    return "\n\n".join(parts) + "\n"


def _bench(bench: list[Taken]) -> list[str]:
    rows: list[tuple[str, ...]] = []
    for name in GOALS:
        mine = [one.outcome for one in bench if one.outcome.code.split()[0].rstrip(",") == name]
        rows += [(one.code, one.what, _figure(one), _wanted(one), _met(one)) for one in mine]
        rows += [] if mine else [(name, "", "", "", "not measured yet")]
    taken: dict[tuple[str, str], list[str]] = {}
    for one in bench:
        taken.setdefault((one.date, one.machine.partition(", load")[0]), []).append(one.outcome.code)
    where = [f"{', '.join(codes)}: {date}, {machine}." for (date, machine), codes in taken.items()]
    return [Table(("goal", "what", "figure", "wanted", "met"), rows).text(), "Taken: " + " ".join(where)]


def _figure(one: Outcome) -> str:
    chosen = one.cpu if one.clock == "cpu" else one.wall
    return f"{chosen.median:.2f}" if chosen is not None else one.figure


def _wanted(one: Outcome) -> str:
    return one.wanted if one.goal is None else f"{one.goal:.2f}"


def _met(one: Outcome) -> str:
    """Met or not, and why not in a line."""
    if one.status == "met" or one.status == "no goal":
        return "yes" if one.status == "met" else ""
    state = {"near": "not quite", "missed": "no"}.get(one.status, one.status)
    return f"{state}: {one.why}" if one.why else state


def _part(head: str, part: Part, figures: Table) -> list[str]:
    return [f"{head} {part.of} ({part.date}, {part.made_with}):", figures.text()]


def _only(figures: Table, names: tuple[str, ...]) -> Table:
    found = {row[0]: row for row in figures.rows}
    return Table(figures.head, [found[name] for name in names])


def measured(text: str) -> str:
    """What the page shows."""
    found = _PLACE.search(text)
    assert found is not None, "README.md has no place for what was measured"
    return found[2]


def with_measured(text: str, shown: str) -> str:
    """The page with this section."""
    return _PLACE.sub(lambda found: found[1] + shown + found[3], text)

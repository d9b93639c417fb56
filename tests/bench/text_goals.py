"""G1 to G3: reading transcripts, extracting facts, and finding out which facts a summary holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import msgspec

from ledger.facts import SummaryText, extract, seed_sentences, survival
from ledger.facts.values.names import LiveNames
from ledger.transcripts.claude_shapes import Line
from ledger.transcripts.model import Message
from ledger.transcripts.reading import Transcript
from ops.evidence.generator import turns
from schemas.facts import SURVIVING, Fact
from schemas.ids import fact_id
from schemas.records import Role
from tests.bench.harness import Case, Side
from tests.bench.inputs import SEED, Inputs, lines_of
from tests.bench.plain_facts import by_class, plainly


def g1(inputs: Inputs) -> Case:
    """Everything the reader does against the bare decode of the same lines into the same struct."""
    path = inputs.reader_file
    megabytes = path.stat().st_size / 1e6
    decode = msgspec.json.Decoder(Line).decode

    def ours() -> float:
        with Transcript(path) as transcript:
            for _ in transcript.items():
                pass
        return megabytes

    def bare() -> float:
        with path.open("rb") as file:
            for line in file:
                decode(line)
        return megabytes

    def check() -> str:
        with Transcript(path) as transcript:
            read = {item.where.number for item in transcript.items() if isinstance(item, Message)}
        spoken = {
            number
            for number, line in enumerate(map(decode, lines_of(path)), 1)
            if line.type in ("user", "assistant") and not line.isCompactSummary
        }
        return "" if read == spoken else f"{len(read ^ spoken)} lines with a message are not the ones that the decoder sees"

    return Case(
        code="G1", what="transcript reader ÷ bare msgspec decode", a=Side("reader", ours), b=Side("decode", bare), unit="MB",
        goal=0.70, check=check,
        why="of 6.4 µs a line decoding takes 3.1, cutting lines 0.6, ids, copies and items 2.7: calls and small objects",
    )  # fmt: skip


def _texts() -> list[tuple[str, Role]]:
    return [(turn.text, turn.role) for turn in turns(SEED, count=2000, bulk_bytes=600)]


def g2(_: Inputs) -> Case:
    """Our extractor against the same rules done plainly, one pass over the sentences for each class."""
    return _against_plain(
        "G2", "extract all classes ÷ one plain pass for each class", by_class, 5.0,
        note="plain: for each class one `re` of its words over each sentence, and a reading of those that have one; every "
        "notation tried, nothing remembered; what the rules make of the words is the same code on both sides",
    )  # fmt: skip


def g2_shared(_: Inputs) -> Case:
    """The same, where the reference reads each sentence once for all classes: what quick looks and memory alone are worth."""
    return _against_plain(
        "G2 shared", "extract all classes ÷ one plain reading for all of them", plainly, None,
        note="clauses, classes, roles and ids are the same work on both sides and most of it",
    )  # fmt: skip


def _against_plain(
    code: str, what: str, done_plainly: Callable[[], AbstractContextManager[None]], goal: float | None, *, note: str
) -> Case:
    texts = _texts()
    megabytes = sum(len(text) for text, _ in texts) / 1e6

    def read() -> list[tuple[Fact, ...]]:
        return [extract(text, role, scope_key="bench").facts for text, role in texts]

    def ours() -> float:
        read()
        return megabytes

    def plain() -> float:
        with done_plainly():
            read()
        return megabytes

    def check() -> str:
        mine = read()
        with done_plainly():
            theirs = read()
        wrong = sum(one != other for one, other in zip(mine, theirs, strict=True))
        return f"{wrong} of {len(texts)} texts give other facts" if wrong else ""

    return Case(
        code=code, what=what, a=Side("extract", ours), b=Side("plain passes", plain), unit="MB", goal=goal, check=check,
        note=note,
    )  # fmt: skip


def g2b(_: Inputs) -> Case:
    """The one extractor of which a plain reference can be stated: the fourth source's three patterns."""
    texts = [text for text, role in _texts() if role == "assistant"] * 4
    megabytes = sum(map(len, texts)) / 1e6

    def ours() -> float:
        for text in texts:
            seed_sentences(text)
        return megabytes

    def plain() -> float:
        for text in texts:
            plain_seed(text)
        return megabytes

    def check() -> str:
        wrong = sum([one.text for one in seed_sentences(text)] != plain_seed(text) for text in texts)
        return f"{wrong} texts give other sentences" if wrong else ""

    return Case(
        code="G2 seed", what="the seed's three patterns ÷ the same, plainly", a=Side("seed_sentences", ours),
        b=Side("plain", plain), unit="MB", check=check,
    )  # fmt: skip


def plain_seed(text: str) -> list[str]:
    """Sentences of 25 to 400 characters that match one of the seed's patterns, one pass for each."""
    pieces = [piece.strip() for piece in re.split(r"(?<=[.!?])\s+|[\r\n]+", text)]
    patterns = (
        r"\b(?:decided|decide to|chose|choosing|opted for|we'?ll use|going with)\b",
        r"\b(?:instead of|rejected|ruled out|won'?t|will not|not going to)\b",
        r"\bbecause\b",
    )
    return [
        piece
        for piece in pieces
        if 25 <= len(piece) <= 400 and any(re.search(pattern, piece, re.IGNORECASE | re.ASCII) for pattern in patterns)
    ]


LIVE_FACTS = 40_000
SUMMARY_BYTES = 28_000
SUMMARIES = 50
"""A run of compactions; between two of them one live fact in a hundred is new and one in a hundred is given up."""

NEW_FACTS = LIVE_FACTS // 100


def _name(number: int) -> str:
    return f"src/part_{number:08}/core.py"


def _summary(round_: int) -> str:
    """28 KB that tell of one part a sentence, each round of other parts."""
    sentences: list[str] = []
    size = 0
    while size < SUMMARY_BYTES:
        number = round_ * NEW_FACTS + len(sentences) * 131 % LIVE_FACTS
        sentences.append(f"The change in {_name(number)} holds, and the tests of that part pass again.\n")
        size += len(sentences[-1])
    return "".join(sentences)


def _searched(names: list[str], summary: str) -> float:
    [name for name in names if name in summary]
    return len(names)


def _one_by_one(names: list[str], summary: str) -> set[str]:
    """The slow way: each fact asked of the prepared summary, as the fold asks it."""
    prepared = SummaryText(summary)
    return {name for name in names if survival(_fact(name), prepared).outcome in SURVIVING}


def g3(_: Inputs) -> Case:
    """Which of all live facts a new summary states, with the table of live facts kept and changed between summaries."""
    summaries = [_summary(round_) for round_ in range(SUMMARIES)]
    names = [_name(number) for number in range(LIVE_FACTS)]

    live, forward = LiveNames(names), True

    ever = [_name(number) for number in range(LIVE_FACTS + SUMMARIES * NEW_FACTS)]

    def change(gone: int, new: int) -> None:
        for name in ever[gone : gone + NEW_FACTS]:
            live.discard(name)
        live.update(ever[new : new + NEW_FACTS])

    def ours() -> Iterator[list[str]]:
        """Through the run, the next time back again."""
        nonlocal forward
        for round_ in range(SUMMARIES) if forward else reversed(range(SUMMARIES)):
            if not forward:
                change(LIVE_FACTS + round_ * NEW_FACTS, round_ * NEW_FACTS)
            yield live.held_by(summaries[round_])
            if forward:
                change(round_ * NEW_FACTS, LIVE_FACTS + round_ * NEW_FACTS)
        forward = not forward

    def check() -> str:
        there, back = [set(found) for found in ours()], [set(found) for found in ours()]
        wrong = sum(len(one ^ other) for one, other in zip(there, reversed(back), strict=True))
        for round_ in (0, 1, SUMMARIES - 1):
            then = [_name(number) for number in range(round_ * NEW_FACTS, round_ * NEW_FACTS + LIVE_FACTS)]
            wrong += len(there[round_] ^ _one_by_one(then, summaries[round_]))
            wrong += len(there[round_] ^ {name for name in then if name in summaries[round_]})
        return f"{wrong} facts are held by one answer only" if wrong else ""

    return Case(
        code="G3 warm", what="which of 40,000 live facts a 28 KB summary holds ÷ one `in` each",
        a=Side("kept table", lambda: sum(LIVE_FACTS for _ in ours())), b=Side("in", lambda: _searched(names, summaries[0])),
        unit="facts", goal=300, check=check,
        note="kept: the table of live names; new each time: the summary, and 1 % of the names (added and given up in the "
        "time measured). Same answers as survival asked of each fact",
        why="within the spread of the goal; the rest goes to cutting the summary into words",
    )  # fmt: skip


def g3_cold(_: Inputs) -> Case:
    """The same for one summary and facts that nobody prepared."""
    names = [_name(number) for number in range(LIVE_FACTS)]
    summary = _summary(0)

    def ours() -> float:
        return float(LIVE_FACTS) if LiveNames(names).held_by(summary) else 0.0

    def check() -> str:
        wrong = len(set(LiveNames(names).held_by(summary)) ^ _one_by_one(names, summary))
        return f"{wrong} facts are held by one answer only" if wrong else ""

    return Case(
        code="G3 cold", what="the same, nothing kept ÷ one `in` each", a=Side("table built", ours),
        b=Side("in", lambda: _searched(names, summary)), unit="facts", goal=3, check=check,
    )  # fmt: skip


def g3_fold(_: Inputs) -> Case:
    """What the fold does for a compaction: the summary read once, then the outcome of each fact, lost ones included."""
    names = [_name(number) for number in range(LIVE_FACTS)]
    facts, summary = [_fact(name) for name in names], _summary(0)

    def ours() -> float:
        prepared = SummaryText(summary)
        for fact in facts:
            survival(fact, prepared)
        return LIVE_FACTS

    return Case(
        code="G3 fold", what="outcome of each of the same facts, summary read in full ÷ one `in` each",
        a=Side("survival", ours), b=Side("in", lambda: _searched(names, summary)), unit="facts",
        note="no goal: it tells changed from missing too, and reads every class of the summary",
    )  # fmt: skip


def _fact(name: str) -> Fact:
    identity = fact_id("bench", "identifier", name, "", "affirmed", "", "", "")
    return Fact(id=identity, cls="identifier", start=0, end=len(name), value=name)

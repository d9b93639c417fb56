"""G1 to G3: reading transcripts, extracting facts, and finding out which facts a summary holds."""

from __future__ import annotations

import re

import msgspec

from ledger.facts import extract, seed_sentences
from ledger.transcripts.claude_shapes import Line
from ledger.transcripts.model import Message
from ledger.transcripts.reading import Transcript
from ops.evidence.generator import turns
from schemas.facts import Fact
from schemas.ids import fact_id
from schemas.records import Role
from tests.bench.harness import Case, Side
from tests.bench.inputs import SEED, Inputs, lines_of


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
    )  # fmt: skip


_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_PLAIN = (
    re.compile(r"\b\d[\d,.]*\s?(?:%|ms|s|min|h|KB|MB|GB|req/s|rows|tokens)?", re.ASCII),
    re.compile(r"\b[\w-]+(?:[/.][\w-]+)+|\b[a-z]+(?:-[a-z0-9]+){2,}", re.ASCII),
    re.compile(r"\b(?:do not|don't|never|must not|cannot|without)\b", re.IGNORECASE),
    re.compile(r"\b\d{4}-\d\d-\d\d\b|\bby (?:monday|friday|tomorrow)\b", re.IGNORECASE | re.ASCII),
    re.compile(r"\b(?:decided|chose|going with|instead of|rejected|because)\b", re.IGNORECASE),
)


def _texts() -> list[tuple[str, Role]]:
    return [(turn.text, turn.role) for turn in turns(SEED, count=2000, bulk_bytes=600)]


def g2(_: Inputs) -> Case:
    """Our extractor against five plain passes for each sentence. They do not give the same facts, so no goal is judged."""
    texts = _texts()
    megabytes = sum(len(text) for text, _ in texts) / 1e6

    def ours() -> float:
        for text, role in texts:
            extract(text, role, scope_key="bench")
        return megabytes

    def plain() -> float:
        for text, _ in texts:
            for sentence in _SENTENCE.finditer(text):
                for pattern in _PLAIN:
                    [match.span() for match in pattern.finditer(sentence[0])]
        return megabytes

    facts = sum(len(extract(text, role, scope_key="bench").facts) for text, role in texts)
    sentences = [sentence[0] for text, _ in texts for sentence in _SENTENCE.finditer(text)]
    hits = sum(len(pattern.findall(sentence)) for sentence in sentences for pattern in _PLAIN)
    return Case(
        code="G2", what="extract all classes ÷ five plain passes", a=Side("extract", ours), b=Side("five passes", plain),
        unit="MB",
        note=f"not judged: the passes give {hits} bare hits, extract {facts} facts with subject, polarity and context; no "
        "plain reference gives the same facts (goal 5.00 once there is one)",
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


def g3(_: Inputs) -> Case:
    """Which of all live facts a summary states: its own facts looked up, as the fold does it, against a search for each."""
    names = [f"src/part_{number:08}/core.py" for number in range(LIVE_FACTS)]
    live = {_fact(name).id for name in names}
    sentences: list[str] = []
    while sum(map(len, sentences)) < SUMMARY_BYTES:
        number = len(sentences) * 131 % LIVE_FACTS
        sentences.append(f"The change in {names[number]} holds, and the tests of that part pass again.\n")
    summary = "".join(sentences)

    def ours() -> set[str]:
        return {fact.value for fact in extract(summary, "assistant", scope_key="bench").facts if fact.id in live}

    def plain() -> set[str]:
        return {name for name in names if name in summary}

    def run_ours() -> float:
        ours()
        return LIVE_FACTS

    def run_plain() -> float:
        plain()
        return LIVE_FACTS

    def check() -> str:
        mine, theirs = ours(), plain()
        return "" if mine == theirs else f"{len(mine ^ theirs)} facts are held by one answer only"

    return Case(
        code="G3", what="which of 40,000 live facts a 28 KB summary holds ÷ one `in` each", a=Side("look-up", run_ours),
        b=Side("in", run_plain), unit="facts", goal=300, check=check,
        note="warm: the live facts are a table that is there already; ours is the cost of extracting the summary's own facts",
    )  # fmt: skip


def _fact(name: str) -> Fact:
    identity = fact_id("bench", "identifier", name, "", "affirmed", "", "", "")
    return Fact(id=identity, cls="identifier", start=0, end=len(name), value=name)

"""Published corpora, fetched for the time of a run and never kept: what `check` says of texts that others wrote and labelled.

Two of them. *compaction-guard* (source distribution on PyPI, MIT) has 300 pairs of a standing instruction and a context after a
compaction, each labelled with what became of the instruction. *compaction-conformance-kit* (PyPI, MIT) plants typed statements
in sessions, compacts them with its reference compactors and counts a statement as kept if its listed tokens are there.
Without a network, or where pip is missing, the tables say so.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ledger.facts import CheckResult, check

GUARD = "compaction-guard==0.1.0"
GUARD_MEMBER = "compaction_guard-0.1.0/evidence/corpus.jsonl"
GUARD_SHA256 = "ac4021921b5bad3d9402147df8df269eb5f052e2d80fb61c8b07c4db6d4e6810"
"""Of the corpus: other labels would be other figures."""

KIT = "compaction-conformance-kit==0.8.0"
KIT_SEEDS = 10
FETCH_S = 300
"""A registry that has not answered by then does not answer."""

HALVES_SEED = 20
"""Of the division by instructions, so that no instruction is in both halves: rules were tuned on the first half first."""

KEPT = ("preserved", "paraphrased")


class Unreachable(Exception):
    """A corpus could not be had, and why."""


class Pair(msgspec.Struct, frozen=True):
    """One labelled pair: an instruction, and all that a context holds after the compaction but its system prompt."""

    case: str
    group: str
    label: str
    operator: str
    source: str
    after: str


class Verdict(msgspec.Struct, frozen=True):
    """What `check` says of a pair. `named`: what is wrong, the worst of inverted, quantifier, weakened, changed, missing."""

    pair: Pair
    half: str
    certified: bool
    named: str
    disputed: str

    @property
    def right(self) -> bool:
        """Certified just if the label says that the instruction was kept."""
        return self.certified == (self.pair.label in KEPT)


class KitCount(msgspec.Struct, frozen=True):
    """Statements of the kit under one compactor: its verdict by tokens beside ours."""

    compactor: str
    statements: int
    both_kept: int
    both_lost: int
    refused_only: int
    certified_only: int


def fetched(run: Callable[[Sequence[str]], None] | None = None) -> list[Pair]:
    """The pairs of compaction-guard. Raises `Unreachable`."""
    with tempfile.TemporaryDirectory() as folder:
        (run or _pip)(["download", "--no-deps", "--no-binary", ":all:", "--dest", folder, GUARD])
        found = sorted(Path(folder).glob("*.tar.gz"))
        if not found:
            raise Unreachable(f"{GUARD}: no source distribution came")
        return pairs_in(found[0])


def pairs_in(archive: Path, sha256: str = GUARD_SHA256) -> list[Pair]:
    """The pairs in a source distribution; nothing of it is unpacked or run. Raises `Unreachable` for other bytes."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            member = tar.extractfile(GUARD_MEMBER)
            data = member.read() if member is not None else b""
    except (tarfile.TarError, KeyError, OSError) as error:
        raise Unreachable(f"{archive.name}: {GUARD_MEMBER} cannot be read: {error}") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise Unreachable(f"{archive.name}: {GUARD_MEMBER} is not the corpus that the figures speak of")
    return [_pair(json.loads(line)) for line in data.decode("utf-8").splitlines()]


def _pair(row: dict[str, object]) -> Pair:
    after = row["after"]
    assert isinstance(after, list)
    text = "\n\n".join(message["content"] for message in after if message["role"] != "system")
    return Pair(
        case=str(row["case_id"]),
        group=str(row["seed"]),
        label=str(row["label"]),
        operator=str(row["operator"]),
        source=str(row["invariant"]),
        after=text,
    )


def judged(pairs: Sequence[Pair]) -> list[Verdict]:
    """Each pair under `check`, with its half."""
    groups = sorted({pair.group for pair in pairs})
    random.Random(HALVES_SEED).shuffle(groups)  # noqa: S311  repeatable on purpose, and no key
    first = set(groups[: len(groups) // 2])
    return [_verdict(pair, "first" if pair.group in first else "second") for pair in pairs]


def _verdict(pair: Pair, half: str) -> Verdict:
    found = check(pair.source, pair.after, "user")
    return Verdict(pair, half, found.verdict == "evict_ok", _named(found), _disputed(pair, found))


def _named(found: CheckResult) -> str:
    if found.verdict == "evict_ok":
        return ""
    survivals = {fact.survival for fact in found.facts}
    if found.polarity == "inverted":
        return "inverted"
    if found.quantifier == "changed":
        return "quantifier"
    return next((name for name in ("weakened", "changed") if name in survivals), "missing")


def _disputed(pair: Pair, found: CheckResult) -> str:
    """Why a label is left out of the score: F2 holds names and values byte for byte, this operator rewrites them."""
    altered = [fact.text for fact in found.facts if fact.cls in {"identifier", "numeric"} and not fact.survives]
    if pair.operator != "noise" or not altered:
        return ""
    return f"labelled preserved, but {altered[0]} stands there no more, letter for letter"


def kit_counts(run: Callable[[Sequence[str]], None] | None = None) -> list[KitCount]:
    """The statements of compaction-conformance-kit under its reference compactors. Raises `Unreachable`."""
    with tempfile.TemporaryDirectory() as folder:
        (run or _pip)(["install", "--no-deps", "--target", folder, KIT])
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", _KIT_SCRIPT, str(KIT_SEEDS)]
        try:
            done = subprocess.run(command, capture_output=True, env=environment, timeout=FETCH_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise Unreachable(f"{KIT}: its compactors did not run: {error}") from None
    return counted_by_compactor([json.loads(line) for line in done.stdout.decode("utf-8").splitlines()])


def counted_by_compactor(rows: Sequence[dict[str, object]]) -> list[KitCount]:
    """Rows with `compactor`, `content`, `text`, `kept` into one count a compactor."""
    found: dict[str, list[int]] = {}
    for row in rows:
        ours = check(str(row["content"]), str(row["text"]), "user").verdict == "evict_ok"
        at = (0 if ours else 2) if row["kept"] else (3 if ours else 1)
        found.setdefault(str(row["compactor"]), [0, 0, 0, 0])[at] += 1
    return [KitCount(name, sum(count), *count) for name, count in found.items()]


_KIT_SCRIPT = """
import json, sys
import compaction_kit as kit
for make in (kit.LossyTruncationCompactor, kit.NaiveSummaryCompactor, kit.SummaryTailCompactor, kit.ChecklistCompactor):
    for seed in range(int(sys.argv[1])):
        session, canaries = kit.build_random_session(seed)
        compactor = make()
        text = compactor.compact(session.transcript(), 1).text
        for canary in canaries:
            kept = all(token.lower() in text.lower() for token in canary.required_tokens)
            print(json.dumps({"compactor": compactor.name, "content": canary.content, "text": text, "kept": kept}))
"""


def _pip(arguments: Sequence[str]) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    try:
        subprocess.run(command, capture_output=True, timeout=FETCH_S, check=True)
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise Unreachable(f"pip could not fetch {arguments[-1]}: {' '.join(last) or 'no reason given'}") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise Unreachable(f"pip could not fetch {arguments[-1]}: {error}") from None

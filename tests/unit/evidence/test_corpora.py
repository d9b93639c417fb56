"""Published corpora: how their labels are read and counted. The corpora themselves are fetched by `make evidence` only."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from ops.evidence.corpora import GUARD_MEMBER, Pair, Unreachable, counted_by_compactor, fetched, judged, pairs_in
from ops.evidence.labelled import guard_tables, kit_table

LABELLED = (
    ("preserved", "identity", "Never feed the parrot.", "Never feed the parrot."),
    ("preserved", "noise", "Never open drawer_7.", "NEVER OPEN DRAWER_7 !"),
    ("paraphrased", "paraphrase", "Never feed the parrot.", "The parrot must never be fed."),
    ("weakened", "modality_strip", "Never feed the parrot.", "Try not to feed the parrot."),
    ("mutated", "digit_swap", "Feed it 30 grams.", "Feed it 50 grams."),
    ("contradicted", "permission_inversion", "Never feed the parrot.", "Feeding the parrot is fine."),
    ("dropped", "deletion", "Never feed the parrot.", "Work goes on."),
)


def corpus() -> bytes:
    rows = [
        {
            "case_id": f"{at}::{operator}",
            "seed": str(at),
            "label": label,
            "operator": operator,
            "invariant": source,
            "after": [{"role": "system", "content": source}, {"role": "user", "content": after}],
        }
        for at, (label, operator, source, after) in enumerate(LABELLED)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def archive(folder: Path, data: bytes, member: str = GUARD_MEMBER) -> Path:
    path = folder / "corpus.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(member)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    return path


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    data = corpus()
    return pairs_in(archive(tmp_path_factory.mktemp("guard"), data), hashlib.sha256(data).hexdigest())


def test_corpora_what_only_the_system_prompt_still_says_is_no_survival_f2(pairs: list[Pair]) -> None:
    """F2: the system prompt of the corpus is no part of what the compaction left."""
    dropped = next(one for one in judged(pairs) if one.pair.label == "dropped")
    assert (dropped.pair.after, dropped.certified, dropped.named) == ("Work goes on.", False, "missing")


def test_corpora_each_class_is_counted_under_its_name_f2(pairs: list[Pair]) -> None:
    """F2: each kind of loss has its own word, and none is certified."""
    named = {one.pair.label: one.named for one in judged(pairs)}
    assert named == {
        "preserved": "changed",
        "paraphrased": "",
        "weakened": "weakened",
        "mutated": "changed",
        "contradicted": "inverted",
        "dropped": "missing",
    }


def test_corpora_label_that_f2_does_not_share_is_left_out_and_listed(pairs: list[Pair]) -> None:
    """F2: a name in other letters is another name, whatever the label says."""
    disputed = [one for one in judged(pairs) if one.disputed]
    assert [one.pair.operator for one in disputed] == ["noise"]
    text = guard_tables(judged(pairs))
    assert "False certification: **0 of 4**" in text
    assert "1::noise" in text.split("Labels left out")[1]


def test_corpora_halves_share_no_instruction(pairs: list[Pair]) -> None:
    """An instruction on which rules were tuned is in one half alone, and the division never changes."""
    found = judged(pairs)
    groups = {half: {one.pair.group for one in found if one.half == half} for half in ("first", "second")}
    assert groups["first"].isdisjoint(groups["second"])
    assert [one.half for one in found] == [one.half for one in judged(pairs)]


def test_corpora_other_bytes_are_no_corpus(tmp_path: Path) -> None:
    """P10: an archive with other content, or none, is refused with a reason; nothing is unpacked."""
    with pytest.raises(Unreachable, match="not the corpus"):
        pairs_in(archive(tmp_path, b"{}\n"))
    with pytest.raises(Unreachable, match="cannot be read"):
        pairs_in(archive(tmp_path, b"", "other/file"))
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.tar.gz"]


def test_corpora_registry_that_sends_nothing_is_said() -> None:
    """Offline there is no table, and the reason stands in its place."""

    def nothing(arguments: Sequence[str]) -> None:
        assert arguments[0] == "download"

    with pytest.raises(Unreachable, match="no source distribution"):
        fetched(nothing)


def test_corpora_kit_counts_agreement_both_ways() -> None:
    """What only one of both calls kept is counted apart: `certified only` has to stay empty."""
    rows = [
        {"compactor": "a", "content": "Never feed the parrot.", "text": "Never feed the parrot.", "kept": True},
        {"compactor": "a", "content": "Never feed the parrot.", "text": "Feed the parrot.", "kept": True},
        {"compactor": "a", "content": "Never feed the parrot.", "text": "Nothing.", "kept": False},
        {"compactor": "b", "content": "Never feed the parrot.", "text": "The parrot must never be fed.", "kept": False},
    ]
    first, second = counted_by_compactor(rows)
    assert (first.statements, first.both_kept, first.refused_only, first.both_lost, first.certified_only) == (3, 1, 1, 1, 0)
    assert (second.statements, second.certified_only) == (1, 1)
    assert "| a " in kit_table([first, second])

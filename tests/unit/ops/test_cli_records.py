"""Records made elsewhere are taken line by line, and messages say what is wrong (contracts sections 1, 3, 4)."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import msgspec
import pytest

from ledger.facts import RULES_VERSION
from ledger.recorder import made
from ops.record_file import read_records
from schemas.codec import encode
from schemas.records import AuditRecorded, DegradationAcknowledged, PlainText, SessionOpened, SpanRecorded
from tests.support.cli import SAMPLE, Cli, has_no_traceback, in_subprocess

OPENED = made(SessionOpened, "s", "s", store="none", rules_version=RULES_VERSION)
SPAN = made(SpanRecorded, "s", "s", span="s:1", role="user", turns=(1, 1), text=PlainText("Use port 8443."))


def lines(path: Path, *items: bytes) -> Path:
    path.write_bytes(b"".join(item + b"\n" for item in items))
    return path


def test_record_file_without_a_valid_line_makes_no_log(cli: Cli, data: Path, tmp_path: Path) -> None:
    """Contracts section 3: nothing is made for nothing."""
    ran = cli("record", "--file", lines(tmp_path / "r.jsonl", b"{}", b"[]"), "--json")
    assert (ran.code, ran.object["records"], ran.object["added"], len(ran.object["invalid"])) == (2, 2, 0, 2)
    assert not data.exists()
    assert "Nothing was appended." in ran.err


def test_p1_record_is_taken_under_its_own_id_whatever_it_came_with(cli: Cli, tmp_path: Path) -> None:
    """P1: it neither stands in the place of another nor is refused for a name that follows from the rest of it."""
    stolen = json.loads(encode(SPAN)) | {"span": "s:2", "text": {"kind": "plain", "text": "Use port 80."}}
    nameless = {key: value for key, value in json.loads(encode(SPAN)).items() if key != "id"}
    path = lines(
        tmp_path / "r.jsonl", encode(OPENED), encode(SPAN), *(json.dumps(item).encode() for item in (stolen, nameless))
    )
    ran = cli("record", "--file", path, "--json")
    assert (ran.code, ran.object["added"], ran.object["renamed"], ran.object["invalid"]) == (0, 3, 2, [])
    assert (
        read_records(path.read_bytes())[0][2].id
        == made(SpanRecorded, "s", "s", span="s:2", role="user", turns=(1, 1), text=SPAN.text).id
    )
    assert cli("record", "--file", path, "--json").object["duplicates"] == 4


def test_t3_evidence_that_names_a_renamed_record_names_it_still(cli: Cli, tmp_path: Path) -> None:
    """T3: an acknowledgement names its evidence by event id."""
    audit = made(AuditRecorded, "s", "s", span="s:1", fact="", occurrence="a", status="ok", text_sha256="")
    mine = json.loads(encode(audit)) | {"id": "my-audit"}
    said = made(DegradationAcknowledged, "s", "s", evidence="my-audit", occurrence="b")
    batch, answer = read_records(b"\n".join((json.dumps(mine).encode(), encode(said))))
    assert (answer.renamed, answer.invalid) == (1, [])
    assert isinstance(batch[1], DegradationAcknowledged)
    assert batch[1].evidence == audit.id


def test_p10_line_that_a_lenient_reader_passes_over_is_listed_and_the_rest_goes_on(cli: Cli, tmp_path: Path) -> None:
    """P10, P1: a key that is no UTF-8 in a field that nobody reads; and a number of any length there does no harm."""
    odd = encode(SPAN)[:-1] + b',"z\xff":1}'
    long = encode(msgspec.structs.replace(SPAN, span="s1:long"))[:-1] + b',"z":' + b"9" * 5000 + b"}"
    path = lines(tmp_path / "r.jsonl", encode(OPENED), odd, long, encode(SPAN))
    ran = cli("record", "--file", path, "--json")
    assert ran.code == 2
    assert ran.object["added"] == 3
    assert [each["line"] for each in ran.object["invalid"]] == [2]


def test_p10_record_that_names_a_key_twice_is_refused(cli: Cli, tmp_path: Path) -> None:
    """P10: two readers could take it for two records; the same key in two objects is none."""
    twice = encode(SPAN).replace(b'"text":"Use port 8443."', b'"text":"Use port 80.","text":"Use port 8443."')
    path = lines(tmp_path / "r.jsonl", encode(OPENED), twice, encode(SPAN))
    ran = cli("record", "--file", path, "--json")
    assert ran.object["added"] == 2
    assert ran.object["invalid"] == [{"line": 2, "reason": "the key 'text' stands twice in one object; expected each key once"}]


def test_p2_opening_without_a_rules_version_gets_that_of_this_release(cli: Cli, tmp_path: Path) -> None:
    """P2: the log says which one it is; another release's stops no partition."""
    bare, other = (
        made(SessionOpened, name, name, store="none", rules_version=version) for name, version in (("a", ""), ("b", "r0"))
    )
    ran = cli("record", "--file", lines(tmp_path / "r.jsonl", encode(bare), encode(other)), "--json")
    assert ran.object["added"] == 1
    assert f"expected {RULES_VERSION!r}" in ran.object["invalid"][0]["reason"]
    assert cli("status", "a", "--json").object["session"] == "a"


def test_replay_until_a_partition_that_is_not_there_names_those_that_are(cli: Cli) -> None:
    assert cli("ingest", SAMPLE).code == 0
    ran = cli("replay", "--until", "5@3")
    assert ran.code == 2
    assert "no partition 5" in ran.err
    assert "This log has partition 0." in ran.err
    assert cli("replay", "--until", "0@3", "--json").object["records"] == 3


def test_forgotten_of_nothing_says_that_the_name_is_empty(cli: Cli) -> None:
    ran = cli("forgotten", "")
    assert ran.code == 2
    assert "name of the transcript or session is empty" in ran.err


def test_ingest_into_a_place_that_holds_no_files_does_not_call_it_a_full_disk(cli: Cli) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("no /proc on this system")
    ran = cli("ingest", SAMPLE, "--log", "lmdb:/proc/x")
    assert ran.code == 4
    assert "disk is full" not in ran.err
    assert "choose another" in ran.err


def test_refused_address_space_is_said_to_be_that(tmp_path: Path) -> None:
    """Exit 4 and the limit to raise, whichever part of the work meets it first."""
    for mib in (250, 400, 600):
        ran = in_subprocess(
            "ingest",
            SAMPLE,
            data=tmp_path / str(mib),
            prepare=lambda mib=mib: resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20)),  # type: ignore[misc]
        )
        assert ran.code in (0, 4), ran.err
        assert has_no_traceback(ran)
        assert "was closed" not in ran.err
        assert ran.code == 0 or "ulimit" in ran.err or "out of memory" in ran.err, ran.err


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf"], ids=["nothing", "blank", "mark"])
def test_record_file_that_is_empty_is_inconclusive(cli: Cli, data: Path, tmp_path: Path, content: bytes) -> None:
    """Contracts section 4: a named file that is empty is 3, whichever command reads it."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    ran = cli("record", "--file", path, "--json")
    assert (ran.code, ran.object["records"]) == (3, 0)
    assert f"{path}: is empty" in ran.err
    assert cli("rehearse", path).code == cli("gate", "--session", "s", "--claims", path).code == 3
    assert not data.exists()


def test_closed_standard_input_is_empty_and_no_fault_of_the_command(tmp_path: Path) -> None:
    for command in (("record", "--file", "-"), ("check", "-", SAMPLE), ("gate", "--session", "s", "--claims", "-")):
        ran = in_subprocess(*command, data=tmp_path, prepare=lambda: os.close(0))
        assert ran.code == 3, ran.err
        assert has_no_traceback(ran)


def test_record_file_in_another_encoding_is_taken_in_no_part(cli: Cli, data: Path, tmp_path: Path) -> None:
    """One line that happens to be readable in it would be half a history."""
    nameless = b"\n".join(json.dumps({**json.loads(encode(one)), "id": None}).encode() for one in (OPENED, SPAN))
    path = tmp_path / "r.jsonl"
    path.write_bytes(nameless.replace(b'"id": null, ', b"").decode().encode("utf-16"))
    ran = cli("record", "--file", path, "--json")
    assert (ran.code, ran.object["added"], len(ran.object["invalid"])) == (2, 0, 2)
    assert not data.exists()


def test_record_file_may_begin_with_a_byte_order_mark(cli: Cli, tmp_path: Path) -> None:
    """It says how the bytes are text and is no part of the first line; anywhere else it is."""
    mark = b"\xef\xbb\xbf"
    path = lines(tmp_path / "r.jsonl", mark + encode(OPENED), encode(SPAN), mark + encode(SPAN))
    ran = cli("record", "--file", path, "--json")
    assert (ran.object["added"], [item["line"] for item in ran.object["invalid"]]) == (2, [3])
    scenario = tmp_path / "scenario.jsonl"
    scenario.write_bytes(mark + b'{"id":"a","events":[{"op":"status"}]}\n')
    assert cli("rehearse", scenario).code == 0
    claims = lines(tmp_path / "claims.jsonl", mark + b'{"text":"Use port 8443.","key":"s:1"}')
    assert cli("gate", "--session", "s", "--claims", claims, "--json").object["claims"][0]["text"] == "Use port 8443."


def test_record_file_says_what_became_of_the_rest(cli: Cli, tmp_path: Path) -> None:
    """A message about one line does not say of others what did not happen."""
    path = lines(tmp_path / "r.jsonl", encode(OPENED), encode(SPAN), b"{}")
    assert "Of the rest: 2 appended, 0 on record already." in cli("record", "--file", path).err
    again = cli("record", "--file", path)
    assert again.code == 2
    assert "Nothing was appended; the rest was on record already." in again.err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"span": ""}, "span is empty"),
        ({"session": ""}, "session is empty"),
        ({"scope": ""}, "scope is empty"),
        ({"turns": [-1, 1]}, "turns are [-1, 1]"),
        ({"turns": [2, 1]}, "turns are [2, 1]"),
        ({"scope": "s" * 2000}, "2000 key bytes"),
    ],
)
def test_record_that_says_nothing_sensible_is_refused_by_line(
    cli: Cli, tmp_path: Path, change: dict[str, object], told: str
) -> None:
    """The line, the field and what was expected; the others are appended."""
    bad = json.dumps(json.loads(encode(SPAN)) | change).encode()
    ran = cli("record", "--file", lines(tmp_path / "r.jsonl", encode(OPENED), bad, encode(SPAN)), "--json")
    assert (ran.code, ran.object["added"]) == (2, 2)
    assert [item["line"] for item in ran.object["invalid"]] == [2]
    assert told in ran.object["invalid"][0]["reason"]

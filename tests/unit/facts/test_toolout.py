"""Salience by kind of text (F1): what a tool can be asked for again holds no facts, what it found out does."""

from __future__ import annotations

import pytest

from ledger.facts import extract

PADDING = "The scan of the ledger went through every folder and told what it had met on its way there.\n" * 6


def values(text: str, role: str = "tool") -> set[str]:
    return {fact.value for fact in extract(text, role, scope_key="k").facts}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "lines",
    [
        [f"   {at}\u2192const retries_{at} = {at}" for at in range(1, 30)],
        [f"src/pool_{at}.go:{at}: func open_{at}()" for at in range(1, 30)],
        [f"src/pool_{at}.go-{at}-\treturn errPool{at}" for at in range(1, 30)],
        [f"src/deep/pool_{at}.go" for at in range(1, 30)],
        [f"-rw-r--r--  1 ann staff {at} May 3 10:0{at % 10} pool_{at}.go" for at in range(1, 30)],
        [f"{at:07x} Tidy the pool of shard {at}" for at in range(1, 30)],
        [f'{{"type":"turn","turn_id":"t-{at}","duration_ms":{at}}}' for at in range(1, 30)],
        [f"ok  \tacme.dev/pool/p{at}\t{at}.5s" for at in range(1, 30)],
    ],
    ids=["file with line numbers", "hits", "context of hits", "paths", "directory", "history", "JSON lines", "passed tests"],
)
def test_extract_listing_of_a_tool_holds_no_facts_and_is_counted_f1(lines: list[str]) -> None:
    manifest = extract(PADDING + "\n".join(lines), "tool", scope_key="k")
    assert not [fact for fact in manifest.facts if fact.start >= len(PADDING)]
    assert manifest.passed_over >= len(lines)


def test_extract_fault_in_a_long_output_is_kept_f1() -> None:
    listing = "\n".join(f"src/pool_{at}.go:{at}: func open_{at}()" for at in range(60))
    found = values(f"{listing}\n3 failed, 118 passed\nFATAL: lock LX-77 is held\nYou must not restart node LX-77 now.\n")
    assert {"3", "118", "LX-77"} <= found
    assert any("must not restart node" in value for value in found)


def test_extract_short_output_is_read_in_full_f1() -> None:
    found = values("File \"ingest/loader.py\", line 212, in load_batch\nKeyError: 'tax_code'\n2 failed, 118 passed")
    assert {"ingest/loader.py", "212", "2", "118"} <= found


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('{"tool":"Edit","input":{"file_path":"src/app.py","old_string":"a = 3","new_string":"a = 4000"}}', {"src/app.py"}),
        ('{"tool":"Write","input":{"file_path":"src/new.py","content":"limit = 4000"}}', {"src/new.py"}),
        ('{"tool":"Read","input":{"file_path":"src/app.py","offset":1900,"limit":60}}', set()),
        ('{"tool":"Bash","input":{"command":"head -20 notes.txt"}}', set()),
    ],
)
def test_extract_tool_call_states_only_the_file_that_it_writes_f1(call: str, expected: set[str]) -> None:
    assert values(call) == expected


def test_extract_pasted_machine_log_of_a_user_is_passed_over_f1() -> None:
    log = "\n".join(f'{{"event":"after-model","duration_ms":{at},"session":"s-{at}"}}' for at in range(1, 20))
    text = f"Do not change the gateway.\n{'This is what it printed when I ran it on my machine last night. ' * 9}\n{log}\n"
    found = values(text, "user")
    assert any("do not change the gateway" in value for value in found)
    assert not any(value.startswith("s-") for value in found)


def test_extract_one_line_of_a_megabyte_is_read_at_its_ends_f1() -> None:
    text = "Do not open valve V-12. " + "so it goes on " * 70_000 + " Keep pump P-34 at 35 %."
    manifest = extract(text, "user", scope_key="k")
    assert {"V-12", "P-34"} <= {fact.value for fact in manifest.facts}
    assert manifest.passed_over >= 1


@pytest.mark.parametrize(
    "text",
    [
        "The default is one, so use the new one.",
        "Line 296 holds the call.",
        "See N-1 and N-2.",
        "582 - 76 = 506 lines were mine.",
    ],
)
def test_extract_pronoun_place_or_sum_in_an_explanation_is_no_number_f1(text: str) -> None:
    text = f"{PADDING}{text}"
    assert not [fact.value for fact in extract(text, "assistant", scope_key="k").facts if fact.cls in {"numeric", "identifier"}]


@pytest.mark.parametrize(("text", "value"), [("The fault is in loader.py, line 212.", "212"), ("It is a 3-node cluster.", "3")])
def test_extract_place_or_count_in_a_short_report_is_kept_f1(text: str, value: str) -> None:
    assert value in values(text, "assistant")


def test_extract_short_report_that_goes_on_to_promise_keeps_its_facts_f1() -> None:
    assert "auth.py" in values("Tests fail in auth.py at 3 places. I'll fix them next.", "assistant")
    assert "0.04 s" in values("The limit is 40 ms. Let me know whether that is fine.", "assistant")
    assert not values("The hook is read in src/hook.py at 3 places. Let me check the caller:", "assistant")

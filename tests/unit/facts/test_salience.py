"""Salience by what a text is for (F1): what the work itself shows, or what an answer settles, holds no facts of its own."""

from __future__ import annotations

import pytest

from ledger.facts import extract

REPORT = (
    "The retry of the upload is bounded now, and the queue drains in the order in which jobs came in. "
    "The scheduler reads its plan from `plan.toml`, and every worker answers on the same port as before. "
    "A job that was refused twice goes to the quarantine, where an operator looks at it once a day. "
    "The lock of the index is held by the writer only, so readers never wait for it at any time of day. "
)
"""More than a short report of an assistant."""


def values(text: str, role: str = "assistant") -> set[str]:
    return {fact.value for fact in extract(text, role, scope_key="k").facts}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/home/ann/code/pool/src/pool.c", "pool.c"),
        ("~/code/pool/src/pool.c", "pool.c"),
        ("C:/work/pool/src/pool.c", "pool.c"),
        ("src/pool.c", "src/pool.c"),
    ],
)
def test_extract_written_file_under_a_root_is_told_by_its_name_f1(path: str, value: str) -> None:
    call = f'{{"tool":"Write","input":{{"file_path":"{path}","content":"x"}}}}'
    (fact,) = extract(call, "tool", scope_key="k").facts
    assert (fact.value, call[fact.start : fact.end]) == (value, value)


@pytest.mark.parametrize(
    "done",
    ["Added a test for the empty queue.", "I also removed the second timer of the queue.", "All integration tests pass."],
)
def test_extract_work_done_in_a_longer_report_is_no_fact_f1(done: str) -> None:
    assert values(REPORT + done) == values(REPORT)
    assert values(done), "of a short report it is all there is"


def test_extract_what_is_not_done_and_what_was_decided_stay_in_a_longer_report_f1() -> None:
    found = values(REPORT + "The integration tests do not pass on arm64. We decided to keep the second timer of the queue.")
    assert {"the integration tests do not pass on arm64", "we decided to keep the second timer of the queue"} <= found


def test_extract_choices_put_to_the_user_leave_what_only_the_session_knows_f1() -> None:
    options = "The pool in `src/pool.c` was split in commit 4be91c07. The cache never evicts. "
    asked, told = values(REPORT + options + "Which of them shall I take?"), values(REPORT + options)
    assert "4be91c07" in asked & told
    assert "the cache never evicts" in asked & told
    assert "the pool in src/pool.c was split in commit 4be91c07" in told - asked


@pytest.mark.parametrize("text", ["구현을 시작하겠습니다.", "`pool.c`의 상태를 확인합니다.", "`pool.c` を確認します。"])
def test_extract_announcement_with_the_verb_last_is_of_the_moment_f1(text: str) -> None:
    assert not values(text)


def test_extract_duty_in_the_same_form_is_kept_f1() -> None:
    assert values("배포 전에 `pool.c`를 검토해야 합니다.")


def test_extract_counts_of_a_record_with_its_own_time_belong_to_it_f1() -> None:
    assert not values('{"measured_at": "2026-05-03T10:00:00Z", "retries": 5, "added": 0}', "tool")
    assert values('{"updated_at": "2026-05-03T10:00:00Z", "retries": 5}', "tool"), "a setting that was changed then"
    assert values('{"retries": 5}', "tool")


def test_extract_run_that_went_well_is_settled_f1() -> None:
    assert "118" not in values("118 passed, 2 skipped in 4.20s", "tool")
    assert {"118", "3"} <= values("3 failed, 118 passed in 4.20s", "tool")
    assert "4.2 s" not in values("3 failed, 118 passed in 4.20s", "tool")
    assert "30 s" in values("The request to the pool was not answered in 30s", "tool")


def test_extract_place_in_a_file_is_no_part_of_its_name_f1() -> None:
    found = values("src/pool.c:88:14: error: undeclared name of the pool", "tool")
    assert "src/pool.c" in found
    assert not any(value.startswith("src/pool.c:") for value in found)
    assert "db.example.com:5432" in values("error: connection to db.example.com:5432 was refused", "tool")


def test_extract_number_of_a_list_item_is_a_users_name_only_f1() -> None:
    assert "#3" not in values("Task #3 waits for the review of the pool.")
    assert "#3" in values("Leave #3 out of the release.", "user")

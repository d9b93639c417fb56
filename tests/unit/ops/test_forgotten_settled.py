"""D3: of what a session forgot, what is open stands first; what the session itself settled is named and counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.losses import BARE, asked, forgotten, reasons
from tests.support.talk import agent, ran, stopped, summary, transcript, user, wrote

STANDING = [
    "Never push to the main branch.",
    "From now on answer in German.",
    "Please keep commit messages under 60 characters.",
    "Use tabs for indentation, not spaces.",
    "The API takes at most 40 requests per second.",
    "The release is due on 2026-12-04.",
    "Production runs on db-prod.internal:5432.",
    "Don't touch the billing module.",
    "We decided against Redis.",
    "Let's do the migration later, after the release.",
    "Antworte ab jetzt auf Englisch.",
    "Fass das Abrechnungsmodul nicht an.",
    "No toques el módulo de facturación.",
    "Désormais, réponds en anglais.",
    "Non fare mai push sul branch main.",
    "Alle endpoints moeten JSON teruggeven.",
    "Od teraz odpowiadaj po angielsku.",
    "Não toque no módulo de faturamento.",
    "Никогда не пушь в ветку main.",
    "Svara hädanefter på engelska.",
    "Bundan sonra İngilizce cevap ver.",
    "لا تدفع أبدا إلى الفرع main.",
    "अब से अंग्रेज़ी में जवाब दो।",
    "請求モジュールには触らないでください。",
    "결제 모듈은 건드리지 마세요.",
    "从现在起用英语回答。",
]


@pytest.mark.parametrize("text", STANDING)
def test_forgotten_standing_words_of_the_user_stay_open_whatever_was_done_after_them_d3(
    cli: Cli, tmp_path: Path, text: str
) -> None:
    answer = forgotten(cli, tmp_path, *asked(text), BARE)
    assert None in {one["settled"] for one in answer["forgotten"] if one["role"] == "user" and one["text"] in text}


ONCE = [
    "Can you remove the old timer from pool.c?",
    "Rename loadPool to openPool.",
    "Fix the flaky test please.",
    "The last build was red because the cache was stale.",
    "Kannst du den alten Timer aus pool.c entfernen?",
    "Renombra loadPool a openPool.",
    "Peux-tu retirer l'ancien minuteur de pool.c ?",
    "Убери старый таймер из pool.c.",
    "pool.c から古いタイマーを削除してください。",
    "pool.c에서 오래된 타이머를 제거해 주세요.",
    "请从 pool.c 删除旧的定时器。",
]


@pytest.mark.parametrize("text", ONCE)
def test_forgotten_request_that_was_acted_on_is_settled_and_names_the_call_d3(cli: Cli, tmp_path: Path, text: str) -> None:
    answer = forgotten(cli, tmp_path, *asked(text), BARE)
    found = [one for one in answer["forgotten"] if one["role"] == "user" and one["text"].rstrip("?.。") in text]
    assert found
    assert {one["settled"] for one in found} <= {"acted", "answered"}
    assert {one["settled_line"] for one in found} <= {3, 5}


def test_forgotten_question_is_answered_by_the_reply_d3(cli: Cli, tmp_path: Path) -> None:
    asking = [user("Why does the queue stall after a restart?"), agent("The lock is held by the old worker."), user("I see.")]
    answer = forgotten(cli, tmp_path, *asking, agent("Good."), BARE)
    assert reasons(answer, "Why does the queue stall") == {"answered"}


def test_forgotten_request_whose_call_the_user_stopped_stays_open_d3(cli: Cli, tmp_path: Path) -> None:
    answer = forgotten(
        cli,
        tmp_path,
        user("Let's mark the request for review as ready."),
        *stopped("gh pr ready 7"),
        user("Show me the list of files first."),
        *ran("ls"),
        agent("Here it is."),
        BARE,
    )
    assert reasons(answer, "mark the request") == {None}


ORDER = "Never push to the main branch."
NEWER = "Never write to the shared cache."


def test_forgotten_words_in_a_refused_call_are_the_users_and_rank_as_such_d3(cli: Cli, tmp_path: Path) -> None:
    talk = [user(ORDER), agent("I look at it."), *stopped("git push", NEWER), agent("I stop."), user("Thanks."), agent("Fine.")]
    answer = forgotten(cli, tmp_path, *talk, BARE)
    orders = [(one["text"], one["role"], one["settled"]) for one in answer["forgotten"] if one["class"] == "prohibition"]
    assert orders == [(NEWER.rstrip("."), "user", None), (ORDER.rstrip("."), "user", None)]  # the newest first


def test_forgotten_words_that_a_tool_quotes_are_the_tools_d3(cli: Cli, tmp_path: Path) -> None:
    quoted = f"notes.txt\nIn the old session the user said: {NEWER}"
    answer = forgotten(cli, tmp_path, user(ORDER), *ran("cat notes.txt", quoted), agent("Read."), user("Thanks."), BARE)
    assert {one["role"] for one in answer["forgotten"] if one["text"] in ORDER} == {"user"}
    assert "user" not in {one["role"] for one in answer["forgotten"] if one["text"] in quoted}


def test_forgotten_request_in_progress_stays_open_unless_the_summary_has_its_parts_d3(cli: Cli, tmp_path: Path) -> None:
    begun = [user("Rewrite the pool in src/pool.c with a ring buffer."), *ran("grep -n pool src/pool.c")]
    assert reasons(forgotten(cli, tmp_path, *begun, BARE), "Rewrite the pool") == {None}
    held = summary("Summary: a ring buffer for `pool.c`, to rewrite it, has begun.")
    assert reasons(forgotten(cli, tmp_path, *begun, held), "Rewrite the pool") <= {"held_shorter"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "Tests may run against the staging host old-stage.example:8443 for now.",
            "By the way, the staging host was switched off, nobody needs it any more.",
        ),
        (
            "The retry budget of the worker is 3 attempts per minute.",
            "Make the retry budget of the worker 5 attempts per minute.",
        ),
    ],
)
def test_forgotten_what_the_user_took_back_is_superseded_d3(cli: Cli, tmp_path: Path, before: str, after: str) -> None:
    answer = forgotten(cli, tmp_path, user(before), agent("Noted."), user(after), agent("Noted."), BARE)
    settled = {one["settled"] for one in answer["forgotten"] if one["text"].rstrip(".") in before}
    assert settled == {"superseded"}
    answer = forgotten(cli, tmp_path, user(before), agent("Noted."), BARE)
    assert None in {one["settled"] for one in answer["forgotten"] if one["text"].rstrip(".") in before}


def test_forgotten_figures_of_a_run_and_progress_are_passing_d3(cli: Cli, tmp_path: Path) -> None:
    answer = forgotten(
        cli,
        tmp_path,
        user("Run the tests."),
        *ran("make test", "2 failed, 38 passed in 6.31s"),
        agent("Two tests of the pool fail. I look at `openPool` next."),
        BARE,
    )
    assert reasons(answer, "failed", "tool") == {"passing"}
    assert reasons(answer, "tests of the pool fail", "assistant") <= {"passing"}


def test_forgotten_fault_line_of_a_tool_is_read_as_passing_not_as_a_ban_d3(cli: Cli, tmp_path: Path) -> None:
    fault = "curl: (7) Failed to connect to pay.example port 443: Connection refused"
    answer = forgotten(cli, tmp_path, user("Try it."), *ran("curl https://pay.example", fault), agent("It is closed."), BARE)
    assert reasons(answer, "Failed to connect", "tool") == {"passing"}


def test_forgotten_choice_of_the_agent_and_its_reason_stay_open_d3(cli: Cli, tmp_path: Path) -> None:
    told = agent("I rejected the client cache because workers restart. One test fails because the pool is empty.")
    answer = forgotten(cli, tmp_path, user("Where does the count go?"), told, user("Fine."), agent("Good."), BARE)
    assert reasons(answer, "rejected the client cache", "assistant") == {None}
    assert reasons(answer, "because workers restart", "assistant") == {None}
    assert reasons(answer, "because the pool is empty", "assistant") <= {"passing"}


REPORT = """## Review of the pool

### 1. The lock is taken twice

`src/pool.c` takes the lock of `drainQueue()` twice during one request.

**Fix:** Pass the guard of `drainQueue()` through the call chain.

### 2. Names are read again

`src/names.c` reads the names of every station on each call.

**Fix:** Add an index of names to `readStations()`, because every call sorts them.
"""


def test_forgotten_proposal_of_a_report_is_open_until_it_is_carried_out_d3(cli: Cli, tmp_path: Path) -> None:
    done = wrote("/w/src/pool.c", "guard = drainQueue(); pass(guard) through the call chain")
    opened = [user("Review the pool."), agent(REPORT), user("Write a test for it.")]
    answer = forgotten(cli, tmp_path, *opened, *done, agent("There."), BARE)
    assert reasons(answer, "Pass the guard", "assistant") == {"acted"}
    assert reasons(answer, "index of names", "assistant") == {None}


def test_forgotten_address_needed_again_by_a_later_round_is_open_d3(cli: Cli, tmp_path: Path) -> None:
    told = agent("Open comments: 2734651359 in the pool, 2734651368 in the queue.")
    turns = [user("Which comments are open?"), told, user("Good."), agent("Good."), BARE]
    later = ran("gh api repos/x/y/pulls/comments/2734651368/replies -f body=done")
    answer = forgotten(cli, tmp_path, *turns, user("Answer them."), *later)
    settled = {one["text"]: one["settled"] for one in answer["forgotten"] if one["class"] == "identifier"}
    assert settled == {"2734651368": None, "2734651359": "passing"}


def test_forgotten_address_that_is_a_tools_whole_answer_is_open_d3(cli: Cli, tmp_path: Path) -> None:
    made = ran("gh pr create --fill", "https://forge.example/x/y/pull/133")
    answer = forgotten(cli, tmp_path, user("Open a request."), *made, agent("Opened."), BARE)
    assert reasons(answer, "pull/133", "tool") == {None}


def test_forgotten_order_open_first_and_totals_are_those_of_all_losses_d3(cli: Cli, tmp_path: Path) -> None:
    answer = forgotten(cli, tmp_path, *asked("Never push to main. Rename loadPool to openPool."), BARE)
    settled = [one["settled"] for one in answer["forgotten"]]
    assert settled == sorted(settled, key=lambda reason: reason is not None)
    assert answer["forgotten_total"] == len(settled)
    assert answer["open_total"] == answer["open_matching"] == settled.count(None) > 0
    assert sum(answer["settled_matching"].values()) == len(settled) - settled.count(None) > 0


def test_forgotten_shows_what_is_open_and_says_what_all_would_show_d3(cli: Cli, tmp_path: Path) -> None:
    file = transcript(
        tmp_path / "talk.jsonl", [*asked("Never push to main. Rename loadPool to openPool."), BARE, user("Go on.")]
    )
    shown, whole = cli("forgotten", file), cli("forgotten", file, "--all")
    assert "Never push to main" in shown.out
    assert "Rename loadPool" not in shown.out
    assert "more dropped facts were settled in the session: 3 acted on" in " ".join(shown.out.split())
    assert "--all shows them" in " ".join(shown.out.split())
    assert "Rename loadPool" in whole.out
    assert "settled: acted on, line 3" in " ".join(whole.out.split())
    assert shown.code == whole.code == 1, "exit code and totals are those of all losses"
    assert cli("forgotten", file, "--json").object == cli("forgotten", file, "--json", "--all").object

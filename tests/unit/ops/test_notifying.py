"""Sinks: a web hook that is told again where that can help, a command without a shell, and what is no sink."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from msgspec.structs import replace

from consumers.agents import Agents, Notification
from ledger.errors import UsageError
from ops import notifying
from ops.notifying import Command, Lines, WebHook, group_of, run_notifier, sink_of
from schemas.codec import encode
from tests.unit.consumers.test_agents import alert

SAID = Notification(
    scope="s1", session="s1", group="g1", severity="page", raised={"prohibition_lost": 1}, resolved={}, first={"rule": "C3"}
)


class Hook:
    """A server that answers as told, then with 200."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.got: list[dict[str, object]] = []

    async def take(self, request: web.Request) -> web.Response:
        self.got.append(await request.json())
        return web.Response(status=self.answers.pop(0) if self.answers else 200)


@pytest.fixture
async def hook(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Hook, str]]:
    monkeypatch.setattr(notifying, "PAUSE_S", 0.01)
    made, app = Hook(), web.Application()
    app.router.add_post("/hook", made.take)
    server = TestServer(app)
    await server.start_server()
    yield made, str(server.make_url("/hook"))
    await server.close()


async def test_p9_web_hook_is_told_again_after_a_server_fault(hook: tuple[Hook, str]) -> None:
    """P9: at least once."""
    made, url = hook
    made.answers = [500, 429]
    await WebHook(url).send(SAID)
    assert [each["group"] for each in made.got] == ["g1", "g1", "g1"]


async def test_p11_line_says_when_what_and_where_to_look_and_holds_no_words(
    hook: tuple[Hook, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """P10, P11: a session's name is data, and whatever sink tells of an alert, its words stay in the log."""
    said = replace(SAID, session="a; rm -rf \u202e~", published_ms=1_793_000_000_000)
    await Lines().send(said)
    await WebHook(hook[1]).send(said)
    line = capsys.readouterr().out
    told = json.loads(line)
    assert told == hook[0].got[0]
    assert told["time"] == "2026-10-26T07:33:20.000Z"
    assert shlex.split(told["look"]) == ["cledger", "alerts", "--session", said.session]
    assert told["raised"] == {"prohibition_lost": 1}
    assert "\u202e" not in line
    assert list(told) == "time scope session group severity raised resolved first look".split()


async def test_web_hook_that_says_never_is_not_asked_again(hook: tuple[Hook, str]) -> None:
    made, url = hook
    made.answers = [404]
    with pytest.raises(OSError, match="404"):
        await WebHook(url).send(SAID)
    assert len(made.got) == 1


async def test_web_hook_that_is_not_there_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifying, "PAUSE_S", 0.001)
    with pytest.raises(OSError, match="4 times"):
        await WebHook("http://127.0.0.1:9/hook").send(SAID)


async def test_command_gets_the_notification_on_stdin_and_no_shell(tmp_path: Path) -> None:
    """P10: nothing of it is ever a word of a command line."""
    script = tmp_path / "note.py"
    script.write_text(f"import sys; open({str(tmp_path / 'out')!r}, 'w').write(sys.stdin.read())")
    sink = sink_of(f"{sys.executable} {script} ; touch {tmp_path / 'shell'}")
    await sink.send(SAID)
    assert json.loads((tmp_path / "out").read_text())["group"] == "g1"
    assert not (tmp_path / "shell").exists()


async def test_command_that_fails_is_a_failure() -> None:
    with pytest.raises(OSError, match="ended with 3"):
        await Command([sys.executable, "-c", "raise SystemExit(3)"]).send(SAID)


def test_sinks_by_their_names() -> None:
    assert isinstance(sink_of("-"), Lines)
    assert isinstance(sink_of("https://hooks.example/x"), WebHook)
    assert isinstance(sink_of(f"{sys.executable} alert"), Command)
    for bad in ("http://", "'unclosed", ""):
        with pytest.raises(UsageError):
            sink_of(bad)


def test_agents_want_a_log_on_kafka(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Kafka"):
        run_notifier(f"lmdb:{tmp_path}", ["-"], None, None)


def test_command_that_is_not_there_is_refused_at_start() -> None:
    """Whoever waits for pages must not learn from their absence that the command has a typo."""
    with pytest.raises(UsageError, match="there is no command 'no-such-command'"):
        sink_of("no-such-command --loud")


async def test_failed_notification_is_told_until_one_arrives() -> None:
    """P9: a process that cannot tell people says so, and is not ready."""

    class Flaky:
        broken = True

        def __str__(self) -> str:
            return "the pager"

        async def send(self, notification: Notification) -> None:
            if self.broken:
                raise ConnectionError("it is off")

    sink = Flaky()
    agents = Agents([sink])
    for number, broken in ((1, True), (2, False)):
        sink.broken = broken
        agents.take(encode(alert(number)), now_s=0.0)
        await agents.tell(100.0)
        assert bool(agents.reasons) is broken
        assert (agents.sent, agents.failed) == (number - 1, 1)
    agents.reach.note("no answer")
    assert "no answer" in agents.reasons[0]


def test_p9_each_target_hears_all_alerts_and_goes_on_where_it_was() -> None:
    """P9: a group of its own for each target and folder, the same one after a restart; a mistyped target takes nothing away."""
    groups = [group_of(Path(folder), [target]) for folder in ("/a", "/b") for target in ("-", "https://hooks.example/x")]
    assert len(set(groups)) == len(groups)
    assert group_of(Path("/a"), ["-"]) == groups[0]

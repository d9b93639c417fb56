"""`worker`: fold, decide and publish for the partitions that this machine owns."""

from __future__ import annotations

from typing import Annotated

import typer

from ledger.errors import UsageError
from ops.cli.exit import INTERRUPTED, settle
from ops.cli.options import LogUrl, log_url


def worker(
    *,
    log: LogUrl = None,
    exit_when_idle: Annotated[
        float | None,
        typer.Option(
            "--exit-when-idle",
            metavar="SECONDS",
            min=0,
            help="End with 0 once all partitions are folded and published so long.",
        ),
    ] = None,
    web: Annotated[
        str | None, typer.Option("--web", metavar="HOST:PORT", help="Where to answer. Default: 127.0.0.1:6066, or a free port.")
    ] = None,
    token_file: Annotated[
        str | None, typer.Option("--token-file", metavar="FILE", help="The token to ask for; needed beyond loopback.")
    ] = None,
    snapshots: Annotated[
        str | None, typer.Option("--snapshots", metavar="DIR", help="Where snapshots of indexes are taken and looked for.")
    ] = None,
    session_timeout: Annotated[
        float, typer.Option("--session-timeout", metavar="SECONDS", min=0.5, help="Silent for so long, a worker is replaced.")
    ] = 10.0,
    watchdog: Annotated[
        float,
        typer.Option("--watchdog", metavar="SECONDS", min=1, help="Without progress for so long, the worker ends itself."),
    ] = 60.0,
    fold_only: Annotated[
        bool, typer.Option("--fold-only", help="Fold, decide and publish; no measuring, audits or snapshots beside it.")
    ] = False,
    agents: Annotated[
        bool, typer.Option("--agents", help="Do not fold: tell people of alerts, and serve them live at /feed. May lose some.")
    ] = False,
    notify: Annotated[
        list[str] | None,
        typer.Option(
            "--notify", metavar="WHERE", help="With --agents: - for lines, an http address, or a command. Repeatable."
        ),
    ] = None,
) -> None:
    """Fold a log, decide requests, publish decisions.

    Alerts too. Workers share the partitions of a log on Kafka.

    Answers /healthz, /readyz and /metrics over HTTP. Exit 5 if a partition stands still before a record it may not pass.
    """
    if agents:
        from ops.notifying import run_notifier

        _end(run_notifier(log_url(log), notify or ["-"], web, token_file))
        return
    if notify:
        raise UsageError("--notify goes with --agents", hint="A worker folds; agents, in a process of their own, tell people.")
    from ops.working import WorkerOptions, run_worker

    code = run_worker(
        WorkerOptions(
            log_url=log_url(log),
            exit_when_idle_s=exit_when_idle,
            web=web,
            token_file=token_file,
            snapshots=snapshots,
            session_timeout_ms=int(session_timeout * 1000),
            watchdog_s=watchdog,
            fold_only=fold_only,
        )
    )
    _end(code)


def _end(code: int) -> None:
    """An interrupt is told as one; every other code is an outcome like any."""
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    settle(code)

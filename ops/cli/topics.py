"""`topics plan|create|verify`: the topics of a ledger on Kafka."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.exit import FINE, settle
from ops.cli.options import Json, LogUrl, log_url
from ops.cli.screen import put, say
from ops.cli.words import count

if TYPE_CHECKING:
    from consumers.topics import Finding, Planned
    from ops.topics import Created, Verified

topics_app = typer.Typer(help="Plan, create and verify the topics of a ledger on Kafka.", no_args_is_help=True)
Partitions = Annotated[
    int,
    typer.Option("--partitions", min=1, max=65_535, help="Of each ledger topic, for ever: the order of a scope hangs on it."),
]
_STYLES = {"incident": "bold red", "fault": "red", "warning": "yellow", "ok": "green"}
PARTITIONS = 64


@topics_app.command("plan")
def plan(
    partitions: Partitions = PARTITIONS,
    brokers: Annotated[int, typer.Option("--brokers", min=1, help="Brokers of the cluster.")] = 3,
    messages: Annotated[int, typer.Option("--messages", min=0, help="Messages a day of the whole fleet.")] = 100_000,
    message_bytes: Annotated[
        int, typer.Option("--message-bytes", min=1, help="Mean bytes of a record, as measured on real sessions.")
    ] = 3_400,
    json: Json = False,
) -> None:
    """Print the topics, their settings and the bytes a day of a fleet. Asks no cluster."""
    from consumers.topics import Fleet, warnings_for
    from consumers.topics import plan as planned

    fleet = Fleet(messages_per_day=messages, message_bytes=message_bytes)
    rows = planned(partitions, brokers, fleet)
    for row in rows:
        put(row, json, _show_planned)
    if not json:
        stored = sum(row.bytes_per_day for row in rows)
        raw = messages * message_bytes
        say(
            f"{count(messages, 'message')} a day of {message_bytes:,} bytes, {_size(raw)} as JSON: "
            f"{_size(stored)} a day on {count(brokers, 'broker')}, all copies together; {_size(stored * 365)} a year"
        )
        for finding in warnings_for(brokers):
            _show_finding(finding)


@topics_app.command("create")
def create(partitions: Partitions = PARTITIONS, log: LogUrl = None, json: Json = False) -> None:
    """Make the topics, and the record that says which log they are. Takes over topics that exist and are empty."""
    from ops.topics import create as make

    put(asyncio.run(make(log_url(log), partitions)), json, _show_created)


@topics_app.command("verify")
def verify(log: LogUrl = None, json: Json = False) -> None:
    """Compare the cluster with the plan. Exit 5 where history was or will be erased or misplaced, 1 for other faults."""
    from ops.topics import verify as compare

    answer = asyncio.run(compare(log_url(log)))
    settle(answer.exit_code or FINE)
    put(answer, json, _show_verified)


def _show_planned(row: Planned) -> None:
    say((row.topic, "bold"), f"  key {row.key}, {count(row.partitions, 'partition')}, {count(row.replication, 'replica')}")
    say(", ".join(f"{name}={value}" for name, value in row.config.items()), indent=2)
    if row.bytes_per_day:
        say(f"{_size(row.bytes_per_day)} a day", indent=2)


def _show_created(answer: Created) -> None:
    say(f"log {answer.log_id}, {count(answer.partitions, 'partition')}, {count(answer.replication, 'replica')}")
    for topic in answer.topics:
        say(topic, indent=2)
    for finding in answer.warnings:
        _show_finding(finding)


def _show_verified(answer: Verified) -> None:
    for finding in answer.findings:
        _show_finding(finding)
    if answer.log:
        say(("incident", _STYLES["incident"]), f"  {answer.log}")
    brokers = count(answer.brokers, "broker")
    say(
        (answer.verdict, _STYLES[answer.verdict]),
        f"  log {answer.log_id or 'not opened'}, {answer.partitions} partitions, {brokers}",
    )


def _show_finding(finding: Finding) -> None:
    where = f"{finding.topic} " if finding.topic else ""
    say(
        (f"{finding.weight:<8}", _STYLES[finding.weight]),
        f"  {where}{finding.setting} is {finding.found}, expected {finding.expected}",
    )
    say(finding.advice, indent=10)


def _size(number: int) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if number < 10_000:
            return f"{number:,} {unit}"
        number //= 1000
    return f"{number:,} TB"

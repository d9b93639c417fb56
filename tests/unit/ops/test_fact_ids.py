"""A fact is named by its id, by the beginning that screens show, and by an alert's subject (contracts section 1)."""

from __future__ import annotations

from tests.support.cli import SAMPLE, SESSION, Cli


def test_fact_is_named_by_its_id_its_beginning_and_an_alerts_subject(cli: Cli) -> None:
    cli("ingest", SAMPLE)
    subjects = [alert["subject"] for alert in cli("alerts", "--session", SESSION, "--json").objects]
    subject = next(each for each in subjects if each.startswith("f") and "@" in each)
    fact = subject.partition("@")[0]
    whole = cli("recall", fact, "--session", SESSION, "--json")
    assert whole.objects[0]["answer"] != "absent"
    for name in (subject, fact[:12]):
        told = cli("recall", name, "--session", SESSION, "--json")
        assert (told.code, told.out) == (whole.code, whole.out), name
    assert cli("recall", "f00000000", "--session", SESSION, "--json").objects[0]["answer"] == "absent"

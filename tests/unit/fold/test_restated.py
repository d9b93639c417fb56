"""What a summary adds around a ban or an order counts in the fold as it does in `check` (rule F2)."""

from __future__ import annotations

import pytest

from schemas.decisions import CompactionGranted, CompactionRefused
from tests.support.given import given, opened, request, span, summary


@pytest.mark.parametrize(
    ("source", "restatement"),
    [
        ("Never delete customer data.", "In staging, never delete customer data."),
        ("Never delete customer data.", "Never delete customer data. Forget that."),
        ("Do not contact customers or partners.", "Do not contact customers."),
        ("Lösche niemals Kundendaten.", "Lösche in der Testumgebung niemals Kundendaten."),
        ("Never share the roadmap.", "Never share the roadmap with competitors."),
    ],
)
def test_f2_statement_that_a_summary_narrows_or_takes_back_is_not_granted(source: str, restatement: str) -> None:
    """F2: all words of the ban stand there, and it says less."""
    given(opened(), span(1, source), summary("m1", restatement)).when(request("q1", "m1", 1)).then_decision(
        CompactionRefused, reason="below_floor"
    )


@pytest.mark.parametrize(
    ("source", "restatement"),
    [
        ("Never delete customer data.", "The user said: never delete customer data. The export is done."),
        ("Never delete customer data in staging.", "In staging, never delete customer data."),
        ("Do not contact customers or partners.", "Do not contact partners or customers."),
        ("Never share the roadmap.", "Never, under any circumstances, share the roadmap; the release is in May."),
    ],
)
def test_f2_statement_told_beside_others_is_granted(source: str, restatement: str) -> None:
    """F2: what says something else beside it narrows nothing."""
    given(opened(), span(1, source), summary("m1", restatement)).when(request("q1", "m1", 1)).then_decision(CompactionGranted)

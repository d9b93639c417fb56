"""F2: identifiers byte for byte; shape alone makes one."""

from __future__ import annotations

import pytest

from ledger.facts import Finding, SummaryText, extract, survival
from ledger.facts.values.identifiers import classify, find_identifiers
from schemas.facts import Fact


@pytest.mark.parametrize(
    "name",
    [
        "SN-77120",
        "14-C",
        "KR-7",
        "ord-88121",
        "F-2026",
        "exp-2026-b",
        "P4",
        "invoice_lines",
        "MAX_RETRIES",
        "getUserName",
        "9f2c11e",
        "service-a/docs/SETUP.md",
        "infra/",
        "/cart",
        "~/.config/app.toml",
        "index.html",
        ".env",
        "fit_curve.py:12",
        "--dry-run",
        "v1.2.3",
        "registry.local/billing-api@sha256:7be1d40c",
        "billing-api:v4.18.2",
        "nginx:1.25.3",
        "2.1.7",
        "api.example.com",
        "localhost:8080",
        "https://example.com/a?b=1",
        "10.0.0.1",
        "a@example.com",
        "0042",
        "#342",
        "std::vector",
        "d8d63886-b7b9-4d7e-8c86-930109b86579",
        "gemini-2.5-flash",
        "2738948818",
    ],
)
def test_identifier_shapes_are_recognised(name: str) -> None:
    assert classify(name)


@pytest.mark.parametrize(
    "word",
    [
        "word",
        "Word",
        "GitHub",
        "PostgreSQL",
        "and/or",
        "read/write",
        "20-minute",
        "5-day",
        "up-to-date",
        "3.5",
        "10%",
        "e.g",
        "km/h",
        "req/s",
        "UTF-8",
        "p99",
        "NIP",
    ],
)
def test_identifier_is_no_ordinary_word_or_measure(word: str) -> None:
    assert not classify(word)


def test_identifier_command_line_is_one_name() -> None:
    text = "run ./mig up --to 0042, then stop"
    assert [text[a:b] for a, b in find_identifiers(text, 0, len(text))] == ["./mig up --to 0042"]


def fact(value: str) -> Fact:
    return next(f for f in extract(f"See `{value}` there.", "user", scope_key="s").facts if f.cls == "identifier")


def outcome(value: str, summary: str) -> Finding:
    return survival(fact(value), SummaryText(summary))


@pytest.mark.parametrize(
    ("value", "summary", "want"),
    [
        ("ord-88123", "Orders ord-88121, ord-88123.", "verbatim"),
        ("ord-88123", "Orders: ord-88121, ord-8", "changed"),
        ("ord-88123", "Orders ord-881234 and more", "changed"),
        ("service-a/docs/SETUP.md", "Read ../docs/SETUP.md.", "changed"),
        ("SETUP.md", "Read service-a/docs/SETUP.md.", "verbatim"),
        ("before_insert", "Hooks: on_record_inserted.", "missing"),
        ("before_insert", "Hooks: Before_Insert.", "changed"),
        ("/cart", "GET /cart/items", "changed"),
        ("infra/", "see infra/main.tf", "verbatim"),
        ("1.2.3", "pinned to 1.2.34", "changed"),
        ("worker-3", "stop worker-3.", "verbatim"),
    ],
)
def test_identifier_survives_only_whole_f2(value: str, summary: str, want: str) -> None:
    got = outcome(value, summary).outcome
    assert got == want or (want == "changed" and got == "missing")


def test_identifier_verbatim_points_at_its_place() -> None:
    summary = "Orders ord-88121, ord-88123."
    found = outcome("ord-88123", summary)
    assert summary[found.start : found.end] == "ord-88123"

"""F2 in a summary that tells the story of a session: an inversion pages somebody, so there it takes more than shared words."""

from __future__ import annotations

import pytest

from ledger.facts import SummaryText, extract, survival
from schemas.records import Role

STORY = "\n".join(
    f"{at}. The {part} module was read, its {thing} was changed in {part}_{thing}.py and the tests of {part} were run again."
    for at, (part, thing) in enumerate(
        (
            (part, thing)
            for part in ("billing", "upload", "search", "mail", "export")
            for thing in ("parser", "cache", "queue", "index")
        ),
        1,
    )
)
TAIL = "\n\n## Pending Tasks\n- Write the release notes\n- Commit the changes\n"


def outcomes(source: str, role: Role, line: str) -> set[str]:
    summary = SummaryText(f"# Summary\n{STORY}\n{line}\n{TAIL}")
    assert len(summary.parts) > 40
    return {survival(fact, summary).outcome for fact in extract(source, role, scope_key="k").facts}


@pytest.mark.parametrize(
    ("source", "role", "line"),
    [
        ("Do not push to the gateway branch without asking me.", "user", "Push to the gateway branch without asking."),
        ("Never delete the customer ledger of 2024.", "user", "The assistant should delete the customer ledger of 2024."),
        ("The invoice template must not be translated.", "user", "The invoice template must be translated."),
        ("Do not rename the public constants of the SDK.", "user", "Rename the public constants of the SDK."),
        (
            "We decided not to support Windows 7 with the installer.",
            "assistant",
            "We decided to support Windows 7 with the installer.",
        ),
        ("Don't use emoji in commit messages.", "user", "Use emoji in commit messages."),
    ],
)
def test_survival_rule_turned_in_a_story_is_inverted_f2(source: str, role: Role, line: str) -> None:
    assert "inverted" in outcomes(source, role, line)


@pytest.mark.parametrize(
    ("source", "role", "line"),
    [
        ("The upload test is failing.", "assistant", "All tests pass, the upload test too."),
        ("Both tests pass.", "assistant", "Both tests failed at first."),
        (
            "`addTrailer` no longer falsely detects conventional subjects.",
            "assistant",
            "`addTrailer` falsely detects conventional subjects.",
        ),
        ("If the content is null, skip the row.", "user", "The content of the row is read from the file."),
        ("The mail cache is not cleared between runs yet.", "assistant", "The mail cache is cleared between runs."),
        ("rather than line-level blame", "assistant", "Line-level blame was looked at."),
        ("No changes to commit", "tool", "The changes were written to the commit."),
        ('It sees "no content to link" there.', "user", "The hook links the content."),
        ("failed to get checkpoint store", "tool", "The branches store the checkpoint state."),
        ("Remaining items: mail queue.", "assistant", "Completed items: mail queue."),
        ("Don't calculate on amend.", "assistant", "How would you calculate on amend?"),
        ("Changes are not committed.", "assistant", "- Commit the changes"),
    ],
)
def test_survival_state_condition_or_likeness_in_a_story_is_no_inversion_f2(source: str, role: Role, line: str) -> None:
    assert "inverted" not in outcomes(source, role, line)


def test_survival_same_pair_in_one_sentence_needs_less_evidence_f2() -> None:
    summary = SummaryText("The backup was verified.")
    (fact,) = (f for f in extract("The backup was not verified.", "assistant", scope_key="k").facts if f.cls == "prohibition")
    assert survival(fact, summary).outcome == "inverted"

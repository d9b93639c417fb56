"""D3: what a user forbids, wants to be asked about or sets a day for stays open in every language until the user lifts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.losses import BARE, asked, forgotten
from tests.support.talk import agent, summary, user

STANDING = {
    "en": [
        "No pushing to main.",
        "Please, no changes to the public API.",
        "You shouldn't push to main.",
        "You can't use the network.",
        "You are not to touch the importer.",
        "The billing service is off limits.",
        "Hands off the config.",
        "Stay away from the importer.",
        "Leave the importer as it is.",
        "Stop using mocks in the tests.",
        "I forbid you to touch the importer.",
        "I don't want you to commit anything.",
        "Do it without touching the importer.",
        "Unless I say so, do not push.",
        "Nothing under src/gen may be edited.",
        "Not a single line of the importer may change.",
        "Be careful not to break the importer.",
        "Ask me before you delete anything.",
        "Check with me before pushing.",
        "Get my OK before you push.",
        "It has to be live by Friday.",
        "This needs to ship before Monday.",
        "Finish it by 2026-12-04.",
        "I need this done by tomorrow.",
        "never delete the audit table, ok?",
    ],
    "de": ["Finger weg vom Abrechnungsmodul.", "Der Abrechnungsdienst ist tabu.", "Frag mich, bevor du etwas löschst."],
    "fr": ["N'utilise plus de mocks dans les tests.", "Pas touche au module de facturation.", "Ne redémarre plus le serveur."],
    "es": ["No quiero que hagas push de nada.", "Deja de usar mocks en las pruebas.", "Pregúntame antes de borrar algo."],
    "pt": ["Pare de usar mocks nos testes.", "Tire as mãos do módulo de faturamento.", "Me pergunte antes de apagar algo."],
    "it": ["Non devi modificare i file generati.", "Giù le mani dal modulo di fatturazione.", "Chiedimi prima di cancellare."],
    "nl": ["Handen af van de facturatiemodule.", "Stop met mocks in de tests.", "De facturatiemodule is verboden terrein."],
    "sv": ["Bort med händerna från modulen.", "Sluta använda mockar i testerna.", "Fråga mig först innan du raderar."],
    "pl": ["Ręce precz od modułu rozliczeń.", "Przestań używać mocków w testach.", "Moduł rozliczeń to tabu."],
    "ru": ["Руки прочь от модуля биллинга.", "Хватит использовать моки в тестах.", "Модуль биллинга под запретом."],
    "tr": ["Üretilen dosyaları düzenlememelisin.", "Bu dosyaları değiştirme.", "Sakın bu dosyaya dokunmayın."],
    "ar": ["إياك أن تلمس وحدة الفوترة.", "وحدة الفوترة خط أحمر.", "توقف عن استخدام المحاكاة في الاختبارات."],
    "hi": ["बिलिंग मॉड्यूल से दूर रहो।", "हटाने से पहले मुझसे पूछो।", "यह फ़ाइल बदलना मना है।"],
    "zh": ["别碰计费模块。", "计费模块是禁区。", "删除之前先问我。"],
    "ja": ["請求モジュールには触るな。", "本番環境は手を出さないで。", "削除する前に私に確認して。"],
    "ko": ["결제 모듈은 건드리지 마.", "pool.h는 건드리지 말 것.", "삭제하기 전에 나에게 물어 봐."],
}


@pytest.mark.parametrize("code", STANDING)
def test_forgotten_bans_deadlines_and_wishes_to_be_asked_stay_open_in_every_language_d3(
    cli: Cli, tmp_path: Path, code: str
) -> None:
    turns = [turn for text in STANDING[code] for turn in asked(text)]
    lost = [one for one in forgotten(cli, tmp_path, *turns, BARE)["forgotten"] if one["role"] == "user"]
    opened = [one["text"] for one in lost if one["settled"] is None]
    assert [text for text in STANDING[code] if not any(one in text for one in opened)] == []


@pytest.mark.parametrize(
    "text",
    [
        "committed shows no removals",
        "no model is defined here",
        "No errors in the log of the pool.",
        "No tests failed in the last run.",
        "The hook can't find the file.",
        "You can see that no test runs.",
        "I did it without touching the importer.",
        "It was ready by Friday.",
        "What happens before Monday?",
        "Yeni sürümde iki düzeltme.",
    ],
)
def test_forgotten_fact_that_is_told_with_a_negation_forbids_nothing_d3(cli: Cli, tmp_path: Path, text: str) -> None:
    answer = forgotten(cli, tmp_path, *asked(text), BARE)
    assert None not in {one["settled"] for one in answer["forgotten"] if one["role"] == "user" and one["text"] in text}


@pytest.mark.parametrize("text", ["Stay away from src/importer.py.", "Check with me before touching src/importer.py."])
def test_forgotten_ban_is_not_held_where_the_summary_only_names_what_it_is_about_d3(
    cli: Cli, tmp_path: Path, text: str
) -> None:
    named = summary("Summary: the work goes on; before, src/importer.py was read.")
    answer = forgotten(cli, tmp_path, *asked(text), named)
    assert None in {one["settled"] for one in answer["forgotten"] if one["text"] in text and one["class"] != "identifier"}


def settled(cli: Cli, path: Path, before: str, after: str) -> set[str | None]:
    """What became of a statement, once something else was said."""
    answer = forgotten(cli, path, user(before), agent("Noted."), user(after), agent("Noted."), BARE)
    return {one["settled"] for one in answer["forgotten"] if one["text"].rstrip(".") in before}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Never delete the audit table.", "The audit table view is no longer shown."),
        ("Never delete the audit table.", "Forget it, the audit table is fine."),
        ("Never push to the main branch.", "The build of the main branch was cancelled."),
        ("Don't touch the billing module.", "Ignore that warning in the billing module."),
        ("Never restart the message broker.", "Never mind the message broker log."),
        ("Never write to the production database.", "I turned off the alarm of the production database."),
        (
            "Never call the payment API without the test flag.",
            "Don't retry the payment API call any more, the test flag is set.",
        ),
        ("The gateway accepts at most 40 requests per second.", "I saw 38 requests per second at the gateway."),
        ("Lösche nie die Audit-Tabelle.", "Die Ansicht der Audit-Tabelle wird nicht mehr gezeigt."),
    ],
)
def test_forgotten_ban_outlasts_a_later_sentence_that_only_shares_its_words_d3(
    cli: Cli, tmp_path: Path, before: str, after: str
) -> None:
    assert None in settled(cli, tmp_path, before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Never push to the main branch.", "Forget what I said about the main branch push."),
        ("Never push to the main branch.", "You may now push to the main branch."),
        ("Don't touch the billing module.", "The ban to touch the billing module is lifted."),
        ("The gateway accepts at most 40 requests per second.", "The gateway accepts at most 60 requests per second."),
        ("Lösche nie die Audit-Tabelle.", "Vergiss, was ich zur Audit-Tabelle sagte, lösche sie."),
        ("No toques el módulo de facturación.", "Olvida lo que dije del módulo de facturación."),
    ],
)
def test_forgotten_ban_that_the_user_lifts_is_superseded_d3(cli: Cli, tmp_path: Path, before: str, after: str) -> None:
    assert settled(cli, tmp_path, before, after) == {"superseded"}

"""Every language has every table, texts are told apart by it, and what no table covers is unknown."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ledger.facts import check, extract
from ledger.facts.language.detection import detect
from ledger.facts.language.fold import fold
from ledger.facts.language.lexicon import LANGUAGES, UNREAD

FOLDER = Path(__file__).parents[3] / "ledger" / "facts" / "data" / "lang"
FILES = sorted(FOLDER.glob("*.toml"))
WORDS = "neg exc except until instead only all some most hedge must may reason please decided rejected promise stop".split()
BOUNDS = "le ge gt lt approx after_le after_ge to per".split()
SUPPORTED = {"en", "de", "fr", "es", "pt", "it", "nl", "sv", "pl", "ru", "tr", "ar", "hi", "zh", "ja", "ko"}


def test_languages_that_are_promised_have_a_file_f1() -> None:
    assert {path.stem for path in FILES} >= SUPPORTED


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_language_file_has_every_table_f1(path: Path) -> None:
    """F1: a table that is missing would read nothing where its words stand, and nothing would say so."""
    data: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    assert data["code"] == path.stem
    assert {key for key in ("name", "by", "since", "before", "after") if not data.get(key)} == set()
    words = {**data.get("tags", {}), **data.get("inside", {})}
    missing = {key for key in WORDS if not words.get(key) and not data.get("tags", {}).get(key)}
    assert missing == set()
    assert {key for key in BOUNDS if not data.get("bounds", {}).get(key)} == set()
    language = LANGUAGES[path.stem]
    assert set(language.months.values()) == set(range(1, 13))
    assert set(language.weekdays.values()) == set(range(1, 8))
    days = set(language.relative_days.values())
    assert {-1, 0, 1} <= days or (0 in days and data["dates"]["ambiguous_days"])  # one word for yesterday and tomorrow
    assert {0, 2, 9} <= set(language.number_units.values())
    assert {1000} <= set(language.number_scales.values())
    assert language.clock


SENTENCES = {
    "en": "Please do not change the totals before the audit is over.",
    "de": "Bitte ändere die Summen nicht, bevor die Prüfung vorbei ist.",
    "fr": "Ne changez pas les totaux avant la fin de l'audit.",
    "es": "No cambies los totales antes de que termine la auditoría.",
    "pt": "Não altere os totais antes de a auditoria terminar.",
    "it": "Non cambiare i totali prima che la revisione sia finita.",
    "nl": "Wijzig de totalen niet voordat de controle klaar is.",
    "sv": "Ändra inte summorna innan granskningen är klar.",
    "pl": "Nie zmieniaj sum, zanim audyt się skończy.",
    "ru": "Не меняй суммы, пока проверка не закончится.",
    "tr": "Denetim bitmeden toplamları değiştirme.",
    "ar": "لا تغير المجاميع قبل انتهاء التدقيق.",
    "hi": "ऑडिट पूरा होने से पहले योग मत बदलो।",
    "zh": "审计结束之前不要修改总额。",
    "ja": "監査が終わるまで合計を変更しないでください。",
    "ko": "감사가 끝나기 전에는 합계를 변경하지 마세요.",
}


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_detect_tells_a_sentence_of_each_language_f1(code: str) -> None:
    assert detect(fold(SENTENCES[code]), original=SENTENCES[code]).code == code


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_extract_finds_the_ban_of_each_language_f1(code: str) -> None:
    facts = extract(SENTENCES[code], "user", scope_key="s").facts
    assert any(fact.cls == "prohibition" for fact in facts)


@pytest.mark.parametrize(
    "text",
    [
        "Backup unverified; restore test pending.",
        "lint format build deploy",
        "Fix null pointer in parser",
        "p95 latency histogram, dashboard widget, quarterly revenue",
        "Dvořák wrote the importer and Škoda reviewed it.",
        "Δ = Σ (α − β)² / σ, see λ and μ",
    ],
)
def test_detect_terse_english_stays_english_f1(text: str) -> None:
    assert detect(fold(text), original=text).code == "en"


UNKNOWN = {
    "th": "ห้ามลบไฟล์สำรองโดยไม่ได้รับอนุญาต",
    "el": "Μην διαγράψεις ποτέ τα αντίγραφα ασφαλείας.",
    "he": "לעולם אל תמחק את הגיבויים בלי אישור.",
    "uk": "Ніколи не видаляй резервні копії без дозволу.",
    "cs": "Nikdy nemaž zálohy, dokud není kontrola hotová.",
    "fi": "Älä koskaan poista varmuuskopioita ennen kuin tarkastus on valmis.",
    "da": "Slet aldrig sikkerhedskopierne, før kontrollen er færdig.",
    "vi": "Không bao giờ xóa các bản sao lưu khi chưa được phê duyệt.",
    "fa": "هرگز نسخه‌های پشتیبان را بدون تأیید پاک نکنید.",
    "bg": "Никога не трийте архивите, преди да се провери всичко, което е в тях.",
    "bn": "অনুমতি ছাড়া কখনও ব্যাকআপ মুছবেন না।",
    "am": "ያለ ፈቃድ መጠባበቂያውን በፍጹም አታጥፋ።",
}


@pytest.mark.parametrize("code", sorted(UNKNOWN))
def test_check_text_in_a_language_without_a_table_is_unknown_f2(code: str) -> None:
    """F2 fails closed: even a summary that repeats the text is not certified."""
    text = UNKNOWN[code]
    assert detect(fold(text), original=text) is UNREAD
    for role in ("user", "assistant"):
        assert check(text, text, role).verdict == "unknown"  # type: ignore[arg-type]
        assert check(text, "Backups may be deleted.", role).verdict == "unknown"  # type: ignore[arg-type]
    assert check(text, "Backups may be deleted.", "tool").verdict == "unknown"


def test_extract_unread_sentence_survives_word_for_word_only_f2() -> None:
    """F2: the ledger measures facts, not verdicts: a sentence nobody could read is lost unless it is repeated."""
    (fact,) = extract(UNKNOWN["th"], "user", scope_key="s").facts
    assert fact.cls == "instruction"
    found = check("Keep 3 copies. " + UNKNOWN["el"], "Keep 3 copies.", "user")
    assert found.verdict == "unknown"
    assert [row.survives for row in found.facts if row.text.startswith("Μην")] == [False]


def test_check_loss_within_a_text_that_is_half_unread_is_a_loss_f2() -> None:
    source = "Keep 3 copies of the index.\n\n" + UNKNOWN["el"]
    assert check(source, "Keep 4 copies of the index.\n\n" + UNKNOWN["el"], "user").verdict == "below_floor"


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("Le délai est de 45 minutes pour `sync_job`.", "`sync_job`: 2700 s"),
        ("Die Frist endet am 9. Oktober 2027.", "2027-10-09"),
        ("Der Preis beträgt 1.234,56 Euro.", "EUR 1,234.56"),
        ("El margen es del doce por ciento.", "12 %"),
        ("利用率为百分之十二。", "12 %"),
        ("मूल्य ₹12,34,567 है।", "₹1,234,567"),
        ("المهلة ٤٥ دقيقة.", "2700 s"),
        ("Kapasite yüzde 12 arttı.", "12 %"),
    ],
)
def test_values_survive_in_another_language_f2(source: str, summary: str) -> None:
    """F2: numbers, dates and names are compared by value, whatever language stands around them."""
    values = [f for f in check(source, summary, "tool").facts if f.cls in {"numeric", "identifier", "commitment"}]
    assert values
    assert all(f.survives for f in values)

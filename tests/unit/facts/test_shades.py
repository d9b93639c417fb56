"""Shades that a restatement with the same words loses or keeps (rule F2): done, nearly, partly, none of them, in that case."""

from __future__ import annotations

import pytest

from ledger.facts import check

LOSSY = [
    ("The three weirs have been rebuilt on the river.", "The three weirs still need to be rebuilt on the river."),
    ("Le botti sono già state pulite, ma i sacchi non sono partiti.", "Le botti sono da pulire e i sacchi non sono partiti."),
    ("Die Fässer sind schon gedruckt.", "Die Fässer sind noch zu drucken."),
    ("Les sacs ont été imprimés.", "Les sacs sont à imprimer."),
    ("Çuvallar basıldı.", "Çuvallar basılacak."),
    ("Some gates send no signal.", "No gate sends a signal."),
    ("Die meisten Tore senden keine Signale.", "Kein Tor sendet Signale."),
    ("Certaines vannes n'envoient pas de signal.", "Aucune vanne n'envoie de signal."),
    ("The wheel almost failed.", "The wheel failed."),
    ("La roue a presque calé.", "La roue a calé."),
    ("El molino casi falló.", "El molino falló."),
    ("Das Rad ist beinahe gebrochen.", "Das Rad ist gebrochen."),
    ("The weir is partly repaired.", "The weir is repaired."),
    ("Het rad is deels hersteld.", "Het rad is hersteld."),
    ("Le moulin est en partie réparé.", "Le moulin est réparé."),
    ("Deixe de enviar os sacos.", "Envie os sacos."),
    ("Arrêtez d'envoyer les sacs.", "Envoyez les sacs."),
    ("Smetti di inviare i sacchi.", "Invia i sacchi."),
    ("Przestań wysyłać worki.", "Wysyłaj worki."),
    ("Pay the miller if the sack was torn.", "Pay the miller, as the sack was torn."),
    ("Wenn der Sack gerissen ist, zahle den Müller.", "Zahle den Müller, weil der Sack gerissen ist."),
    ("如果水位过高,请关闭闸门。", "水位过高,请关闭闸门。"),
    ("Если мешок порван, оплатите счёт.", "Мешок порван, оплатите счёт."),
    ("Om säcken är trasig, betala fakturan.", "Säcken är trasig, betala fakturan."),
]
FAITHFUL = [
    ("The three weirs have been rebuilt on the river.", "The three weirs on the river were rebuilt."),
    ("Die Fässer sind schon gedruckt.", "Die Fässer wurden gedruckt."),
    ("Le botti sono già state pulite.", "Le botti sono state pulite."),
    ("Some gates send no signal.", "A few gates send no signal."),
    ("The wheel almost failed.", "The wheel nearly failed."),
    ("Das Rad ist fast gebrochen.", "Das Rad ist beinahe gebrochen."),
    ("The weir is partly repaired.", "The weir is partially repaired."),
    ("Het rad is deels hersteld.", "Het rad is gedeeltelijk hersteld."),
    ("Cessez de peser les sacs.", "Ne pesez plus les sacs."),
    ("Pay the miller if the sack was torn.", "If the sack was torn, pay the miller."),
    ("Wenn der Sack gerissen ist, zahle den Müller.", "Zahle den Müller, falls der Sack gerissen ist."),
    ("The count took 45 minutes and found no holes.", "The count found no holes and took 45 minutes."),
    ("The count took 3 hours and no sack was lost.", "No sack was lost and the count took 3 hours."),
    ("We bought 12 mills and sold no weirs.", "We sold no weirs and bought 12 mills."),
    ("Testet tog 45 min och gav inga fel.", "Testet gav inga fel och tog 45 min."),
    ("Die Probe dauerte 45 Minuten und ergab keine Fehler.", "Die Probe ergab keine Fehler und dauerte 45 Minuten."),
    ("La prueba duró 45 minutos y no dio errores.", "La prueba no dio errores y duró 45 minutos."),
    ("Próba trwała 45 minut i nie wykazała błędów.", "Próba nie wykazała błędów i trwała 45 minut."),
    ("Only the miller may pay.", "Just the miller may pay."),
    ("Oil the gate every time it squeaks.", "Oil the gate whenever it squeaks."),
]


@pytest.mark.parametrize(("source", "summary"), LOSSY)
def test_f2_shade_that_is_lost_is_no_restatement(source: str, summary: str) -> None:
    """F2: done, nearly, in part, some, an end and a case are told as such."""
    assert check(source, summary, "user").verdict == "below_floor"


@pytest.mark.parametrize(("source", "summary"), FAITHFUL)
def test_f2_shade_in_other_words_and_another_order_is_kept(source: str, summary: str) -> None:
    """F2: the same said otherwise; what is told besides a negation has a sign of its own."""
    assert check(source, summary, "user").verdict == "evict_ok"


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("Do not mail the miller and the baker.", "Mail the baker."),
        ("No sack was lost and damaged.", "A sack was damaged."),
    ],
)
def test_f2_negation_before_the_verb_reaches_what_follows(source: str, summary: str) -> None:
    """F2: only behind a verb of its own is what follows *and* told by itself."""
    assert check(source, summary, "user").verdict != "evict_ok"


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("Les sacs doivent rester inférieurs à 8 kg.", "Les sacs doivent rester supérieurs à 8 kg."),
        ("I sacchi devono essere inferiori a 8 kg.", "I sacchi devono essere superiori a 8 kg."),
        ("Los sacos deben ser inferiores a 8 kg.", "Los sacos deben ser superiores a 8 kg."),
        ("Worki muszą być niższe niż 8 cm.", "Worki muszą być wyższe niż 8 cm."),
    ],
)
def test_f2_bound_in_an_inflected_form_is_a_bound(source: str, summary: str) -> None:
    """F2: a bound keeps its direction in whatever form of the word it is told."""
    assert check(source, source, "user").verdict == "evict_ok"
    assert check(source, summary, "user").verdict == "below_floor"

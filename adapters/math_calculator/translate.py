"""Unit and calendar questions in Spanish, German and French, word by word into the English of the forms.

Rules: every word must be in one language's table, a number or a unit symbol; one word that is not leaves the
text alone. Words that mean different measures in different places (Pfund, livre) are left out. The tables are
written as they look after ``words.fold``. Pure and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from adapters.math_calculator import units

CHARS_MAX = 120
_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*'?")


def _table(rows: str) -> Mapping[str, str]:
    """Rows of ``english: words of the other language``; ``-`` stands for nothing."""
    table: dict[str, str] = {}
    for row in rows.strip().splitlines():
        english, _, words = (part.strip() for part in row.partition(":"))
        table |= dict.fromkeys(words.split(), "" if english == "-" else english)
    return table


_SPANISH = _table("""
    how many: cuantos cuantas
    what is: cuanto
    -: el la los las hay son es faltan quedan falta grados por favor
    in: en a
    of: de
    a: un una
    convert: convierte convertir pasa
    until: para hasta
    day: dia
    days: dias
    weeks: semana semanas
    months: mes meses
    years: ano anos
    hours: hora horas
    minutes: minuto minutos
    seconds: segundo segundos
    meters: metro metros
    kilometers: kilometro kilometros
    centimeters: centimetro centimetros
    millimeters: milimetro milimetros
    miles: milla millas
    feet: pie pies
    inches: pulgada pulgadas
    yards: yarda yardas
    pounds: libra libras
    ounces: onza onzas
    kilograms: kilo kilos kilogramo kilogramos
    grams: gramo gramos
    liters: litro litros
    milliliters: mililitro mililitros
    gallons: galon galones
    celsius: celsius centigrados
    fahrenheit: fahrenheit
    christmas: navidad
    easter: pascua
""")
_GERMAN = _table("""
    how many: wieviel wieviele wie viele viel
    what is: was
    -: ist hat der die das den es sich grad bitte noch um
    in: in im nach zu sind
    a: ein eine einem einer einen
    convert: rechne wandle konvertiere umrechnen
    until: bis
    day: tag
    days: tage tagen
    weeks: woche wochen
    months: monat monate monaten
    years: jahr jahre jahren
    hours: stunde stunden
    minutes: minute minuten
    seconds: sekunde sekunden
    meters: meter metern
    kilometers: kilometer kilometern
    centimeters: zentimeter zentimetern
    millimeters: millimeter millimetern
    miles: meile meilen
    feet: fuss
    inches: zoll
    ounces: unze unzen
    kilograms: kilo kilogramm
    grams: gramm
    liters: liter litern
    milliliters: milliliter
    gallons: gallone gallonen
    celsius: celsius
    fahrenheit: fahrenheit
    christmas: weihnachten
    new year: neujahr
    easter: ostern
""")
_FRENCH = _table("""
    how many: combien
    -: le la les l' d' de y a-t-il il reste reste-t-il restent font fait degres degre s'il vous te plait
    in: en dans
    a: un une
    convert: convertis convertir convertissez
    until: avant jusqu'a
    day: jour
    days: jours
    weeks: semaine semaines
    months: mois
    years: an ans annee annees
    hours: heure heures
    minutes: minute minutes
    seconds: seconde secondes
    meters: metre metres
    kilometers: kilometre kilometres
    centimeters: centimetre centimetres
    millimeters: millimetre millimetres
    miles: mile miles
    feet: pied pieds
    inches: pouce pouces
    ounces: once onces
    kilograms: kilo kilos kilogramme kilogrammes
    grams: gramme grammes
    liters: litre litres
    milliliters: millilitre millilitres
    gallons: gallon gallons
    celsius: celsius
    fahrenheit: fahrenheit
    christmas: noel
    easter: paques
""")
_TABLES = (_SPANISH, _GERMAN, _FRENCH)


def translated(text: str) -> str | None:
    """``text`` (folded) in English; None when it is not wholly made of one table's words."""
    if len(text) > CHARS_MAX:
        return None
    for table in _TABLES:
        found = _by(table, text)
        if found is not None:
            return found
    return None


def _by(table: Mapping[str, str], text: str) -> str | None:
    out, at = [], 0
    for match in _WORD.finditer(text):
        word = match[0]
        english = table.get(word.lower())
        if english is None and word not in units.SYMBOLS:
            return None
        out += [text[at : match.start()], word if english is None else english]
        at = match.end()
    english_text = re.sub(r"\s+", " ", "".join((*out, text[at:]))).strip()
    return re.sub(r"\b(how many|in)(?: \1)+\b", r"\1", english_text) if out else None

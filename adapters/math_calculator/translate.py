"""Unit and calendar questions in other languages, word by word into the English of the forms.

Rules: every word must be in one language's table, a number (in words too) or a unit symbol; one word that is
not leaves the text alone. Words that mean different measures in different places (Pfund, livre)
are left out. The tables are folded like the text (``words.fold``). Pure and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from adapters.math_calculator import units
from adapters.math_calculator.numbers import Refused
from adapters.math_calculator.tokens import NotMath, tokenise
from adapters.math_calculator.words import (
    FRENCH,
    GERMAN,
    ITALIAN,
    PORTUGUESE,
    RUSSIAN,
    SPANISH,
    Language,
    fold,
)

CHARS_MAX = 120
_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*'?")


def _table(rows: str) -> Mapping[str, str]:
    """Rows of ``english: words of the other language``; ``-`` stands for nothing."""
    table: dict[str, str] = {}
    for row in rows.strip().splitlines():
        english, _, words = (part.strip() for part in row.partition(":"))
        table |= dict.fromkeys(fold(words).split(), "" if english == "-" else english)
    return table


_SPANISH = _table("""
    how many: cuantos cuantas
    what is: cuanto
    what: que cual
    -: el la los las grados por favor hola cada una vez se dime me sabes le quedan faltan falta
    in: en a son hay tiene tienen es equivale equivalen caben
    of: de del
    a: un una
    convert: convierte convertir convierta pasa pasar transforma
    until: para hasta
    between: entre
    and: y
    day: dia
    days: dias
    week: semana
    weeks: semanas
    month: mes
    months: meses
    year: ano
    years: anos
    hour: hora
    hours: horas
    minute: minuto
    minutes: minutos
    second: segundo
    seconds: segundos
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
    tonnes: tonelada toneladas
    liters: litro litros
    milliliters: mililitro mililitros
    gallons: galon galones
    celsius: celsius centigrados
    fahrenheit: fahrenheit
    square: cuadrado cuadrados
    christmas: navidad
    easter: pascua
    today: hoy
    tomorrow: manana
    january: enero
    february: febrero
    march: marzo
    april: abril
    may: mayo
    june: junio
    july: julio
    august: agosto
    september: septiembre
    october: octubre
    november: noviembre
    december: diciembre
""")
_GERMAN = _table("""
    how many: wieviel wieviele wie viele viel
    what is: was
    what: welcher welches
    -: der die das den es sich grad bitte noch um mal hallo kannst du mir sagen dem zum
    in: in im nach zu sind ist hat haben ergeben entsprechen
    a: ein eine einem einer einen
    convert: rechne wandle konvertiere umrechnen konvertieren umwandeln
    until: bis
    between: zwischen
    and: und
    day: tag
    days: tage tagen
    week: woche
    weeks: wochen
    month: monat
    months: monate monaten
    year: jahr
    years: jahre jahren
    hour: stunde
    hours: stunden
    minute: minute
    minutes: minuten
    second: sekunde
    seconds: sekunden
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
    tonnes: tonne tonnen
    liters: liter litern
    milliliters: milliliter
    gallons: gallone gallonen
    celsius: celsius
    fahrenheit: fahrenheit
    square meters: quadratmeter
    square kilometers: quadratkilometer
    christmas: weihnachten
    new year: neujahr
    easter: ostern
    today: heute
    tomorrow: morgen
    january: januar
    february: februar
    march: marz
    april: april
    may: mai
    june: juni
    july: juli
    august: august
    september: september
    october: oktober
    november: november
    december: dezember
""")
_FRENCH = _table("""
    how many: combien
    what: quel quelle
    -: le la les l' d' de y a-t-il il reste reste-t-il restent degres degre s'il vous te plait du
    in: en dans font fait a valent vaut contient
    a: un une
    convert: convertis convertir convertissez
    until: avant jusqu'a
    between: entre
    and: et
    day: jour
    days: jours
    week: semaine
    weeks: semaines
    months: mois
    year: an annee
    years: ans annees
    hour: heure
    hours: heures
    minute: minute
    minutes: minutes
    second: seconde
    seconds: secondes
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
    tonnes: tonne tonnes
    liters: litre litres
    milliliters: millilitre millilitres
    gallons: gallon gallons
    celsius: celsius
    fahrenheit: fahrenheit
    christmas: noel
    easter: paques
    today: aujourd'hui
    tomorrow: demain
    january: janvier
    february: fevrier
    march: mars
    april: avril
    may: mai
    june: juin
    july: juillet
    august: aout
    september: septembre
    october: octobre
    november: novembre
    december: decembre
""")
_ITALIAN = _table("""
    how many: quanti quante quant'
    what is: quanto
    what: che quale
    -: il lo la i gli le l' gradi grado per favore ciao mancano manca mi dici ci dei
    in: in a sono e ha hanno fa c'e equivale equivalgono nel nella nell'
    of: di del
    a: un una uno un'
    convert: converti convertire convertimi trasforma
    until: a fino
    between: tra fra
    day: giorno
    days: giorni
    week: settimana
    weeks: settimane
    month: mese
    months: mesi
    year: anno
    years: anni
    hour: ora
    hours: ore
    minute: minuto
    minutes: minuti
    second: secondo
    seconds: secondi
    meters: metro metri
    kilometers: chilometro chilometri
    centimeters: centimetro centimetri
    millimeters: millimetro millimetri
    miles: miglio miglia
    feet: piede piedi
    inches: pollice pollici
    yards: iarda iarde
    pounds: libbra libbre
    ounces: oncia once
    kilograms: chilo chili chilogrammo chilogrammi
    grams: grammo grammi
    tonnes: tonnellata tonnellate
    liters: litro litri
    milliliters: millilitro millilitri
    gallons: gallone galloni
    celsius: celsius centigradi
    fahrenheit: fahrenheit
    christmas: natale
    easter: pasqua
""")
_PORTUGUESE = _table("""
    how many: quantos quantas
    what is: quanto
    what: que qual
    -: o os as graus grau por favor ola faltam falta me diga da
    in: em a sao e tem ha existem cabem no na num numa equivale equivalem
    of: de do
    a: um uma
    convert: converta converte converter transforme
    until: para ate
    between: entre
    day: dia
    days: dias
    week: semana
    weeks: semanas
    month: mes
    months: meses
    year: ano
    years: anos
    hour: hora
    hours: horas
    minute: minuto
    minutes: minutos
    second: segundo
    seconds: segundos
    meters: metro metros
    kilometers: quilometro quilometros
    centimeters: centimetro centimetros
    millimeters: milimetro milimetros
    miles: milha milhas
    feet: pe pes
    inches: polegada polegadas
    yards: jarda jardas
    pounds: libra libras
    ounces: onca oncas
    kilograms: quilo quilos quilograma quilogramas
    grams: grama gramas
    tonnes: tonelada toneladas
    liters: litro litros
    milliliters: mililitro mililitros
    gallons: galao galoes
    celsius: celsius centigrados
    fahrenheit: fahrenheit
    christmas: natal
    easter: pascoa
""")
_RUSSIAN = _table("""
    how many: сколько
    what is: чему
    -: это будет по градусов градуса градус пожалуйста осталось равно равен равна есть содержится составляет
    in: в во
    convert: переведи переведите перевести конвертируй пересчитай
    until: до
    between: между
    day: сутках сутки день дне дня
    days: дней днях суток
    week: неделя неделе неделю
    weeks: недель недели неделях
    month: месяц месяце
    months: месяцев месяца месяцах
    year: год году
    years: лет года годах
    hour: час часе
    hours: часов часа часах часы
    minute: минута минуте минуту
    minutes: минут минуты минутах
    second: секунда секунде секунду
    seconds: секунд секунды секундах
    meters: метр метра метров метре метрах метры
    kilometers: километр километра километров километре километрах километры км
    centimeters: сантиметр сантиметра сантиметров сантиметре сантиметрах сантиметры см
    millimeters: миллиметр миллиметра миллиметров миллиметре миллиметрах миллиметры мм
    miles: миля мили миль миле милях милю
    feet: фут фута футов футе футах футы
    inches: дюйм дюйма дюймов дюйме дюймах дюймы
    yards: ярд ярда ярдов ярде ярдах ярды
    pounds: фунт фунта фунтов фунте фунтах фунты
    ounces: унция унции унций унцию унциях
    kilograms: килограмм килограмма килограммов килограмме килограммах килограммы кг кило
    grams: грамм грамма граммов грамме граммах граммы
    tonnes: тонна тонны тонн тонне тоннах тонну
    liters: литр литра литров литре литрах литры
    milliliters: миллилитр миллилитра миллилитров миллилитре миллилитрах миллилитры
    gallons: галлон галлона галлонов галлоне галлонах галлоны
    celsius: цельсия цельсий цельсию цельсиях
    fahrenheit: фаренгейта фаренгейт фаренгейту фаренгейтах
    christmas: рождества
    new year: нового-года
""")
_TABLES: tuple[tuple[Mapping[str, str], Language], ...] = (
    (_SPANISH, SPANISH),
    (_GERMAN, GERMAN),
    (_FRENCH, FRENCH),
    (_ITALIAN, ITALIAN),
    (_PORTUGUESE, PORTUGUESE),
    (_RUSSIAN, RUSSIAN),
)
_NUMBER_WORDS_MAX = 6

# whole questions that say more than their words
_TODAY = re.compile(
    r"(?:a )?que (?:dia|fecha) es(?: hoy)?|que dia (?:e|es) hoje|cual es la fecha(?: de hoy| actual)?"
    r"|que fecha es hoy"
    r"|que dia (?:de la|da) semana (?:es|e) (?:hoy|hoje)|a que estamos(?: hoy)?"
    r"|(?:welche[rsn]? (?:tag|wochentag|datum)|was fur ein (?:tag|datum|wochentag)|welches datum) (?:ist"
    r"|haben)(?: wir)?"
    r"(?: heute)?|der wievielte ist heute|wie ist das (?:heutige )?datum(?: heute)?"
    r"|(?:on est |nous sommes )?quel jour(?: de la semaine)?(?: (?:est-on|sommes nous|sommes-nous|est-ce"
    r"|on est))?"
    r"(?: aujourd'hui)?|quelle (?:est la )?date(?: d'aujourd'hui| sommes-nous| est-on| aujourd'hui| du jour)?"
    r"|che giorno(?: della settimana)? e(?: oggi)?|qual e la data(?: di oggi| odierna)?"
    r"|quanti ne abbiamo(?: oggi)?"
    r"|qual e a data(?: de hoje)?|que data e hoje"
    r"|какои сегодня день(?: недели)?|какое сегодня число|какая сегодня дата|что сегодня за день"
    r"|какои день недели сегодня"
    r"|какое число сегодня|какое число"
)


_AND_A_HALF = re.compile(
    r"(?P<amount>\d{1,9})(?P<unit> [^\W\d_]{2,30}) (?:y medi[oa]|e mezz[oa]|et demie?|e mei[oa]"
    r"|und (?:ein )?(?:halb\w{0,2}))"
    r"(?![^\W_])",
    re.IGNORECASE,
)
WORDS = frozenset(word for table, _ in _TABLES for word in table) | frozenset(
    re.findall(r"[^\W\d_]{2,}", f"{_TODAY.pattern} {_AND_A_HALF.pattern} нового года новыи год")
)
"""The words of all tables."""


def translated(text: str) -> list[str]:
    """``text`` (folded) in English, in each language whose table has all of its words."""
    if len(text) > CHARS_MAX:
        return []
    text = _AND_A_HALF.sub(r"\g<amount>.5\g<unit>", text)
    if _TODAY.fullmatch(text.lower()):
        return ["what day is it today"]
    text = text.replace("нового года", "нового-года").replace("новыи год", "нового-года")
    words = [match[0] for match in _WORD.finditer(text)]
    return [
        found
        for table, language in _TABLES
        if all(
            word.lower() in _known(language.code) or word in units.SYMBOLS or not word.isalpha()
            for word in words
        )
        and (found := _by(table, language, text)) is not None
    ]


@lru_cache(maxsize=8)
def _known(code: str) -> frozenset[str]:
    """The words of one language's table, and those that its numbers are made of."""
    table, language = next(each for each in _TABLES if each[1].code == code)
    numbers = [*language.number_starts, *language.hundred, *language.hundreds, *language.scales]
    numbers += [*language.joiners, *language.points, *language.parts, *language.half_and, *language.articles]
    numbers += [word for number in language.numbers for word in number]
    return frozenset(table) | frozenset(numbers)


def _by(table: Mapping[str, str], language: Language, text: str) -> str | None:
    out: list[str] = []
    at = 0
    words = list(_WORD.finditer(text))
    index = 0
    while index < len(words):
        match = words[index]
        word = match[0]
        number, size = _number(words[index : index + _NUMBER_WORDS_MAX], text, language)
        english = table.get(word.lower())
        if english is None and "'" in word.rstrip("'"):
            # an elided article: un'ora, l'heure
            article, _, noun = word.lower().partition("'")
            if article + "'" in table and noun in table:
                english = f"{table[article + chr(39)]} {table[noun]}"
        if number is not None and (english is None or size > 1):
            out += [text[at : match.start()], number]
            index += size
            at = words[index - 1].end()
            continue
        if english is None and word not in units.SYMBOLS:
            return None
        out += [text[at : match.start()], word if english is None else english]
        at = match.end()
        if word.endswith("'") and not text[at : at + 1].isspace():
            out.append(" ")
        index += 1
    if not out:
        return None
    found = re.sub(r"\s+", " ", "".join((*out, text[at:]))).strip()
    found = re.sub(r"\b(how many|what is|in|a)(?: \1)+\b", r"\1", found)
    found = re.sub(r"^(?:how many|what is|in)(?: in)? (?=[-\d])", "convert ", found)
    found = re.sub(r"^(how many [a-z ]{1,40}? in) (?!an? )(?=[a-z])", r"\1 a ", found)
    found = re.sub(r"(?<=\d)\. (?=[a-z])", " ", found)  # "25. Dezember"
    found = re.sub(r"^(\d.*) convert$", r"convert \1", found)
    return re.sub(r" in until | until in ", " until ", found)


def _number(words: list[re.Match[str]], text: str, language: Language) -> tuple[str | None, int]:
    """The longest number in words at the start of ``words``, as figures, and how many words it takes."""
    if words[0][0].lower() not in language.number_starts or words[0][0].lower() in language.articles:
        return None, 0
    for size in range(len(words), 0, -1):
        phrase = text[words[0].start() : words[size - 1].end()].lower()
        try:
            found = tokenise(phrase, language)
        except (NotMath, Refused):
            continue
        value = found[0].value if len(found) == 1 else None
        if value is not None and found[0].kind == "num" and value.denominator == 1:
            return str(value.numerator), size
    return None, 0

"""The calculator's questions as people type them: chat, and the languages beside English."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from adapters.math_calculator import MathCalculator, scripts
from adapters.math_calculator.understand import understand
from adapters.math_calculator.words import LANGUAGES
from tests.manual_clock import ManualClock

NOW = datetime(2026, 5, 18, 12, tzinfo=UTC)
TODAY = NOW.date()

CHAT = """
plz calculate 3*4 | 3*4 | 12
calc 12/5 pls | 12/5 | 2.4
hey what's 7 times 8 | 7*8 | 56
whats 15 percent of 80 pls | 15% of 80 | 12
yo whats 12 x 12 | 12*12 | 144
yo any idea what 12 x 12 is | 12*12 | 144
do u know how many feet in a mile | 1 mile to foot | 5280
hey bro whats 9*9 lol | 9*9 | 81
can someone tell me what 17 plus 26 is | 17+26 | 43
quick q: 45*12 | 45*12 | 540
whats the square root of 225 again | sqrt(225) | 15
ok so whats 144 divided by 12 please and thanks | 144/12 | 12
what's the date tomorrow | calendar day today(2026-05-19) | 2026-05-19
seven times eight minus six | 7*8-6 | 50
what's two hundred and fifty divided by five plus three | 250/5+3 | 53
what is a 20% increase on 50 | 50+20% | 60
a 10 percent decrease from 90 | 90-10% | 81
what is 50 after a 20% discount | 50-20% | 40
price of 80 after 25% discount | 80-25% | 60
"""

SPANISH = """
cuánto es el 15 por ciento de 80 | 15% of 80 | 12
¿qué porcentaje de 80 es 20? | percentof(20;80) | 25
20% de descuento en 80 | 80-20% | 64
promedio de 4, 8 y 15 | average(4;8;15) | 9
multiplica 25 por 4 | 25*4 | 100
divide 100 entre 8 | 100/8 | 12.5
suma 12 y 30 | 12+30 | 42
resta 5 de 12 | 12-5 | 7
mil más quinientos | 1000+500 | 1500
cinco millas en kilómetros | 5 mile to kilometer | 8.04672
cuántos segundos hay en una hora | 1 hour to second | 3600
cuántos días hay en un año | number of days in a year | 365
cuántos días faltan para el 25 de diciembre | days from today(2026-05-18) to today(2026-12-25) | 221
qué día es hoy | date of today(2026-05-18) | 2026-05-18
"""

GERMAN = """
wie viel Prozent von 80 sind 20 | percentof(20;80) | 25
Durchschnitt von 4, 8 und 15 | average(4;8;15) | 9
multipliziere 25 mit 4 | 25*4 | 100
zweitausend plus fünf | 2000+5 | 2005
20% Rabatt auf 80 | 80-20% | 64
fünf Meilen in Kilometer | 5 mile to kilometer | 8.04672
wie viele Sekunden hat ein Tag | 1 day to second | 86400
wie viel sind 10 Meilen in Kilometern | 10 mile to kilometer | 16.09344
100 Fahrenheit in Celsius umrechnen | 100 degree Fahrenheit to degree Celsius | 37.7777777777778
wie viele Tage bis zum 25. Dezember | days from today(2026-05-18) to today(2026-12-25) | 221
welcher Tag ist heute? | date of today(2026-05-18) | 2026-05-18
"""

FRENCH = """
moyenne de 4, 8 et 15 | average(4;8;15) | 9
20% de réduction sur 80 | 80-20% | 64
quel pourcentage de 80 est 20 | percentof(20;80) | 25
deux mille plus trois cents | 2000+300 | 2300
combien de jours dans une année | number of days in a year | 365
quel jour sommes-nous ? | date of today(2026-05-18) | 2026-05-18
"""

ITALIAN_AND_PORTUGUESE = """
quanto fa 7 per 8 | 7*8 | 56
quanto è 15% di 200 | 15% of 200 | 30
quanto fa centoventi diviso quattro | 120/4 | 30
duemila più cinque | 2000+5 | 2005
radice quadrata di 144 | sqrt(144) | 12
media di 4, 8 e 15 | average(4;8;15) | 9
quanti metri ci sono in un chilometro | 1 kilometer to meter | 1000
quanti secondi ci sono in un'ora | 1 hour to second | 3600
converti 10 pollici in cm | 10 inch to centimeter | 25.4
quanto é 5 vezes 8 | 5*8 | 40
vinte e cinco vezes quatro | 25*4 | 100
mil e duzentos mais trezentos | 1200+300 | 1500
qual é a raiz quadrada de 81 | sqrt(81) | 9
20% de desconto em 80 | 80-20% | 64
quantos segundos tem uma hora | 1 hour to second | 3600
10 km em milhas | 10 kilometer to mile | 6.21371192237334
"""

RUSSIAN = """
сколько будет 12 умножить на 5 | 12*5 | 60
сколько будет 15 процентов от 200 | 15% of 200 | 30
чему равен корень из 144 | sqrt(144) | 12
двадцать пять умножить на четыре | 25*4 | 100
двести пятьдесят разделить на пять | 250/5 | 50
корень из девяти | sqrt(9) | 3
2 в степени 10 | 2^10 | 1024
5 в квадрате | 5^2 | 25
вычти 5 из 12 | 12-5 | 7
среднее 4, 8 и 15 | average(4;8;15) | 9
сколько километров в миле | 1 mile to kilometer | 1.609344
переведи 10 миль в километры | 10 mile to kilometer | 16.09344
сколько дней до нового года | days from today(2026-05-18) to today(2027-01-01) | 228
какое сегодня число | date of today(2026-05-18) | 2026-05-18
"""

EASTERN = """
3たす4は？ | 3+4 | 7
5 x 6 は | 5*6 | 30
3 plus 4 は | 3+4 | 7
100の15%は？ | 15% of 100 | 15
5の2乗は？ | 5^2 | 25
16の平方根は？ | sqrt(16) | 4
10から3を引くといくつ？ | 10-3 | 7
10を2で割ると | 10/2 | 5
3に4を足すといくつになりますか | 3+4 | 7
3と4の積は | 3*4 | 12
1000の3割引は | 1000-30% | 700
1マイルは何キロ | 1 mile to kilometer | 1.609344
10キロは何ポンド？ | 10 kilogram to pound | 22.0462262184878
1時間は何秒ですか | 1 hour to second | 3600
華氏100度は摂氏何度ですか | 100 degree Fahrenheit to degree Celsius | 37.7777777777778
今日は何曜日ですか | date of today(2026-05-18) | 2026-05-18
三加四等于多少 | 3+4 | 7
二十五乘以四 | 25*4 | 100
一百二十三加四百五十六 | 123+456 | 579
三分之一加四分之一 | 1/3+1/4 | 0.583333333333333
80的百分之十五是多少 | 15% of 80 | 12
2的10次方 | 2^10 | 1024
5的阶乘是多少 | 5! | 120
三点五乘以二 | 3.5*2 | 7
3万除以2 | 30000/2 | 15000
请问 12 乘 12 等于几？ | 12*12 | 144
一英里等于多少公里 | 1 mile to kilometer | 1.609344
把5英里换算成公里 | 5 mile to kilometer | 8.04672
今天星期几？ | date of today(2026-05-18) | 2026-05-18
"""

ROWS = [
    tuple(part.strip() for part in line.split(" | "))
    for table in (CHAT, SPANISH, GERMAN, FRENCH, ITALIAN_AND_PORTUGUESE, RUSSIAN, EASTERN)
    for line in table.strip().splitlines()
]

NOT_MATH = """
2たす2は4です|三加四等于七|千と千尋の神隠し|百年孤独|三国志|四川|二人|半分|5分|1日|七つの大罪|100ドルは何円|一百个人
5 на 6|10 из 10|один из нас|сто лет одиночества|3 в 1|сколько стоит биткоин|семь чудес света
vinte e cinco|uno per tutti|quanto costa una casa|in 5 minuti|un po' di 3|cento giorni|cem anos de solidão
24 heures du mans|les 400 coups|deux ou trois choses|cien años de soledad|el siglo de oro|99 Luftballons
der dritte Mann|die zwölf Geschworenen|5 yen to dollars|1と2を+1と2を+|hey what is up|ok so what is this
any idea what this is|yo|please|quick question|lol what|what is the plan for 2 people|tell me 5 facts
3 et 4|8 mile|100 metri piani|two plus|yo whats 9|do u know 5 people
""".replace("\n", "|").split("|")


@pytest.mark.parametrize(("text", "expr", "answer"), ROWS)
def test_is_read_to_the_canonical_expression_and_computed(text: str, expr: str, answer: str) -> None:
    claim = MathCalculator(ManualClock(NOW)).recognise(text, NOW)
    assert claim is not None
    assert (claim.slots["expr"], claim.slots["answer"]) == (expr, answer)
    again = understand(f"={expr}", TODAY)
    assert again is not None
    assert (again.expr, again.answer) == (expr, answer)


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("wie viele Meter sind 3,5 Kilometer", "3.5 kilometer to meter"),
        ("3,5 km en mètres", "3.5 kilometer to meter"),
        ("cuántos metros son 2,5 kilómetros", "2.5 kilometer to meter"),
        ("quanti metri sono 1,5 chilometri", "1.5 kilometer to meter"),
        ("сколько метров в 2,5 километрах", "2.5 kilometer to meter"),
        ("2,5 kg in g", "2.5 kilogram to gram"),
        ("convert 12,75 km to m", "12.75 kilometer to meter"),
        ("0,125 l in ml", "0.125 liter to milliliter"),
        ("1.234,5 kg in g", "1234.5 kilogram to gram"),
        ("-1,5 kg in g", "-1.5 kilogram to gram"),
        ("3,500 km in m", "3500 kilometer to meter"),
        ("1,234,567 mm in km", "1234567 millimeter to kilometer"),
        ("5 feet, 2 inches in cm", "31/6 foot to centimeter"),
    ],
)
def test_a_comma_before_one_or_two_digits_of_an_amount_is_decimal(text: str, expr: str) -> None:
    solution = understand(text, TODAY)
    assert solution is not None
    assert solution.expr == expr


@pytest.mark.parametrize("text", [text for text in NOT_MATH if text])
def test_what_only_looks_like_a_sum_is_left_alone(text: str) -> None:
    assert understand(text, TODAY) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("十", 10), ("二十五", 25), ("一百零三", 103), ("一万二千", 12_000), ("三億", 300_000_000),
        ("二〇二六", 2026), ("两千", 2_000), ("千二百", 1_200), ("十百", None), ("一万万", None),
    ],
)  # fmt: skip
def test_han_numerals(text: str, value: int | None) -> None:
    assert scripts.numeral(text) == value


@pytest.mark.parametrize("number", [7, 19, 21, 28, 45, 70, 99])
def test_the_same_sum_in_the_words_of_every_language_has_one_key(number: int) -> None:
    for language in LANGUAGES:
        word = next(phrase for phrase, value in language.small.items() if value == number)
        solution = understand(f"{word} + 1", TODAY)
        assert solution is not None, word
        assert solution.expr == f"{number}+1"


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "text",
    [
        "multiplica " + "1 por " * 18 + "1", "suma " + "y " * 55, "promedio de " + "1, " * 35, "一" * 110,
        "の" * 110, "1の" * 55, "(1と" * 30, "1と2の和の" * 15, "百分之" * 36, "度" * 110, "キロ" * 55,
        "vinte e " * 14, "двадцать " * 12, "сколько " * 14, "un'" * 36, "plz " * 4_000 + "2+2",
        "yo " * 30 + "2", "a 5% increase on " * 14,
        "9**9**9を計算して", "九的九次方的九次方的九次方", "10^10^10は？",
        "calculate " + "(" * 65_000, "1% off " * 30, "price of " * 26, "second " * 22, "in " * 39 + "5",
    ],
    ids=lambda text: text[:16],
)  # fmt: skip
def test_hostile_texts_of_the_new_tables_are_looked_at_briefly(text: str) -> None:
    # The timeout is the check.
    solution = understand(text, TODAY)
    assert solution is None or solution.answer is None or len(solution.answer) < 7_000


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("ten to the minus six", "0.000001"), ("10 to the -6", "0.000001"),
        ("two to the minus three", "0.125"),
        ("wurzel aus 2 auf drei nachkommastellen", "1.414"), ("das quadrat von -4", "16"),
        ("racine carrée de 2 à trois décimales", "1.414"), ("le cube de -2", "-8"),
        ("raiz cuadrada de 2 con tres decimales", "1.414"), ("el cubo de -2", "-8"),
        ("负三乘以负五", "15"), ("三十五足す七", "42"), ("百二十割る四", "30"), ("8かける7は？", "56"),
        ("一千减三百", "700"), ("十二加三十等于多少", "42"), ("negative five times negative three", "15"),
        ("the cube of -2", "-8"), ("2 to the power of minus 3", "0.125"), ("-3²", "-9"),
    ],
)  # fmt: skip
def test_signs_and_powers_in_words(text: str, answer: str) -> None:
    solution = understand(text, TODAY)
    assert solution is not None
    assert solution.answer == answer


def test_a_signed_even_power_says_how_it_was_read() -> None:
    for text in ("minus two squared", "-2^2", "minus zwei zum quadrat", "moins deux au carré"):
        solution = understand(text, TODAY)
        assert solution is not None
        assert solution.sentence == "-2^2 = -4 (the power comes before the sign; (-2)^2 would be 4)."
    for text in ("-2^3", "(-2)^2", "3 - 2^2"):
        solution = understand(text, TODAY)
        assert solution is not None
        assert "would be" not in solution.sentence

"""The words of arithmetic per language, as data: adding a language adds one ``Language`` to ``LANGUAGES``.

All words are written as they look after ``fold``: lower case, marks removed (``mas`` for "más"). Pure.

Rules for ``Language``:
- ``polite`` prefixes say nothing, ``asking`` prefixes ask for a value, ``explicit`` ones ask for a
calculation
  ("calculate"), which lets readings through that would otherwise be an idiom ("24/7");
- ``operators`` maps phrases to the token they stand for; ``functions`` maps phrases to function names;
- ``small`` holds every phrase for 0 to 99, ``hundreds`` fixed hundreds, ``hundred`` the multiplying word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field


def word_list(words: str) -> list[str]:
    """The words of a table row written as one text."""
    return words.split()


def fold(text: str) -> str:
    """``text`` without marks on letters ("más" gives "mas"); case and compatibility forms (10²) are kept."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(ch for ch in decomposed if unicodedata.category(ch) != "Mn")


@dataclass(frozen=True, slots=True)
class Language:
    """One language's tables; see the module's rules."""

    code: str
    polite: tuple[str, ...]
    asking: tuple[str, ...]
    explicit: tuple[str, ...]
    suffixes: tuple[str, ...]
    operators: Mapping[str, str]
    functions: Mapping[str, str]
    small: Mapping[str, int]
    hundreds: Mapping[str, int]
    hundred: frozenset[str]
    scales: Mapping[str, int]
    joiners: frozenset[str]
    points: frozenset[str]
    articles: frozenset[str]
    parts: Mapping[str, int]
    """Names of one part of a whole: third -> 3."""
    half_and: tuple[str, ...] = ()
    decimal_comma: bool = False
    phrases: Mapping[tuple[str, ...], tuple[str, str]] = field(init=False, default_factory=dict)
    """Operators and functions by their words: (("divided", "by"): ("op", "/"))."""
    numbers: Mapping[tuple[str, ...], int] = field(init=False, default_factory=dict)
    phrases_from: Mapping[str, tuple[tuple[str, ...], ...]] = field(init=False, default_factory=dict)
    """The phrases by their first word, longest first."""
    number_starts: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        phrases = {tuple(key.split()): ("op", value) for key, value in self.operators.items()}
        phrases |= {tuple(key.split()): ("func", value) for key, value in self.functions.items()}
        object.__setattr__(self, "phrases", phrases)
        object.__setattr__(self, "numbers", {tuple(k.split()): v for k, v in self.small.items()})
        by_first: dict[str, tuple[tuple[str, ...], ...]] = {}
        for key in sorted(phrases, key=len, reverse=True):
            by_first[key[0]] = (*by_first.get(key[0], ()), key)
        object.__setattr__(self, "phrases_from", by_first)
        starts = {key[0] for key in self.numbers}
        starts.update(self.hundreds, self.hundred, self.scales, self.parts, self.articles)
        object.__setattr__(self, "number_starts", frozenset(starts))

    def knows(self, word: str) -> bool:
        """Whether ``word`` can start or continue a number here."""
        return (
            any(word == part for key in self.numbers for part in key)
            or word in self.hundreds
            or word in self.hundred
            or word in self.scales
            or word in self.parts
        )


# --- English ----------------------------------------------------------------------------------------

_EN_UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_EN_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def _english_small() -> dict[str, int]:
    small = {word: value for value, word in enumerate(_EN_UNITS)}
    for index, word in enumerate(_EN_TENS):
        ten = 20 + 10 * index
        small[word] = ten
        small |= {f"{word} {_EN_UNITS[unit]}": ten + unit for unit in range(1, 10)}
    small["fourty"] = 40  # a common misspelling
    return small


EN_ORDINALS: Mapping[str, int] = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14,
    "fifteenth": 15, "sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19,
    "twentieth": 20, "hundredth": 100,
}  # fmt: skip

_EN_PARTS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4} | {
    word + plural: value for word, value in EN_ORDINALS.items() if value > 2 for plural in ("", "s")
}

_SCALES_EN = {
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "quadrillion": 10**15,
}

_FUNCTIONS_EVERYWHERE = {
    "sqrt": "sqrt", "cbrt": "cbrt", "root": "root", "abs": "abs", "ln": "ln", "log": "log", "exp": "exp",
    "sin": "sin", "cos": "cos", "tan": "tan", "floor": "floor", "ceil": "ceil", "round": "round",
    "min": "min", "max": "max", "gcd": "gcd", "lcm": "lcm", "factorial": "factorial", "sum": "sum",
    "average": "average", "median": "median", "product": "product", "deg": "deg", "sumrange": "sumrange",
    "percentof": "percentof", "percentchange": "percentchange", "sigfig": "sigfig", "base": "base",
    "roman": "roman", "asfraction": "asfraction", "asdecimal": "asdecimal", "aspercent": "aspercent",
    "isprime": "isprime", "iseven": "iseven", "isodd": "isodd", "isdivisible": "isdivisible",
    "isgreater": "isgreater", "isless": "isless", "isequal": "isequal",
}  # fmt: skip
"""Names that ``parser.show`` writes, so that canonical text can be read back in every language."""

_OPERATORS_EVERYWHERE = {"mod": "mod", "of": "of", "x": "x"}

ENGLISH = Language(
    code="en",
    polite=(
        "please", "hey", "hi", "hello", "ok", "okay", "so", "well", "um", "now", "quick question", "quick",
        "can you", "could you", "would you", "will you", "can u", "pls", "i need to know", "i need",
        "i want to know",
        "i'd like to know", "i would like to know", "i want", "do you know", "tell me", "give me",
        "show me", "help me",
        "kindly", "just", "let me know", "may i know", "can i know", "the", "math question", "question",
        "exactly", "approximately", "roughly", "about", "me", "you", "to", "and", "answer", "say",
        "quick maths", "quick math", "math problem", "math", "maths", "hey there", "hi there", "hello there",
        "good morning", "good evening", "good afternoon", "sorry", "excuse me", "thanks", "thank you",
        "do you happen to know", "i was wondering", "i wonder", "wondering", "dear assistant", "assistant",
    ),
    asking=(
        "what is", "what's", "whats", "what are", "what're", "what was", "what would be", "what will be",
        "what",
        "wat is", "wat's", "wats", "how much is", "how much are", "how much's", "what does", "what do",
        "how much does",
        "how much do",
        "how much", "what do you get if you", "what do you get when you", "what do i get if i",
        "what do i get when i", "what happens if you", "what happens when i", "if i", "if you", "if we",
        "the answer to", "answer to", "the answer of", "the result of", "result of", "the value of",
        "value of",
        "the outcome of", "the solution to", "find", "get", "do the math", "math", "determine", "equals",
        "what would", "what will", "what number is", "how tall is", "how long is", "how heavy is",
        "how hot is", "how cold is", "how fast is", "which number is", "does", "how big is",
    ),
    explicit=(
        "calculate", "compute", "evaluate", "work out", "figure out", "solve", "calc", "do the calculation",
        "calculate the value of", "add up", "=", "run the numbers on", "calculation",
    ),
    suffixes=(
        "please", "thanks", "thank you", "thx", "equal to", "equal", "equals", "is equal to what",
        "equals what",
        "equal what", "is what", "is what number", "is how much", "is", "are", "be", "make", "makes", "give",
        "give you", "come to", "for me", "exactly", "approximately", "roughly", "in total", "altogether",
        "right now",
        "if you can", "quickly", "pls", "plz", "work out to", "add up to", "amount to", "come out to",
        "cheers", "many thanks", "thanks a lot", "thank you very much", "thanks in advance", "ty", "buddy",
        "mate", "for me please", "each", "apiece", "how much each", "how much is that", "how much does",
        "how much is that each", "how much does each pay", "how much does each person pay", "then",
        "how much does each get", "how much does each owe", "how much does everyone pay",
        "how much do we each pay", "what do i get", "what do you get", "what is it", "what's that",
        "what is that",
    ),
    operators=_OPERATORS_EVERYWHERE | {
        "plus": "+", "added to": "+", "minus": "-", "negative": "neg", "less": "-", "take away": "-",
        "times": "*", "multiplied by": "*", "multiplied with": "*", "multiply by": "*",
        "divided by": "/", "divide by": "/", "over": "/", "into": "into", "goes into": "into",
        "modulo": "mod", "modulus": "mod", "to the power of": "^", "to the power": "^",
        "raised to the power of": "^", "raised to the power": "^", "raised to": "^", "power": "^",
        "squared": "squared", "cubed": "cubed", "factorial": "!", "percent": "%", "per cent": "%",
        "percents": "%", "off": "off", "off of": "off", "degrees": "deg", "degree": "deg",
        "open parenthesis": "(", "close parenthesis": ")", "open bracket": "(", "close bracket": ")",
    },
    functions=_FUNCTIONS_EVERYWHERE | {
        "square root": "sqrt", "squareroot": "sqrt", "sq root": "sqrt", "cube root": "cbrt",
        "cubic root": "cbrt",
        "natural log": "ln", "natural logarithm": "ln", "logarithm": "log", "absolute value": "abs",
        "sine": "sin", "cosine": "cos", "tangent": "tan", "factorial": "factorial", "square": "square",
        "cube": "cube", "double": "double", "twice": "twice", "triple": "triple", "thrice": "thrice",
        "mean": "average", "avg": "average", "ceiling": "ceil", "reciprocal": "reciprocal",
    },
    small=_english_small(),
    hundreds={},
    hundred=frozenset({"hundred", "hundreds"}),
    scales=_SCALES_EN | {"dozen": 12, "dozens": 12} | {f"{word}s": value for word,
    value in _SCALES_EN.items()},
    joiners=frozenset({"and"}),
    points=frozenset({"point"}),
    articles=frozenset({"a", "an"}),
    parts=_EN_PARTS,
    half_and=("and",),
)  # fmt: skip

# --- Spanish ----------------------------------------------------------------------------------------

_ES_30 = [
    "cero",
    "uno",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "seis",
    "siete",
    "ocho",
    "nueve",
    "diez",
    "once",
    "doce",
    "trece",
    "catorce",
    "quince",
    "dieciseis",
    "diecisiete",
    "dieciocho",
    "diecinueve",
    "veinte",
    "veintiuno",
    "veintidos",
    "veintitres",
    "veinticuatro",
    "veinticinco",
    "veintiseis",
    "veintisiete",
    "veintiocho",
    "veintinueve",
]
_ES_TENS = ["treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"]


def _spanish_small() -> dict[str, int]:
    small = {word: value for value, word in enumerate(_ES_30)} | {"un": 1, "una": 1}
    for index, word in enumerate(_ES_TENS):
        ten = 30 + 10 * index
        small[word] = ten
        small |= {f"{word} y {_ES_30[unit]}": ten + unit for unit in range(1, 10)}
    return small


SPANISH = Language(
    code="es",
    polite=("por favor", "hola", "puedes decirme", "puedes", "podrias", "dime", "el", "la", "oye", "decirme"),
    asking=(
        "cuanto es", "cuanto son", "cuantos son", "cual es", "cuanto da", "cuanto vale", "cuanto suman",
        "que es",
        "cuanto hace", "el resultado de", "resultado de", "cuanto seria",
    ),
    explicit=("calcula", "calcular", "calcule", "resuelve", "computa"),
    suffixes=("por favor", "gracias", "es igual a", "es", "igual a", "da"),
    operators=_OPERATORS_EVERYWHERE | {
        "mas": "+", "menos": "-", "por": "*", "multiplicado por": "*", "veces": "*", "entre": "/",
        "dividido por": "/", "dividido entre": "/", "sobre": "/", "elevado a": "^", "elevado a la": "^",
        "al cuadrado": "squared", "al cubo": "cubed", "por ciento": "%", "porciento": "%", "de": "of",
        "factorial": "!", "modulo": "mod",
    },
    functions=_FUNCTIONS_EVERYWHERE | {
        "raiz cuadrada": "sqrt", "raiz cubica": "cbrt", "factorial": "factorial", "el doble": "double",
        "doble": "double", "triple": "triple",
    },
    small=_spanish_small(),
    hundreds={
        "cien": 100, "ciento": 100, "doscientos": 200, "trescientos": 300, "cuatrocientos": 400,
        "quinientos": 500,
        "seiscientos": 600, "setecientos": 700, "ochocientos": 800, "novecientos": 900,
    },
    hundred=frozenset(),
    scales={"mil": 10**3, "millon": 10**6, "millones": 10**6},
    joiners=frozenset(),
    points=frozenset({"coma", "punto"}),
    articles=frozenset({"un", "una"}),
    parts={"mitad": 2, "medio": 2, "tercio": 3, "tercios": 3, "cuarto": 4, "cuartos": 4, "quinto": 5,
    "quintos": 5},
    decimal_comma=True,
)  # fmt: skip

# --- German -----------------------------------------------------------------------------------------

_DE_UNITS = [
    "null",
    "eins",
    "zwei",
    "drei",
    "vier",
    "funf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwolf",
    "dreizehn",
    "vierzehn",
    "funfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
]
_DE_TENS = ["zwanzig", "dreissig", "vierzig", "funfzig", "sechzig", "siebzig", "achtzig", "neunzig"]


def _german_small() -> dict[str, int]:
    small = {word: value for value, word in enumerate(_DE_UNITS)} | {"ein": 1, "eine": 1}
    for index, word in enumerate(_DE_TENS):
        ten = 20 + 10 * index
        small[word] = ten
        for unit in range(1, 10):
            small[("ein" if unit == 1 else _DE_UNITS[unit]) + "und" + word] = ten + unit
    # "ü" typed as "ue", "ö" as "oe"
    return small | {w.replace("funf", "fuenf").replace("zwolf", "zwoelf"): v for w, v in small.items()}


def _german_hundreds() -> dict[str, int]:
    hundreds = {"einhundert": 100}
    for unit in range(2, 10):
        hundreds[_DE_UNITS[unit] + "hundert"] = unit * 100
    small = _german_small()
    joined = {
        f"{h}{w}": hv + v for h, hv in ({"hundert": 100} | hundreds).items() for w, v in small.items() if v
    }
    return hundreds | joined


GERMAN = Language(
    code="de",
    polite=("bitte", "hallo", "kannst du", "sag mir", "sage mir", "die", "der", "das", "mir"),
    asking=(
        "was ist", "was sind", "was ergibt", "was macht", "was gibt", "wie viel ist", "wieviel ist",
        "wie viel sind", "wieviel sind", "wie viel ergibt", "wieviel ergibt", "wie viel macht",
        "wieviel macht",
        "das ergebnis von",
    ),
    explicit=("berechne", "rechne", "berechnen", "rechne aus"),
    suffixes=("bitte", "danke", "ist gleich", "gleich", "ergibt", "aus", "berechnen"),
    operators=_OPERATORS_EVERYWHERE | {
        "plus": "+", "und": "+", "minus": "-", "weniger": "-", "mal": "*", "multipliziert mit": "*",
        "geteilt durch": "/", "dividiert durch": "/", "durch": "/", "hoch": "^", "zum quadrat": "squared",
        "im quadrat": "squared", "prozent": "%", "von": "of", "aus": "of", "modulo": "mod", "fakultat": "!",
    },
    functions=_FUNCTIONS_EVERYWHERE | {
        "quadratwurzel": "sqrt", "wurzel": "sqrt", "kubikwurzel": "cbrt", "dritte wurzel": "cbrt",
        "fakultat": "factorial",
    },
    small=_german_small(),
    hundreds=_german_hundreds(),
    hundred=frozenset({"hundert"}),
    scales={"tausend": 10**3, "million": 10**6, "millionen": 10**6, "milliarde": 10**9, "milliarden": 10**9,
            "dutzend": 12},
    joiners=frozenset(),
    points=frozenset({"komma"}),
    articles=frozenset({"ein", "eine"}),
    parts={"halfte": 2, "drittel": 3, "viertel": 4, "funftel": 5, "zehntel": 10},
    decimal_comma=True,
)  # fmt: skip

# --- French -----------------------------------------------------------------------------------------

_FR_UNITS = (
    (
        "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
        "dix_sept dix_huit dix_neuf"
    )
    .replace("_", "-")
    .split()
)
_FR_TENS = {20: "vingt", 30: "trente", 40: "quarante", 50: "cinquante", 60: "soixante"}


def _french_small() -> dict[str, int]:
    unit = [word.replace("-", " ") for word in _FR_UNITS]
    small = {word: value for value, word in enumerate(unit)} | {"une": 1}
    for ten, word in _FR_TENS.items():
        small[word] = ten
        small[f"{word} et un"] = ten + 1
        small |= {f"{word} {unit[n]}": ten + n for n in range(2, 10)}
    small |= {f"soixante {unit[n]}": 60 + n for n in range(10, 20)} | {"soixante et onze": 71}
    small |= {"quatre vingts": 80, "quatre vingt": 80}
    small |= {f"quatre vingt {unit[n]}": 80 + n for n in range(1, 20)}
    return small | {"septante": 70, "huitante": 80, "nonante": 90}


FRENCH = Language(
    code="fr",
    polite=(
        "s'il te plait", "s'il vous plait", "bonjour", "salut", "peux tu", "peux tu me dire", "pouvez vous",
        "dis moi", "dites moi", "le", "la", "me dire",
    ),
    asking=(
        "combien font", "combien fait", "combien ca fait", "combien vaut", "combien valent", "combien est",
        "c'est combien", "ca fait combien", "quel est le resultat de", "quel est", "quelle est", "que vaut",
        "que font",
        "le resultat de", "qu'est ce que",
    ),
    explicit=("calcule", "calculer", "calculez", "resous"),
    suffixes=("s'il te plait", "s'il vous plait", "merci", "ca fait combien", "egal", "egale", "font combien",
              "fait combien"),
    operators=_OPERATORS_EVERYWHERE | {
        "plus": "+", "moins": "-", "fois": "*", "multiplie par": "*", "multiplies par": "*",
        "divise par": "/",
        "divises par": "/", "sur": "/", "puissance": "^", "a la puissance": "^", "au carre": "squared",
        "au cube": "cubed", "pour cent": "%", "pourcent": "%", "de": "of", "modulo": "mod",
        "factorielle": "!",
    },
    functions=_FUNCTIONS_EVERYWHERE | {
        "racine carree": "sqrt", "racine cubique": "cbrt", "factorielle": "factorial", "le double": "double",
        "double": "double", "triple": "triple",
    },
    small=_french_small(),
    hundreds={},
    hundred=frozenset({"cent", "cents"}),
    scales={"mille": 10**3, "million": 10**6, "millions": 10**6, "milliard": 10**9, "milliards": 10**9,
            "douzaine": 12},
    joiners=frozenset(),
    points=frozenset({"virgule"}),
    articles=frozenset({"un", "une"}),
    parts={"moitie": 2, "demi": 2, "tiers": 3, "quart": 4, "quarts": 4, "cinquieme": 5, "cinquiemes": 5},
    decimal_comma=True,
)  # fmt: skip

LANGUAGES: tuple[Language, ...] = (ENGLISH, SPANISH, GERMAN, FRENCH)

# --- what only looks like arithmetic -----------------------------------------------------------------

IDIOMS: frozenset[str] = frozenset({
    "24/7", "9/11", "7/11", "7-11", "9-11", "7/7", "50/50", "50-50", "20/20", "20-20", "4/20", "1/6", "26/11",
    "24/7/365", "24-7", "9-1-1", "80/20", "9-5", "1-1", "4x4", "1920x1080", "1280x720", "3840x2160",
    "2560x1440", "1366x768", "640x480", "100x", "10x",
})  # fmt: skip
"""Written without spaces these are names first; they are computed only when a calculation is asked for."""

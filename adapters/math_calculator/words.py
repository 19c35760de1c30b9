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
    rewrites: tuple[tuple[str, str], ...] = ()
    """Orders of words that are no infix ("multiplica 3 por 4"): a pattern of all the text, its infix form."""
    lists: Mapping[str, str] = field(default_factory=dict)
    """Names of functions of a list ("promedio") by their canonical names."""
    phrases: Mapping[tuple[str, ...], tuple[str, str]] = field(init=False, default_factory=dict)
    """Operators and functions by their words: (("divided", "by"): ("op", "/"))."""
    numbers: Mapping[tuple[str, ...], int] = field(init=False, default_factory=dict)
    phrases_from: Mapping[str, tuple[tuple[str, ...], ...]] = field(init=False, default_factory=dict)
    """The phrases by their first word, longest first."""
    number_starts: frozenset[str] = field(init=False, default=frozenset())
    number_words: frozenset[str] = field(init=False, default=frozenset())
    """Every word that a number is made of, apart from articles."""

    def __post_init__(self) -> None:
        phrases = {tuple(key.split()): ("op", value) for key, value in self.operators.items()}
        phrases |= {tuple(key.split()): ("func", value) for key, value in self.functions.items()}
        object.__setattr__(self, "phrases", phrases)
        object.__setattr__(self, "numbers", {tuple(k.split()): v for k, v in self.small.items()})
        by_first: dict[str, tuple[tuple[str, ...], ...]] = {}
        for key in sorted(phrases, key=len, reverse=True):
            by_first[key[0]] = (*by_first.get(key[0], ()), key)
        object.__setattr__(self, "phrases_from", by_first)
        words = {word for key in self.numbers for word in key}
        words.update(self.hundreds, self.hundred, self.scales, self.parts)
        object.__setattr__(self, "number_words", frozenset(words))
        starts = {key[0] for key in self.numbers}
        starts.update(self.hundreds, self.hundred, self.scales, self.parts, self.articles)
        object.__setattr__(self, "number_starts", frozenset(starts))

    def knows(self, word: str) -> bool:
        """Whether ``word`` can start or continue a number here."""
        return word in self.number_words


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
        "plz", "yo", "do you happen to know", "i was wondering", "i wonder", "wondering", "dear assistant",
        "assistant",
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
    rewrites=(
        (r"(.+) (?:con|a) (\w+) (?:decimales|cifras decimales)", r"round(\1;\2)"),
        (r"(?:el )?cuadrado de (.+)", r"(\1)^2"),
        (r"(?:el )?cubo de (.+)", r"(\1)^3"),
        (r"(?:multiplica|multiplicar|multiplique) (.+) por (.+)", r"\1 por \2"),
        (r"(?:divide|dividir|divida) (.+) (?:entre|por) (.+)", r"\1 entre \2"),
        (r"(?:suma|sumar|sume) (.+) (?:y|mas|con|a) (.+)", r"\1 mas \2"),
        (r"(?:resta|restar|reste|quita) (.+) (?:de|a) (.+)", r"\2 menos \1"),
        (r"que (?:porcentaje|por ciento|%) de (.+) (?:es|son) (.+)", r"percentof(\2;\1)"),
        (r"(.+) (?:es|son) que (?:porcentaje|por ciento) de (.+)", r"percentof(\1;\2)"),
        (r"(?:un )?(.+(?:%|por ciento)) de descuento (?:en|sobre|de|a) (.+)", r"\2 - \1"),
        (r"(.+) con (?:un )?(.+(?:%|por ciento)) de descuento", r"\1 - \2"),
    ),
    lists={"promedio": "average", "media": "average", "suma": "sum", "producto": "product",
           "mediana": "median",
           "maximo": "max", "minimo": "min"},
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
    hundreds |= joined
    return hundreds | {
        f"{w}tausend": v * 1_000 for table in (small, hundreds) for w, v in table.items() if v and w != "eins"
    }


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
    rewrites=(
        (r"(.+) auf (\w+) (?:nachkommastellen|dezimalstellen|stellen)(?: genau| gerundet)?", r"round(\1;\2)"),
        (r"(?:das )?quadrat von (.+)", r"(\1)^2"),
        (r"(?:die )?dritte potenz von (.+)", r"(\1)^3"),
        (r"(?:multipliziere?|multiplizieren) (.+) (?:mit|und) (.+)", r"\1 mal \2"),
        (r"(?:teile?|dividiere?|teilen) (.+) durch (.+)", r"\1 durch \2"),
        (r"(?:addiere?|addieren) (.+) (?:und|mit|zu) (.+)", r"\1 plus \2"),
        (r"(?:subtrahiere?|ziehe?) (.+) von (.+?)(?: ab)?", r"\2 minus \1"),
        (r"(?:wie ?viel )?(?:prozent|%) (?:von )?(.+) (?:sind|ist) (.+)", r"percentof(\2;\1)"),
        (r"wie ?viel (?:prozent|%) (?:sind|ist) (.+) von (.+)", r"percentof(\1;\2)"),
        (r"(.+) (?:sind|ist) wie ?viel (?:prozent|%) von (.+)", r"percentof(\1;\2)"),
        (r"(.+(?:%|prozent)) (?:rabatt|nachlass|skonto) (?:auf|von|bei) (.+)", r"\2 - \1"),
        (r"(.+) (?:abzuglich|mit) (.+(?:%|prozent))(?: rabatt| nachlass)?", r"\1 - \2"),
    ),
    lists={"durchschnitt": "average", "mittelwert": "average", "summe": "sum", "produkt": "product",
           "median": "median", "maximum": "max", "minimum": "min"},
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
    rewrites=(
        (r"(.+) a (\w+) (?:decimales|chiffres apres la virgule)(?: pres)?", r"round(\1;\2)"),
        (r"(?:le )?carre de (.+)", r"(\1)^2"),
        (r"(?:le )?cube de (.+)", r"(\1)^3"),
        (r"(?:multiplie|multiplier|multipliez) (.+) (?:par|et) (.+)", r"\1 fois \2"),
        (r"(?:divise|diviser|divisez) (.+) (?:par|en) (.+)", r"\1 sur \2"),
        (r"(?:additionne|additionner|ajoute|ajouter) (.+) (?:et|a|plus) (.+)", r"\1 plus \2"),
        (r"(?:soustrais|soustraire|enleve|retire) (.+) (?:de|a) (.+)", r"\2 moins \1"),
        (r"quel pourcentage de (.+) (?:est|font|represente|representent) (.+)", r"percentof(\2;\1)"),
        (r"(.+) (?:est|represente|font) quel pourcentage de (.+)", r"percentof(\1;\2)"),
        (r"(?:une )?(.+(?:%|pour cent|pourcent)) de (?:reduction|remise|rabais) sur (.+)", r"\2 - \1"),
        (r"(.+) avec (?:une )?(.+(?:%|pour cent|pourcent)) de (?:reduction|remise|rabais)", r"\1 - \2"),
    ),
    lists={"moyenne": "average", "somme": "sum", "produit": "product", "mediane": "median", "maximum": "max",
           "minimum": "min"},
)  # fmt: skip

# --- Italian ----------------------------------------------------------------------------------------

_IT_20 = word_list(
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici"
    " sedici"
    " diciassette diciotto diciannove"
)
_IT_TENS = word_list("venti trenta quaranta cinquanta sessanta settanta ottanta novanta")


def _italian_small() -> dict[str, int]:
    small = {word: value for value, word in enumerate(_IT_20)} | {"un": 1, "una": 1}
    for index, ten in enumerate(_IT_TENS):
        value = 20 + 10 * index
        small[ten] = value
        for unit in range(1, 10):
            stem = ten[:-1] if unit in (1, 8) else ten  # ventuno, ventotto
            small[stem + _IT_20[unit]] = value + unit
            small[f"{ten} {_IT_20[unit]}"] = value + unit
    return small


def _italian_hundreds() -> dict[str, int]:
    hundreds = {"cento": 100} | {f"{_IT_20[unit]}cento": unit * 100 for unit in range(2, 10)}
    small = {word: value for word, value in _italian_small().items() if " " not in word and value}
    hundreds |= {h + w: hv + v for h, hv in hundreds.items() for w, v in small.items()}
    return hundreds | {
        f"{w}mila": v * 1_000 for table in (small, hundreds) for w, v in table.items() if v > 1
    }


ITALIAN = Language(
    code="it",
    polite=(
        "per favore", "per piacere", "ciao", "salve", "buongiorno", "mi dici", "dimmi", "puoi dirmi",
        "mi sai dire",
        "sai dirmi", "il", "la", "lo", "l'", "ma", "allora", "scusa",
    ),
    asking=(
        "quanto fa", "quanto fanno", "quanto e", "quant'e", "quanto sono", "quanto vale", "quanto da",
        "quanto viene",
        "qual e", "quale e", "cos'e", "che cos'e", "il risultato di", "risultato di", "quanto farebbe",
    ),
    explicit=("calcola", "calcolami", "calcolare", "risolvi", "fai il calcolo"),
    suffixes=("per favore", "grazie", "quanto fa", "fa quanto", "uguale", "e uguale a", "fa", "e"),
    operators=_OPERATORS_EVERYWHERE | {
        "piu": "+", "meno": "-", "per": "*", "volte": "*", "moltiplicato per": "*", "diviso": "/",
        "diviso per": "/", "fratto": "/", "elevato a": "^", "elevato alla": "^", "alla potenza di": "^",
        "al quadrato": "squared", "al cubo": "cubed", "per cento": "%", "percento": "%", "di": "of",
        "del": "of",
        "fattoriale": "!", "modulo": "mod",
    },
    functions=_FUNCTIONS_EVERYWHERE | {
        "radice quadrata": "sqrt", "radice cubica": "cbrt", "radice": "sqrt", "fattoriale": "factorial",
        "il doppio": "double", "doppio": "double", "il triplo": "triple", "triplo": "triple",
    },
    small=_italian_small(),
    hundreds=_italian_hundreds(),
    hundred=frozenset(),
    scales={"mille": 10**3, "mila": 10**3, "milione": 10**6, "milioni": 10**6, "miliardo": 10**9,
            "miliardi": 10**9},
    joiners=frozenset({"e"}),
    points=frozenset({"virgola"}),
    articles=frozenset({"un", "una"}),
    parts={"meta": 2, "mezzo": 2, "terzo": 3, "terzi": 3, "quarto": 4, "quarti": 4, "quinto": 5, "quinti": 5},
    decimal_comma=True,
    rewrites=(
        (r"moltiplica(?:re)? (.+) (?:per|con) (.+)", r"\1 per \2"),
        (r"(?:dividi|dividere) (.+) (?:per|in) (.+)", r"\1 diviso \2"),
        (r"(?:somma|sommare|aggiungi) (.+) (?:e|a|piu|con) (.+)", r"\1 piu \2"),
        (r"(?:sottrai|sottrarre|togli) (.+) (?:da|a) (.+)", r"\2 meno \1"),
        (r"che percentuale (?:di|del) (.+) (?:e|sono) (.+)", r"percentof(\2;\1)"),
        (r"(.+) (?:e|sono) (?:che|quale) percentuale (?:di|del) (.+)", r"percentof(\1;\2)"),
        (r"(?:il )?(.+(?:%|per cento|percento)) di sconto su (.+)", r"\2 - \1"),
        (r"(.+) (?:con|scontato del) (?:il )?(.+(?:%|per cento|percento))(?: di sconto)?", r"\1 - \2"),
    ),
    lists={"media": "average", "somma": "sum", "prodotto": "product", "mediana": "median", "massimo": "max",
           "minimo": "min"},
)  # fmt: skip

# --- Portuguese -------------------------------------------------------------------------------------

_PT_20 = word_list(
    "zero um dois tres quatro cinco seis sete oito nove dez onze doze treze quatorze quinze"
    " dezesseis dezessete"
    " dezoito dezenove"
)
_PT_TENS = word_list("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa")


def _portuguese_small() -> dict[str, int]:
    small = {word: value for value, word in enumerate(_PT_20)} | {"uma": 1, "duas": 2, "catorze": 14}
    small |= {"dezasseis": 16, "dezassete": 17, "dezanove": 19}
    for index, ten in enumerate(_PT_TENS):
        value = 20 + 10 * index
        small[ten] = value
        small |= {f"{ten} e {_PT_20[unit]}": value + unit for unit in range(1, 10)}
        small |= {f"{ten} e uma": value + 1, f"{ten} e duas": value + 2}
    return small


PORTUGUESE = Language(
    code="pt",
    polite=(
        "por favor", "ola", "oi", "bom dia", "me diga", "diga me", "voce pode me dizer", "pode me dizer",
        "me diz",
        "o", "a", "os", "as", "voce sabe", "sabe",
    ),
    asking=(
        "quanto e", "quanto sao", "quantos sao", "quanto da", "quanto fica", "quanto vale", "quanto faz",
        "qual e",
        "quanto seria", "o resultado de", "resultado de", "quanto resulta", "o que e",
    ),
    explicit=("calcula", "calcule", "calcular", "resolva", "resolve", "compute", "faca a conta"),
    suffixes=("por favor", "obrigado", "obrigada", "e igual a", "igual a", "e igual", "da", "e", "quanto e",
              "quanto da"),
    operators=_OPERATORS_EVERYWHERE | {
        "mais": "+", "menos": "-", "vezes": "*", "multiplicado por": "*", "x": "x", "dividido por": "/",
        "dividido": "/", "sobre": "/", "elevado a": "^", "elevado ao": "^", "a potencia de": "^",
        "ao quadrado": "squared", "ao cubo": "cubed", "por cento": "%", "porcento": "%", "de": "of",
        "do": "of",
        "fatorial": "!", "modulo": "mod",
    },
    functions=_FUNCTIONS_EVERYWHERE | {
        "raiz quadrada": "sqrt", "raiz cubica": "cbrt", "raiz": "sqrt", "fatorial": "factorial",
        "o dobro": "double", "dobro": "double", "o triplo": "triple", "triplo": "triple",
    },
    small=_portuguese_small(),
    hundreds={
        "cem": 100, "cento": 100, "duzentos": 200, "duzentas": 200, "trezentos": 300, "quatrocentos": 400,
        "quinhentos": 500, "seiscentos": 600, "setecentos": 700, "oitocentos": 800, "novecentos": 900,
    },
    hundred=frozenset(),
    scales={"mil": 10**3, "milhao": 10**6, "milhoes": 10**6, "bilhao": 10**9, "bilhoes": 10**9},
    joiners=frozenset({"e"}),
    points=frozenset({"virgula"}),
    articles=frozenset({"um", "uma"}),
    parts={"metade": 2, "meio": 2, "terco": 3, "tercos": 3, "quarto": 4, "quartos": 4,
           "quinto": 5, "quintos": 5},
    decimal_comma=True,
    rewrites=(
        (r"(?:multiplica|multiplique|multiplicar) (.+) por (.+)", r"\1 vezes \2"),
        (r"(?:divide|divida|dividir) (.+) por (.+)", r"\1 dividido por \2"),
        (r"(?:soma|some|somar|adicione) (.+) (?:e|com|mais|a) (.+)", r"\1 mais \2"),
        (r"(?:subtraia|subtrai|subtrair|tire) (.+) de (.+)", r"\2 menos \1"),
        (r"(?:que|qual) (?:a )?porcentagem de (.+) (?:e|sao) (.+)", r"percentof(\2;\1)"),
        (r"(.+) (?:e|sao) (?:que|qual|quantos?) (?:porcentagem|por cento) de (.+)", r"percentof(\1;\2)"),
        (r"(.+(?:%|por cento)) de desconto (?:em|sobre|de) (.+)", r"\2 - \1"),
        (r"(.+) com (.+(?:%|por cento)) de desconto", r"\1 - \2"),
    ),
    lists={"media": "average", "soma": "sum", "produto": "product", "mediana": "median", "maximo": "max",
           "minimo": "min"},
)  # fmt: skip

# --- Russian ----------------------------------------------------------------------------------------

_RU_20 = word_list(
    "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать"
    " четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать"
)
_RU_20_OF = word_list(
    "нуля одного двух трех четырех пяти шести семи восьми девяти десяти одиннадцати двенадцати тринадцати"
    " четырнадцати пятнадцати шестнадцати семнадцати восемнадцати девятнадцати"
)
_RU_TENS = word_list("двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто")
_RU_TENS_OF = word_list("двадцати тридцати сорока пятидесяти шестидесяти семидесяти восьмидесяти девяноста")


def _russian_small() -> dict[str, int]:
    small = {fold("нуль"): 0, "одна": 1, "одно": 1, "одну": 1, "две": 2}
    for low, tens in ((_RU_20, _RU_TENS), (_RU_20_OF, _RU_TENS_OF)):
        small |= {word: value for value, word in enumerate(low)}
        for index, ten in enumerate(tens):
            value = 20 + 10 * index
            small[ten] = value
            small |= {f"{ten} {low[unit]}": value + unit for unit in range(1, 10)}
    small |= {f"{ten} одна": 21 + 10 * index for index, ten in enumerate(_RU_TENS)}
    small |= {f"{ten} две": 22 + 10 * index for index, ten in enumerate(_RU_TENS)}
    return small


def _as_folded(table: Mapping[str, str]) -> dict[str, str]:
    return {fold(word): name for word, name in table.items()}


RUSSIAN = Language(
    code="ru",
    polite=tuple(fold(word) for word in (
        "пожалуйста", "привет", "здравствуйте", "скажи", "скажите", "подскажи", "подскажите", "можешь", "а",
        "ну",
        "сколько это", "ответь", "слушай", "мне",
    )),
    asking=tuple(fold(word) for word in (
        "сколько будет", "сколько это будет", "сколько", "чему равно", "чему равен", "чему равна",
        "что будет",
        "каков результат", "какой результат", "результат", "чему будет равно", "что такое", "найди",
        "найдите",
    )),
    explicit=tuple(fold(word) for word in (
        "посчитай", "посчитайте", "вычисли", "вычислите", "рассчитай", "рассчитайте", "сосчитай", "реши",
    )),
    suffixes=tuple(fold(word) for word in (
        "пожалуйста", "спасибо", "это сколько", "равно", "будет", "сколько будет", "равно чему", "чему равно",
    )),
    operators=_OPERATORS_EVERYWHERE | _as_folded({
        "плюс": "+", "прибавить": "+", "добавить": "+", "минус": "-", "отнять": "-", "вычесть": "-",
        "умножить на": "*", "умноженное на": "*", "умножено на": "*", "помножить на": "*",
        "помноженное на": "*",
        "разделить на": "/", "поделить на": "/", "делить на": "/", "деленное на": "/", "разделенное на": "/",
        "делённое на": "/", "поделенное на": "/", "в степени": "^", "в квадрате": "squared",
        "в кубе": "cubed",
        "процент": "%", "процента": "%", "процентов": "%", "от": "of", "из": "of", "факториал": "!", "х": "x",
        "по модулю": "mod",
    }),
    functions=_FUNCTIONS_EVERYWHERE | _as_folded({
        "корень": "sqrt", "квадратный корень": "sqrt", "корень квадратный": "sqrt",
        "кубический корень": "cbrt",
        "корень кубический": "cbrt", "корень третьей степени": "cbrt", "факториал": "factorial",
        "факториал числа": "factorial", "квадрат": "square", "квадрат числа": "square", "куб": "cube",
        "корень числа": "sqrt", "квадратный корень числа": "sqrt", "удвоенное": "double",
    }),
    small=_russian_small(),
    hundreds={
        "сто": 100, "ста": 100, "двести": 200, "двухсот": 200, "триста": 300, "трехсот": 300,
        "четыреста": 400,
        "четырехсот": 400, "пятьсот": 500, "пятисот": 500, "шестьсот": 600, "шестисот": 600, "семьсот": 700,
        "семисот": 700, "восемьсот": 800, "восьмисот": 800, "девятьсот": 900, "девятисот": 900,
    },
    hundred=frozenset(),
    scales={"тысяча": 10**3, "тысячи": 10**3, "тысяч": 10**3, "тысячу": 10**3, "миллион": 10**6,
            "миллиона": 10**6, "миллионов": 10**6, "миллиард": 10**9, "миллиарда": 10**9,
            "миллиардов": 10**9},
    joiners=frozenset(),
    points=frozenset(),
    articles=frozenset(),
    parts={"половина": 2, "половину": 2, "треть": 3, "четверть": 4},
    decimal_comma=True,
    rewrites=tuple((fold(pattern), form) for pattern, form in (
        (r"(?:умножь|умножьте|умножить|перемножь) (.+) (?:на|и) (.+)", r"\1 умножить на \2"),
        (r"(?:раздели|разделите|разделить|подели|поделить) (.+) на (.+)", r"\1 разделить на \2"),
        (r"(?:сложи|сложите|сложить) (.+) (?:и|с|плюс) (.+)", r"\1 плюс \2"),
        (r"(?:прибавь|прибавить|добавь) (.+) к (.+)", r"\2 плюс \1"),
        (r"(?:вычти|вычесть|отними|отнять) (.+) (?:из|от) (.+)", r"\2 минус \1"),
        (r"сколько процентов (?:от )?(.+) составляет (.+)", r"percentof(\2;\1)"),
        (r"сколько процентов составляет (.+) от (.+)", r"percentof(\1;\2)"),
        (r"(.+) со скидкой (.+(?:%|процентов|процента|процент))", r"\1 - \2"),
        (r"скидка (.+(?:%|процентов|процента|процент)) (?:от|на|с) (.+)", r"\2 - \1"),
    )),
    lists=_as_folded({"среднее": "average", "среднее арифметическое": "average", "сумма": "sum",
                      "сумму": "sum",
                      "произведение": "product", "медиана": "median", "максимум": "max", "минимум": "min"}),
)  # fmt: skip

LANGUAGES: tuple[Language, ...] = (ENGLISH, SPANISH, GERMAN, FRENCH, ITALIAN, PORTUGUESE, RUSSIAN)

# --- what only looks like arithmetic -----------------------------------------------------------------

IDIOMS: frozenset[str] = frozenset({
    "24/7", "9/11", "7/11", "7-11", "9-11", "7/7", "50/50", "50-50", "20/20", "20-20", "4/20", "1/6", "26/11",
    "24/7/365", "24-7", "9-1-1", "80/20", "9-5", "1-1", "4x4", "1920x1080", "1280x720", "3840x2160",
    "2560x1440", "1366x768", "640x480", "100x", "10x",
})  # fmt: skip
"""Written without spaces these are names first; they are computed only when a calculation is asked for."""

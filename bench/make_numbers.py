"""Writes ``node/language/data/numbers.json``: numbers in words, 0 to 100, round hundreds, thousands.

    pip install num2words
    python -m bench.make_numbers

What people write besides (feminine forms, other spellings, regional words) stands in ``ALSO``.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

from node.language.numbers import fold

OUT = Path(__file__).resolve().parents[1] / "node" / "language" / "data" / "numbers.json"
VALUES = (*range(101), *range(200, 1_000, 100), *range(1_000, 10_000, 1_000))
CODES = ("en", "es", "de", "fr", "it", "pt", "ru", "nl")
ALSO: dict[str, dict[str, int]] = {
    "en": {"fourty": 40, "hundred": 100, "thousand": 1_000},
    "es": {"un": 1, "una": 1, "veintiun": 21, "veintiuna": 21, "ciento": 100}
    | {f"{word}cientas": 100 * value for value, word in ((2, "dos"), (3, "tres"), (4, "cuatro"), (6, "seis"))}
    | {"quinientas": 500, "setecientas": 700, "ochocientas": 800, "novecientas": 900},
    "de": dict.fromkeys(("ein", "eine", "einen", "einem", "einer"), 1)
    | {"hundert": 100, "tausend": 1_000, "zwo": 2},
    "fr": {"une": 1, "septante": 70, "huitante": 80, "octante": 80, "nonante": 90, "cents": 100},
    "it": {"un": 1, "una": 1, "mila": 1_000},
    "pt": {"um": 1, "uma": 1, "duas": 2, "cento": 100, "quatorze": 14, "dezasseis": 16, "dezassete": 17}
    | {"dezanove": 19, "duzentas": 200, "trezentas": 300, "quinhentas": 500},
    "ru": {"одна": 1, "одно": 1, "одну": 1, "две": 2, "тысяч": 1_000, "тысячи": 1_000, "тысяча": 1_000},
    "nl": {"honderd": 100, "duizend": 1_000},
}
AND = {
    "en": ["and"],
    "es": ["y"],
    "de": ["und"],
    "fr": ["et"],
    "it": ["e"],
    "pt": ["e"],
    "ru": [],
    "nl": ["en"],
}


def main() -> None:
    words = importlib.import_module("num2words").num2words
    data = {}
    for code in CODES:
        known = {fold(words(value, lang=code)): value for value in VALUES}
        data[code] = {"and": AND[code], "words": known | ALSO[code]}
    lines = [
        f"  {json.dumps(code)}: {json.dumps(rows, ensure_ascii=False, sort_keys=False)}"
        for code, rows in data.items()
    ]
    OUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

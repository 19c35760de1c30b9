"""What asks and what tells, language by language: the tables ``node/language/data/*/questions.toml``, as
patterns.

Rules of this file:
- ``question`` holds the one loop that reads the rules; adding words is editing a table.
- Patterns match the canonical sentence of ``reading``: lower case, no accents, contractions written out,
  words joined by one blank, commas kept as words of their own, openers ("hello", "so") already dropped.
- Order matters: the first rule that fits decides; a language's own rules stand before those of ``_SHAPES``.
  The name of a rule is the reason that the caller is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from node.language import tables

_SHAPES = (
    ("tells", "an exclamation", r"^<exclaim>(?!\w)"),
    ("asks", "asks indirectly", r"\b<wonder>\b"),
    ("tells", "tells when something is so", r"^<when> [^,]{1,120} , (?!<question> )\w+"),
    ("asks", "opens with an auxiliary", r"^(?:<before_aux> )?<aux>(?!\w)"),
    ("asks", "asks for something", r"^(?:<before_request> )?<request>(?!\w)"),
    ("asks", "opens with a question word", r"^(?:<preposition> )?<question>(?!\w)"),
    ("asks", "a question inside the sentence", r" , <inside> <after_inside>(?!\w)"),
    ("asks", "a question tag", r" , <tag>$"),
    ("tells", "tells something", r"^<subject> \w+"),
    ("tells", "tells something", r"^<own> (?:\w+ ){0,4}<own_verb>(?!\w)"),
    ("tells", "tells something", r"^(?:(?!<not_subject> )[\w'-]+ ){1,8}<finite> <after_finite>"),
)
"""The rules that languages share, each for those that have its words."""
_OPTIONAL = ("before_aux", "before_request", "preposition", "not_subject")
_SCRIPT_PARTS = ("greets", "asks", "tells", "hurried")


@dataclass(frozen=True, slots=True)
class GateRule:
    """One row: a sentence that ``pattern`` is found in asks, or tells."""

    name: str
    asks: bool
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Language:
    """``common`` words tell which language a text is in. ``social`` words, when a text holds nothing else
    and at least one of ``greetings``, are a greeting, thanks or a reaction. ``openers`` may stand before a
    question. ``remarks`` are whole sentences that only react: thanks for something, comfort, assent.
    ``hurried`` is wording whose answer depends on the day it is asked."""

    code: str
    common: frozenset[str]
    greetings: frozenset[str]
    social: frozenset[str]
    openers: frozenset[str]
    remarks: re.Pattern[str]
    gate: tuple[GateRule, ...]
    hurried: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Script:
    """A writing system read by marks and particles instead of words. What fits neither ``greets``, ``asks``
    nor ``tells`` is a bare topic, which asks as it does in a search box."""

    code: str
    greets: re.Pattern[str]
    asks: re.Pattern[str]
    tells: re.Pattern[str]
    hurried: re.Pattern[str]


def _language(code: str, table: Mapping[str, Any]) -> Language:
    classes = table["words"]
    own = [_rule(row, classes) for row in table.get("rules", ())]
    return Language(
        code,
        common=tables.words(table["common"]),
        greetings=tables.words(table["greetings"]),
        social=tables.words(table["social"]),
        openers=tables.words(table["openers"]),
        remarks=tables.pattern(table["remarks"], classes, "^<any>$"),
        gate=(*own, *_shared(classes)),
        hurried=tables.pattern(table["hurried"], classes, r"\b<any>\b"),
    )


def _script(table: Mapping[str, Any]) -> Script:
    parts = (tables.pattern(table[name], table.get("words", {})) for name in _SCRIPT_PARTS)
    return Script(table["script"], *parts)


def _rule(row: Mapping[str, Any], classes: Mapping[str, Any]) -> GateRule:
    pattern = tables.pattern(row.get("any", ()), classes, row["pattern"])
    return GateRule(row.get("asks") or row["tells"], "asks" in row, pattern)


def _shared(classes: Mapping[str, Any]) -> Iterable[GateRule]:
    for verdict, name, template in _SHAPES:
        for word in _OPTIONAL:
            if not classes.get(word):
                template = template.replace(f"(?:<{word}> )?", "").replace(f"(?!<{word}> )", "")
        if all(map(classes.get, re.findall(r"<([a-z_]+)>", template))):
            yield _rule({verdict: name, "pattern": template}, classes)


_TABLES = {code: tables.language_table(code, "questions") for code in (*tables.codes(), tables.OTHERS)}
LANGUAGES = tuple(_language(code, table) for code, table in _TABLES.items() if "script" not in table)
ENGLISH = LANGUAGES[0]
SCRIPTS = {table["script"]: _script(table) for table in _TABLES.values() if "script" in table}

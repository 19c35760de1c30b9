"""Secrets told in running words: passwords, PINs, codes of doors and cards, passphrases, recovery words.

Pure. Three things make a secret told: a word of the family of secrets, in any of some twenty languages and
with the commonest slips of the pen; a bond (a colon, "is", nothing at all, a few words between); and a value,
which is no ordinary continuation of a sentence. The odder the value (letters with digits, signs, capitals
inside, words in quotation marks), the looser the bond may be; a plain word needs a close bond and somebody
whose secret it is, or a complaint that it does not work. What is said of secrets in general (the default, the
commonest, an example, a film) stays free unless somebody calls it their own. Commands and settings in which
only a password can stand are forms in ``secrets.toml``; what no word tells is left to ``personal``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from node.language.tables import read_table
from node.privacy import personal
from node.privacy.text import Text
from node.privacy.words import any_of, entries, fill, listed, word

_HITS_MAX = 200
_BEFORE, _AFTER = 110, 190
_TOKENS_MAX = 14
_TABLE = read_table("node.privacy", "secrets.toml")

_TOKEN = re.compile(
    r"\"(?P<double>[^\"\n]{1,80})\"|(?<![^\s(=:,>\[-])'(?P<single>[^'\n]{1,80})'(?![^\W_])"
    r"|`(?P<back>[^`\n]{1,80})`|(?P<chunk>[^\s\"`]{1,96})"
)
_ARROWS = frozenset(["->", "=>", "-->", "→", "|>", "->>", "::", ":-"])
_SIGNS = frozenset("!#$%&*+?^~@§<>;=")
_LETTERS = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"[a-zß-öø-ÿ][A-ZÀ-Þ]")
_CAMELS = re.compile(r"[A-ZÀ-Þ]?[a-zß-öø-ÿ]+|[A-ZÀ-Þ]+(?![a-zß-öø-ÿ])")
_WORDED = re.compile(r"(?:[^\W\d_]{3,24}[-_.]?){1,3}\d{1,6}[!?*#$]?")
_MIXED = re.compile(r"[^\W\d_][^\s\w]{0,3}_?\d|\d[^\s\w]{0,3}_?[^\W\d_]{2}")
_WITHOUT = re.compile(r"\b(?:without|no|ohne|sans|sin|senza|sem|zonder)(?: an?| ein| un)? $")

_NUMBER = (
    r"(?:\d(?:[-,. *]{1,2}\d){3,7}(?!\d)|\d{1,2}-\d{1,2}-\d{1,2}|\d{2,4}[- ]\d{2,4}(?:[- ]\d{2,4})?"
    r"|\d{3,8})"
)
_DIGITS = re.compile(
    rf"(?P<gap>(?:\"(?= ?[:=]))?[^.?!\n\d\"]{{0,44}}?)(?P<sign>[\s(\"'#:=,;-]|\b[A-Za-z]-)"
    rf"(?P<value>(?:{_NUMBER}|\d{{1,2}}[A-Fa-f]\d{{1,3}}|[A-F]\d{{3,5}}|\d{{3,5}}[A-F]))"
    r"(?P<hash>[#*]?)(?![\w%°€$]|[.,:/]\d|-\w| ?(?:mm|cm|km|kg|g|m|w|v|mah|hz|mhz|x|°|%|€|usd|eur"
    r"|dollars?|people|words|times|characters|digits|bits|points?|hours?|days?|years?|seats|entries|different"
    r"|combinations?|possible|possibilit\w+|ft|lbs?|pounds|ohm|rpm|psi)\b)",
    re.IGNORECASE,
)
_CODE_BOND = re.compile(
    fill(r"^[\s\"'#(,:=-]*$|(?:^|[\s\"'])<code_bonds>[\s:\"'#(]*$|[:=(,]\s*$")
    + r"|(?:sms|got|sent|texted|saw|received|choose|chose|take|took|picked)\b[^.?!]{0,16}$"
)
_CODE_ASIDE = re.compile(r"\b(?:is|was|ist|war|est|es|è|é)\b [^.?!:;=\d]{1,28} $")
_GOES_ON = re.compile(
    r" ?(?:(?!(?:and|but|then|plus|followed|dann|puis|und|so|by|when|on|why|how|et|y|e|i|a)\b)[a-z]+\b|[€$%])"
)
_SURE = re.compile(r"pin|пин|puk|tan$|otp|cvv|cvc|digicode|geheimzahl|pass|kennwort|mdp|clave")

_ROW = re.compile(r"(?:[^\W\d_]{2,14}[ ,/-]{1,3}){3,26}[^\W\d_]{2,14}")
_NUMBERED = re.compile(r"[^.?!\n]{0,24}?[\s:](?:\d{1,2}[.):]? ?[a-z]{3,8}[\s,;]{1,2}){6}")
_ROW_BOND = re.compile(
    r"(?:[^.?!\n:=]{0,40}?(?:\b(?:is|are|was|were|ist|sind|lautet|est|es|sont|son|è|sono|start\w*|begin\w*)\b"
    r"(?: (?:with|mit|par|con))?|[:=>,])|)[\s:=>,\"'-]{1,4}(?:\d{1,2}[.)] ?)?(?=[^\W\d_])"
)
_REPLY = re.compile(
    r"(?:\b(?:answer|antwort|réponse|respuesta|risposta|resposta|antwoord|is|was|were|ist|war|lautet|est|es|è|é)\b"
    r"(?: is| ist| est| es| è| was)?[\s:=,-]{1,4}|[=:>?]\s{0,2}|\) ?(?:is|was)\s|answers?\W{1,3})"
    r"(?:(?:that|the|a|my|mr\.?|mrs\.?)\s)?(?P<quote>[\"'])?(?P<value>[^\W\d_][\w'-]{2,24})",
    re.IGNORECASE,
)


@cache
def _hint() -> re.Pattern[str]:
    names = ("answers", "phrases", "secrets", "pins")
    alone = "|".join(rf"(?P<{name}>{any_of(name)})(?![^\W_])" for name in names)
    joined = rf"(?P<secret>{any_of('secrets_joined')})|(?P<pin>{any_of('pins_joined')}(?![^\W_]))"
    return re.compile(rf"(?<![^\W\d_])(?:{alone})|{joined}")


@cache
def _spelt() -> re.Pattern[str]:
    spoken = "|".join(sorted({*personal.alike("Digit"), *entries("spoken")}, key=len, reverse=True))
    row = rf"(?:(?:{spoken})[ ,-]{{1,2}}){{2,9}}(?:{spoken})\b"
    return re.compile(r"(?:'s| [^.?!\n]{0,24}?\b(?:is|ist|est|es|è|é)|:) " + row)


@cache
def _any_form(name: str) -> re.Pattern[str]:
    return re.compile("|".join(_TABLE[name]), re.IGNORECASE)


@cache
def _forms() -> tuple[tuple[tuple[str, ...], re.Pattern[str], int], ...]:
    return tuple((tuple(row["hints"]), re.compile(row["form"]), row["odd"]) for row in _TABLE["forms"])


def find(read: Text) -> str | None:
    """``secret`` or None."""
    if _formed(read):
        return "secret"
    for count, hint in enumerate(_hint().finditer(read.lower)):
        if count >= _HITS_MAX or _is_told(read, hint):
            return "secret"
    return None


def _is_told(read: Text, hint: re.Match[str]) -> bool:
    kind = (hint.lastgroup or "").rstrip("s")
    around = _Around.of(read, hint.start(), hint.end())
    if kind == "answer":
        return _answered(read, hint, around)
    if _spelt().match(read.lower, hint.end()) is not None or (read.has_digit and _code(read, hint)):
        return True
    if kind == "secret" and (_after(read, hint, around) or _before(read, hint.start(), around)):
        return True
    return kind != "pin" and _in_a_row(read, hint, around, is_pass=kind == "secret")


@dataclass(frozen=True, slots=True)
class _Around:
    """What the words round a hint say: somebody's own, does not work, spoken of in general."""

    own: bool
    fails: bool
    general: bool

    @classmethod
    def of(cls, read: Text, start: int, end: int) -> _Around:
        near = read.lower[max(0, start - _BEFORE) : end + _AFTER]
        return cls(
            word("me", "theirs", "owners").search(near) is not None,
            word("fails").search(near) is not None,
            word("general").search(near) is not None,
        )

    @property
    def is_lesson(self) -> bool:
        return self.general and not self.own

    @property
    def real(self) -> bool:
        return self.own or self.fails


# --- values ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Token:
    """A run without blanks or what quotation marks hold, bare of signs round it; ``sign``: of a bond before
    it; ``ends``: whether a clause ends behind it; ``stops``: a sentence."""

    text: str
    is_quoted: bool
    sign: bool
    ends: bool
    stops: bool


def _tokens(text: str) -> list[_Token]:
    out: list[_Token] = []
    for found in _TOKEN.finditer(text):
        behind = text[found.end() : found.end() + 2]
        quoted = found["double"] or found["single"] or found["back"]
        if quoted is not None:
            stops = behind[:1] in (".", "?", "!", "") or "\n" in behind
            out.append(_Token(quoted.strip(), True, False, True, stops))
            continue
        chunk = found["chunk"]
        bare = chunk.lstrip(":=>([{,'") if chunk not in _ARROWS else ""
        lead = chunk[: len(chunk) - len(bare)]
        shown = bare.rstrip(".,;:?!)'\"]")
        tail = bare[len(shown) :]
        if tail.startswith("!") and any(map(str.isdigit, shown)):
            shown += "!"
        stops = any(sign in ".?!" for sign in tail) or behind[:1] == "\n"
        is_bond = any(sign in lead for sign in ":=>")
        out.append(_Token(shown, False, is_bond, bool(tail) or behind[:1] in ("", "\n"), stops))
        if shown and tail.endswith((":", "=")):
            out.append(_Token(":", False, False, False, False))
    return out


@lru_cache(maxsize=4_096)
def oddness(shown: str, is_quoted: bool) -> int:
    """How little a run looks like a word of a sentence: 0 ordinary, 1 a rare word, 2 joined or several words
    in quotation marks or capitals inside, 3 letters with digits or signs."""
    lower = shown.lower()
    parts = _LETTERS.findall(lower)
    digits = sum(map(str.isdigit, shown))
    if not 3 <= len(shown) <= 64 or _any_form("holder_forms").search(lower) is not None:
        return 0
    if lower.rpartition("/")[2] in listed("famous") or (
        parts and digits < 4 and all(part in listed("placeholders") for part in parts)
    ):
        return 0
    if " " in shown:
        words = lower.split()
        return 2 if 2 <= len(words) <= 10 and any(word not in _everyday() for word in words) else 0
    if not parts:
        return 1 if shown.isdigit() and len(shown) >= 4 else 0
    is_technical = _any_form("technical_forms").fullmatch(lower) is not None
    if is_technical and not ("@" in shown and "." not in shown and _is_made(shown)):
        return 0
    if digits:
        return 3 if len(shown) >= 5 else 0
    if len(shown) >= 6 and any(char in _SIGNS for char in shown[1:]):
        return 3
    return _joined(shown, parts, is_quoted)


def _joined(shown: str, parts: list[str], is_quoted: bool) -> int:
    """The oddness of letters with or without hyphens and stops between them."""
    is_known = all(map(_is_ordinary, parts))
    if len(parts) >= 3:
        has_function = any(part in listed("function_words") for part in parts)
        return 2 if not has_function else 0 if is_known else 1
    if len(parts) == 2:
        cased = shown[0].isupper() and not shown.isupper()
        return 0 if is_known else 2 if cased or is_quoted or "_" in shown or "." in shown else 1
    if _CAMEL.search(shown) is not None:
        return 0 if all(map(_is_ordinary, map(str.lower, _CAMELS.findall(shown)))) else 2
    return 0 if is_known or len(shown) < 4 else 1


def _everyday() -> frozenset[str]:
    return personal.packaged().words


def _is_ordinary(lower: str) -> bool:
    return (
        lower in listed("plain")
        or lower in listed("function_words")
        or lower in _everyday()
        or _any_form("inflected_forms").search(lower) is not None
    )


def _is_made(value: str) -> bool:
    """Whether a run has what only passwords have: digits beside letters of both cases or signs."""
    signs = any(char in _SIGNS or char in "-_." for char in value[1:-1])
    cases = any(map(str.isupper, value)) and any(map(str.islower, value))
    has_digit = any(map(str.isdigit, value))
    return len(value) >= 7 and has_digit and (cases or signs) and sum(map(str.isalpha, value)) >= 4


def _formed(read: Text) -> bool:
    """A value where only a password can stand: piped to a program that asks for one, behind an option."""
    has_mixed = _MIXED.search(read.lower) is not None
    for hints, form, least in _forms():
        if (least > 2 and not has_mixed) or not any(hint in read.lower for hint in hints):
            continue
        for count, found in enumerate(form.finditer(read.lower)):
            shown = read.text[slice(*found.span("value"))].strip("\"'").rstrip(".,;:?!)")
            if count >= _HITS_MAX:
                return True
            if oddness(shown, least < 3) < min(least, 3) or (least > 3 and not _is_made(shown)):
                continue
            if least < 3 or not _Around.of(read, *found.span()).is_lesson:
                return True
    return False


# --- words for a secret, and the value beside them ------------------------------------------------


def _after(read: Text, hint: re.Match[str], around: _Around) -> bool:
    """Whether a value follows the word for a secret."""
    end = hint.end()
    mark = read.text[end : end + 1]
    if mark and mark in "\"'" and mark in read.text[max(0, hint.start() - 24) : hint.start()]:
        end += 1  # the word for a secret is the name of a field
    if around.is_lesson or _WITHOUT.search(read.before(hint.start(), 12)) is not None:
        return False
    bond, near, gap = "", 0, 0
    is_past = False  # in the next sentence already
    for token in _tokens(read.text[end : end + _AFTER])[:_TOKENS_MAX]:
        lower = token.text.lower()
        if token.sign or not lower:
            bond, near = ("sign", 0) if token.sign else ("", near)
        if not lower:
            continue
        if not token.is_quoted and (lower in listed("bonds") or lower in listed("loose_bonds")):
            bond = (
                "sign" if lower in (":", "=", "-") else "is" if lower in listed("bonds") else bond or "loose"
            )
            near, is_past = 0, is_past or token.stops
            continue
        odd = oddness(token.text, token.is_quoted)
        if odd < 3 and not bond and hint[0] == "pass" and not token.is_quoted:
            odd = 0  # a mountain's, a boarding pass
        if is_past:
            if odd == 3 and around.own and _is_made(token.text):
                return True
        elif odd and _fits(token, odd, bond if near == 0 else "", gap, around):
            return True
        is_past = is_past or (token.stops and (gap > 0 or odd == 0))
        if not (lower in listed("fillers") and bond):
            near, gap = near + 1, gap + 1
    return False


def _fits(token: _Token, odd: int, bond: str, gap: int, around: _Around) -> bool:
    """Whether a value so odd may stand for a secret behind such a bond, ``gap`` words off."""
    close = bool(bond)
    adjacent = gap == 0 and not bond
    if odd == 3:
        if gap <= 3 and token.ends and token.text[:1].islower() and _WORDED.fullmatch(token.text) is not None:
            return True
        return close or adjacent or (gap <= 10 and (around.real or token.is_quoted))
    if bond == "loose" and not (odd == 2 and around.own and token.is_quoted):
        return False
    if odd == 2:
        if close:
            return gap < 4 or around.real or token.is_quoted
        return (adjacent and (around.real or token.is_quoted)) or (token.is_quoted and around.own)
    capital = token.text[:1].isupper() or token.text.isdigit()
    if token.is_quoted:
        return (close and (around.real or gap == 0)) or (adjacent and around.real)
    if bond == "sign" and gap == 0:
        return around.real or token.ends or (capital and not token.text.isdigit())
    if close:
        return around.real and (token.ends or capital)
    return adjacent and capital and around.real and not token.text.isdigit()


def _before(read: Text, start: int, around: _Around) -> bool:
    """Whether "… is my", "… as the" stands between a value and the word for a secret."""
    if around.is_lesson:
        return False
    tokens = _tokens(read.text[max(0, start - 90) : start])[-9:]
    for place in range(len(tokens) - 1, -1, -1):
        token, link = tokens[place], tokens[place].text.lower()
        if around.own and not around.general and _is_made(token.text) and oddness(token.text, False) == 3:
            return True
        if token.stops and place < len(tokens) - 1:
            return False
        if link not in listed("backwards") or not place:
            continue
        value = tokens[place - 1]
        odd = oddness(value.text, value.is_quoted)
        named = link in listed("naming")
        if odd >= 2 and (around.real or value.is_quoted or (named and _is_made(value.text))):
            return True
        if odd == 1 and value.is_quoted and (around.own or named):
            return True
    return False


def _code(read: Text, hint: re.Match[str]) -> bool:
    """Whether digits that open something follow the word for a code, a lock or what it opens."""
    found = _DIGITS.match(read.text, hint.end(), min(len(read.text), hint.end() + 72))
    if found is None:
        return False
    gap = (found["gap"] + found["sign"]).lower()
    before, name = read.before(hint.start(), 28), hint[0]
    value = "".join(filter(str.isdigit, found["value"]))
    is_bare = found["value"].isdigit() and not found["hash"]
    short = "-" in found["value"] or word("dial_things").search(before + name + gap) is not None
    if len(value) < (3 if short else 4) and is_bare:
        return False
    is_own = word("me", "theirs", "owners").search(before + gap) is not None
    if (set(value) == {"0"} and not is_own) or word("other_codes").search(before + name + gap) is not None:
        return False
    is_year = len(value) == 4 and value[:2] in ("18", "19", "20")
    goes_on = is_bare and _GOES_ON.match(read.lower, found.end()) is not None
    is_opener = word("opening").search(before + name + gap) is not None
    is_bound = _CODE_BOND.search(gap) or (_CODE_ASIDE.search(gap) and is_own and not is_year)
    if not is_bound and (goes_on or len(gap) > 28 or not is_opener or (is_bare and not is_own)):
        return False
    near = read.lower[max(0, hint.start() - 70) : found.end() + 60]
    around = _Around.of(read, hint.start(), found.end())
    is_common = value in listed("common_pins") and not found["hash"]
    if not around.own and (around.general or is_common or word("other_codes").search(near) is not None):
        return False
    if _SURE.search(name) is not None:  # six digits: an Indian postcode is called so as well
        is_signed = any(sign in gap for sign in ":=#(")
        return around.real or is_signed or len(value) != 6 or name[0] != "p"
    if not is_opener and not (around.real and word("opening").search(near) is not None):
        return False
    is_thing = word("things").fullmatch(name) is not None
    return not is_thing or (not (is_bare and (is_year or goes_on)) and bool(gap.strip(" \"'(")))


def _in_a_row(read: Text, hint: re.Match[str], around: _Around, *, is_pass: bool) -> bool:
    """Whether a row of words follows that make no sentence: recovery words, a passphrase."""
    behind = read.text[hint.end() : hint.end() + 260]
    start = _ROW_BOND.match(behind)
    if around.is_lesson:
        return False
    if not is_pass and _NUMBERED.match(behind.lower()) is not None:
        return True
    row = _ROW.match(behind, start.end()) if start is not None else None
    if start is None or row is None:
        return False
    words = _LETTERS.findall(row[0].lower())
    is_said = [shown in listed("function_words") or shown in listed("plain") for shown in words]
    if len(words) >= 8 and sum(is_said[:8]) <= 1 and not is_pass:
        return True
    is_phrase = around.own and "phrase" in hint[0]
    if (
        len(words) < 4
        or any(is_said[:5])
        or (is_pass and not (is_phrase or (around.own and "," not in row[0])))
    ):
        return False
    return sum(map(_is_ordinary, words[:5])) <= 3 or (is_phrase and bool(start[0].strip()))


def _answered(read: Text, hint: re.Match[str], around: _Around) -> bool:
    """Whether the answer to a question of security, or a memorable word, is told."""
    is_word = any(part in hint[0] for part in ("word", "wort", "name"))
    for found in _REPLY.finditer(read.text, hint.end(), hint.end() + 110) if not around.is_lesson else ():
        value = found["value"]
        if value.lower() in listed("function_words") or value.lower() in listed("plain"):
            continue
        if found["quote"] or (value[0].isupper() and not value.isupper() and (around.own or not is_word)):
            return True
        if is_word and around.own and not _is_ordinary(value.lower()) and found.start() < hint.end() + 30:
            return True
    return False

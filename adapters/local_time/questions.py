"""Questions about the time somewhere: now, between two places, and a time of one place in another.

Pure. It promises: ``place`` and ``other`` as canonical names ("Tokyo", "Paris, Texas", "PST"; None for where
the asker is) and ``at`` in 24 hours. With ``at`` it is the time in ``place`` that is to be told in ``other``;
with two places and no time their difference; with one place or none the time there now, or, when the text
asks how far it is from here, the difference (``relative``, which the key holds). It claims the calendar only
of a place ("what day is it in Tokyo"), and not when something happens ("what time is the game").

Known limits: "in 3 hours" and "3 hours ago" are not read; a day said beside a time goes into ``at`` as
``2026-05-19T15:00``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from adapters.grammar import one_slip, places
from adapters.grammar import when as times
from adapters.grammar.place_names import GUARDED
from adapters.grammar.places import Said
from adapters.local_time.zones import (
    ABBREVIATIONS,
    PHRASES,
    REGIONS_KNOWN,
    SPLIT_COUNTRIES,
    SPLIT_REGIONS,
    WORDS_TOO,
    offset_name,
)
from adapters.weather import coordinates
from node.core.model import Slots, SlotValue
from node.language import numbers
from node.language.reading import Reading, fold, read, word_list, words_of
from node.language.tables import read_table

_DATA = read_table(__package__, "questions.toml")

STRENGTH_ALL = 0.95
STRENGTH_PART = 0.7
STRENGTH_UNKNOWN = 0.8
STRENGTH_HINTED = 0.6
WORDS_MAX = 40
CONTEXT_MAX = 9
"""How many further words may tell what the clock time to be converted is of ("my flight lands at ...")."""
HINTED_MAX = 2
NAME_CHARS_MAX = 80

_AT = re.compile(r"(?:(\d{4}-\d{2}-\d{2})T)?(\d{2}):(\d{2})")

# --- clock times ----------------------------------------------------------------------------------

_MARK = "zqclock"
_SPOT_MARK = "zqspot"
_DAYTIME = (
    r"(?: (in the morning|in the afternoon|in the evening|at night|am morgen|morgens|nachmittags"
    r"|am nachmittag"
    r"|abends|am abend|de la manana|de la tarde|de la noche|du matin|de l'apres-midi|du soir|di mattina"
    r"|del pomeriggio|di sera|da manha|da tarde|da noite|утра|дня|вечера|ночи))?"
)
_LATER = re.compile(
    r"afternoon|evening|night|nachmittag|abend|tarde|noche|apres|soir|pomeriggio|sera|noite|дня|вечера"
)
_ZULU = "|".join(sorted(name.lower() for name in ABBREVIATIONS))
_CLOCKS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![\w:.+−-])(\d{1,2})(?:[:.](\d{2}))?(?::\d{2})? ?(a\.?m\.?|p\.?m\.?)(?![\w])",
        rf"(?<![\w:.+−-])(\d{{1,2}})(?::(\d{{2}}))(?::\d{{2}})?(?: ?(?:uhr|h|hs|hrs|hours"
        rf"|horas))?(?!\w){_DAYTIME}",
        rf"(?<![\w:.+−-])(\d{{1,2}})(?:[.:](\d{{2}}))? ?uhr(?!\w){_DAYTIME}",
        rf"(?<![\w:.+−-])(\d{{1,2}}) ?(?:h|heures?|hs|hrs)(?:(\d{{2}}))?(?!\w){_DAYTIME}",
        rf"(?<![\w:.+−-])(\d{{1,2}})() ?o ?'? ?clock(?!\w){_DAYTIME}",
        rf"(?<!\w)(?:las|le|ore|alle) (\d{{1,2}})(?:[:.](\d{{2}}))?(?![\w:.]){_DAYTIME}",
        rf"(?<![\w:.+−-])(\d{{1,2}})(?::(\d{{2}}))? ?(?:час(?:а|ов)?|ч)(?!\w){_DAYTIME}",
        rf"(?<![\w:.+−-])(?:(?:las|le|ore|alle|um) )?(\d{{1,2}})(?::(\d{{2}}))?(?={_DAYTIME[:-1]}(?!\w))"
        rf"{_DAYTIME}",
        r"(?<![\w:.+−-])([01]\d|2[0-3])([0-5]\d)(?= (?:" + _ZULU + r")(?!\w)| ?(?:hours|hrs|h)(?!\w))"
        r"(?: ?(?:hours|hrs|h)(?!\w))?",
        r"(?<=it is )(\d{1,2})()(?= (?:in|here|there) )",
        r"(?<=it's )(\d{1,2})()(?= (?:in|here|there) )",
    )
)
_NAMED_CLOCKS: Mapping[str, str] = {
    word: clock
    for clock, row in {
        "12:00": "noon midday mediodia mittag midi mezzogiorno полдень",
        "00:00": "midnight medianoche mitternacht minuit mezzanotte полночь",
    }.items()
    for word in row.split()
}
_NAMED = re.compile(rf"(?<!\w)(?:12 )?({'|'.join(_NAMED_CLOCKS)})(?!\w)")
_IDEOGRAPHIC_CLOCK = re.compile(
    r"(午前|午後|上午|下午|晚上|早上|凌晨|中午|夜|朝)? ?(?<![\d:+−-])"
    r"(\d{1,2}|[一二两三四五六七八九十]{1,3}) ?"
    r"(?:(?:時|点|點)(?:(\d{1,2})分?|(半))?|:(\d{2}))"
)
_IDEOGRAPHS = {
    **{sign: value for value, sign in enumerate("一二三四五六七八九十", 1)},
    "两": 2,
    "十一": 11,
    "十二": 12,
}
_LATER_SIGNS = frozenset(("午後", "下午", "晚上", "夜"))


_HOURS_SPOKEN = numbers.below(13, "en", start=1)
_HALF = {"half past": 30, "half": 30, "quarter past": 15, "quarter after": 15, "quarter to": -15}
_SPOKEN = re.compile(
    rf"(?<![\w:.])(?:(?:a )?({'|'.join(_HALF)}) )?({'|'.join(_HOURS_SPOKEN)}|\d{{1,2}})"
    r"(?= ?(?:a\.?m|p\.?m|o ?'? ?clock|in the (?:morning|afternoon|evening)|at night)(?!\w))"
)


def _in_figures(match: re.Match[str]) -> str:
    """ "three" of "three pm" as 3, "quarter to five" of "quarter to five in the evening" as 4:45."""
    hour = int(match[2]) if match[2].isdigit() else _HOURS_SPOKEN[match[2]]
    minutes = _HALF[match[1]] if match[1] else 0
    if not minutes:
        return str(hour)
    return f"{hour}:{minutes}" if minutes > 0 else f"{(hour - 2) % 12 + 1}:{60 + minutes}"


def _clock(hour: int, minute: int, half: str) -> str | None:
    """24-hour text. ``half``: am, pm, a time of the day, or empty."""
    if half[:1] in ("a", "p") and half.replace(".", "") in ("am", "pm"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    elif half and hour <= 11 and (_LATER.search(half) or half in _LATER_SIGNS) and hour:
        hour += 0 if "night" in half and hour < 5 else 12
    if hour == 24 and minute == 0:
        hour = 0
    return f"{hour:02d}:{minute:02d}" if hour < 24 and minute < 60 else None


def _take_clocks(plain: str) -> tuple[str, list[str]]:
    """``plain`` with its clock times replaced by a mark, and the times."""
    found: list[str] = []
    plain = _SPOKEN.sub(_in_figures, plain)

    def mark(clock: str | None, whole: str) -> str:
        if clock is None:
            return whole
        found.append(clock)
        return f" {_MARK} "

    for pattern in _CLOCKS:
        plain = pattern.sub(
            lambda match: mark(
                _clock(
                    int(match[1]),
                    int(match[2] or 0),
                    (match[match.re.groups] or "") if match.re.groups > 2 else "",
                ),
                match.group(),
            ),
            plain,
        )
    plain = _NAMED.sub(lambda match: mark(_NAMED_CLOCKS[match[1]], match.group()), plain)
    plain = _IDEOGRAPHIC_CLOCK.sub(
        lambda match: mark(
            _clock(
                int(match[2]) if match[2].isdigit() else _IDEOGRAPHS.get(match[2], 99),
                30 if match[4] else int(match[3] or match[5] or 0),
                match[1] or "",
            ),
            match.group(),
        ),
        plain,
    )
    return plain, found


# --- zones as places ------------------------------------------------------------------------------

_OFFSET = re.compile(r"(?<![\w+-])(?:utc|gmt) ?([+\-−]) ?(\d{1,2})(?::?(\d{2}))?(?![\w:])")
_OFFSET_OF = re.compile(r"(?<!\w)(?:utc|gmt)[ -]offset (?=of |for |in |at )")
_IANA = re.compile(
    r"(?<![\w/])(?:africa|america|antarctica|asia|atlantic|australia|europe|indian|pacific)/"
    r"(?:[a-z]+/)?([a-z_]+)"
)
_PHRASE = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, PHRASES), key=len, reverse=True))})(?!\w)")
_SHORT = re.compile(rf"(?<![\w-])({'|'.join(name.lower() for name in ABBREVIATIONS)})(?![\w-])")
_CLOCK_OF = re.compile(rf"({_MARK}\s+)(eastern|central|mountain|pacific)(?! time)(?!\w)")
"""Beside a clock time "Pacific" is a zone."""
_CAPITALS = re.compile(r"(?<![A-Za-z])[A-Z]{2,4}(?![A-Za-z])")
_THERE = re.compile(
    rf"({_MARK}\s+(?:in |at |from )?(?!in )\w+(?: \w+){{0,2}}?)"
    r" (in (?:(?!what |which )\w+ ){1,3}time(?!\w))"
)
"""Where a clock time is to be told: "in Rome in New York time" are two places and not one in a state."""
_BESIDE = re.compile(rf"{_MARK}\s+$")


_FOREIGN: Mapping[str, re.Pattern[str]] = {
    "ist": re.compile(r"\b(?:uhr|wie|wenn|es|was|spat|wann|zeit)\b"),
    "est": re.compile(r"\b(?:il|quelle|heures?|que|quand|l'heure)\b"),
    "et": re.compile(r"\b(?:heures?|quelle|entre|il|horaire)\b"),
}
"""Words that say that an abbreviation is a word of their language."""


def _take_zones(plain: str, text: str) -> tuple[str, list[str]]:
    """``plain`` with zones said as abbreviations replaced by numbered marks, and their names."""
    names: list[str] = []
    capitals = {match.group() for match in _CAPITALS.finditer(text[:600])}

    def mark(name: str | None, whole: str) -> str:
        if name is None:
            return whole
        names.append(name)
        return f" {_SPOT_MARK}{len(names) - 1} "

    plain = _OFFSET_OF.sub("time zone ", plain)
    plain = _IANA.sub(lambda match: match[1].replace("_", " "), plain)
    plain = _OFFSET.sub(
        lambda match: mark(
            offset_name("+" if match[1] == "+" else "-", int(match[2]), int(match[3] or 0)), match.group()
        ),
        plain,
    )
    plain = _CLOCK_OF.sub(lambda match: f"{match[1]}{match[2]} time", plain)
    plain = _PHRASE.sub(lambda match: mark(PHRASES[match.group()], match.group()), plain)

    def believed(match: re.Match[str]) -> bool:
        foreign = _FOREIGN.get(match[1])
        if foreign is not None and foreign.search(plain):
            return False
        in_capitals = match[1].upper() in capitals
        return (
            match[1] not in WORDS_TOO or in_capitals or bool(_BESIDE.search(match.string, 0, match.start()))
        )

    # Beside a zone that is beyond doubt ("3pm est to ist") a word that may be one is taken for one too.
    another = bool(names) or any(believed(match) for match in _SHORT.finditer(plain))

    def short(match: re.Match[str]) -> str:
        joined = another and match.string[: match.start()].split()[-1:] in (
            ["to"],
            ["in"],
            ["vs"],
            ["and"],
            [],
        )
        joined = joined or (another and match.string[match.end() :].split()[:1] in (["to"], ["vs"], ["in"]))
        return mark(match[1].upper(), match.group()) if believed(match) or joined else match.group()

    return _SHORT.sub(short, plain), names


# --- words ----------------------------------------------------------------------------------------

_FILLERS = frozenset(word_list(_DATA["fillers"]))
_SLIPS = frozenset(word_list(_DATA["slips"]))
"""What is mended when one letter is amiss."""
_NO_SLIPS = frozenset(
    word_list(
        "tie tim tine times timed timer clocks click cloak crock chock cloaks locale vocals zones mourning "
        "concert eight might sight light fight night weight height eights rights bright hours hour's "
        "horas hours' heures ahoras currents locals stunde actuales"
    )
)
"""Words of their own that are one letter away from those."""
_DAYPART = re.compile(
    r"\bis it (?:\w+ ){0,6}?(?:morning|afternoon|evening|night|nighttime|daytime|midnight|noon|bedtime"
    r"|(?:too )?(?:late|early)(?! for))\b"
    r"|\bhow late is it\b|\bwhat (?:day|date) (?:is it|it is)\b|\bwhat is the date\b"
    r"|\bes (?:ya |aun |todavia )?de (?:noche|dia|madrugada|manana|tarde)\b"
    r"|\bist es (?:\w+ ){0,5}?(?:morgens|abends|nachts|nacht|abend|tag|mittags?|nachmittags?"
    r"|(?:schon|noch) morgen)\b"
    r"|\bfait(?:-il| il)? (?:\w+ ){0,3}?(?:nuit|jour)\b|\b(?:est-ce|c' est) (?:deja |encore )?(?:le|la) "
    r"(?:matin|soir|nuit|jour)\b|\be (?:gia |ancora )?(?:mattina|sera|notte|giorno|pomeriggio)\b"
    r"|\b(?:ja|ainda) e (?:de )?(?:noite|dia|manha|tarde)\b"
)
"""Asking for the part of the day is asking for the time."""
_PAST = re.compile(rf"\bis it (?:already |still )?(?:past|after|before)\s+{_MARK}")
_CUE = re.compile(
    r"\b(?:(?:what|when)(?: time)? (?:is|was|will|would) (?:that|it|this)|(?:my|our) time|for (?:me|us)"
    r"|my end|converts?|converted|equals?|translates?|what time (?:in|for|over|here)"
    r"|que horas? (?:es|seria|sera|son|sao)|equivale|para mi|para mim|mi hora|wie (?:spat|viel uhr)"
    r"|wieviel uhr"
    r"|wann (?:ist|ware) (?:das|es)|(?:ist|ware) das|bei mir|fur mich|quelle heure|ca fait|chez moi|pour moi"
    r"|che or[ae]|per me|da me)\b"
)
"""What asks for a clock time elsewhere."""
_HAPPENS = re.compile(
    r"\b(?:when|what time) (?:does|do|did|should|can|could|must|is the|are|will (?!it be|that be|this be))"
    r"|\b(?:will|does|did|do) (?:it|i|he|she|we|they) (?:arrive|land|get|start|end|open|close|leave)\b"
    r"|\b(?:cuando|a que hora) (?:llega|sale|empieza|abre)|\bwann (?:kommt|startet|landet|beginnt|offnet)"
    r"|\b(?:quand|a quelle heure) (?:arrive|part|commence|ouvre)"
)
"""When something happens is not a matter of zones alone."""
_HARD = re.compile(
    r"\b(?:how many|number of|cuantos|cuantas|wie viele|wieviele|combien de|quanti|quantos) "
    r"(?:different )?(?:time ?-?zones?|husos|zonas|zeitzonen|fuseaux|fusi|fusos)\b"
    r"|\btime (?:to|for us to) (?:go|be|get|say|move|leave|visit|travel|fly|see)\b"
)
_TOPIC = re.compile(
    r"\b(?:time|hour|timezones?|time-zones?|hora|horas|horaria|horario|uhrzeit|spat|uhr|zeitzone"
    r"|zeitunterschied|zeitverschiebung|ortszeit|heures?|decalage|fuseau|ora|ore|fuso|clocks?)\b"
)
_DIFFERENCE = re.compile(
    r"\b(?:differences?|diff|ahead|behind|apart|how much (?:later|earlier)|hinter|voraus"
    r"|diferencia|zeitunterschied|zeitverschiebung|unterschied"
    r"|decalage|differenza|diferenca|hours between|hours from)\b"
)
_FROM_HERE = re.compile(
    r"\b(?:ahead|behind)(?: of)? (?:me|us|here)\b|\b(?:are we|am i)(?: \w+){0,2} (?:ahead|behind)\b"
)
_COUNTED_HOURS = re.compile(r"\b(?:hours?|hrs?|horas?|stunden?|heures?|ore|ora)\b")
_HERE_SAID = re.compile(
    r"\b(?:here|my (?:local )?time|my (?:time ?zone|place)|our time|local time|for (?:me|us)|where i am"
    r"|my end|at home|aqui|hier|bei (?:mir|uns)|ici|chez (?:moi|nous)|qui|da me)\b"
)
_HERE_NOW = re.compile(
    r"^(?:(?:hey|hi|hello|ok|so|please|excuse me|sorry|um|yo) )*(?:"
    r"(?:(?:do you know|can you tell me|could you tell me|tell me|give me|show me|i need to know"
    r"|any idea|you know)"
    r" )?(?:what (?:the )?(?:current |exact |local )?time (?:is it|it is)|what is the (?:current "
    r"|exact |local |right "
    r")?time|the (?:current |exact |local )?time)"
    r"(?: (?:here|now|right now|at the moment|currently|for me|today|please|in my (?:time ?zone|area"
    r"|location)))*"
    r"|(?:current|exact|local) time(?: (?:now|here|please))*|time (?:now|right now|here|please)"
    r"|time is it(?: now)?"
    r"|what time (?:do you have|is now|it is now)|(?:do you )?(?:have|got) the time"
    r"|(?:what (?:time ?zone|timezone|zone) am i in|what is my time ?zone|my time ?zone"
    r"|which time ?zone am i in)"
    r"|(?:me puedes decir |dime |sabes )?que hora(?:s)? (?:es|son)(?: (?:ahora|aqui|ya|ahora mismo"
    r"|por favor))*"
    r"|(?:kannst du mir sagen )?wie (?:spat|viel uhr) (?:ist es|es ist|haben wir(?: es)?)"
    r"(?: (?:jetzt|gerade|hier|denn|eigentlich|bitte))*"
    r"|wieviel uhr (?:ist es|haben wir)(?: (?:jetzt|gerade))?|(?:aktuelle |die )?uhrzeit(?: jetzt| bitte)?"
    r"|(?:tu peux me dire |dis moi )?(?:il est )?quelle heure(?: est-il| est il"
    r"| il est)?(?: (?:maintenant|ici|stp|svp))*"
    r"|l' heure(?: actuelle)?|che or[ae] (?:e|sono|sono adesso|e adesso)(?: (?:adesso|ora|qui))*"
    r"|que horas sao(?: (?:agora|aqui))*"
    r")(?: (?:please|thanks|now|then|mate|bro|buddy))*$"
)
_HERE_ELSEWISE = re.compile(
    r"que horas? (?:es|son|tienes|tenemos|sera|sao)|(?:cual es )?la hora(?: actual| exacta)?|hora actual"
    r"|wie (?:spat|viel uhr) (?:ist es|es ist|haben wir(?: es)?|es)|wieviel uhr (?:ist es|haben wir|es ist)"
    r"|(?:die )?(?:aktuelle |genaue )?uhrzeit"
    r"|(?:il est )?quelle heure(?: est-il| est il| il est)?|l' heure(?: qu' il est| actuelle| exacte)?"
    r"|che or[ae] (?:e|sono|fai)|l' ora(?: esatta)?|as horas|a hora certa"
)
_POLITE = frozenset(word_list(_DATA["polite"]))
_TRAPS = re.compile(
    r"\b(?:why|explain|history|first|last|story|song|invented|relativity|dilation|travel|complexity"
    r"|how many time zones"
    r"|movie|album|flights?|fly|drive|train|bus|walk|best|good|hammer|prime|half|screen|release|open"
    r"|opens|close"
    r"|closes|closing|opening|start|starts|begin|begins|end|ends|game|match|meeting|sunset|sunrise"
    r"|arrive|arrives"
    r"|leave|leaves|departs?|kick|kickoff|dinner|lunch|breakfast|bed|wake|sleep|worked|full|part|real"
    r"|long|lapse"
    r"|flies|map|check-?in|check-?out|sun|tower|period|era|works?|working|currency|weather|temperature|forecast|humidity|rain|snow|wind|price|cost|news|score"
    r"|management|magazine|signature|machine|capsule|prison|jail|spend|spent|take|takes|waste|enough"
    r"|every|each"
    r"|next|once|free|spare|overtime|travelling|traveling|show|concert|series|episode|season|born|died|built"
    r"|vuelo|viaje|abre|cierra|empieza|partido|offnet|schliesst|beginnt|flug|spiel|ouvre|ferme|commence"
    r"|vol|train"
    r"|apre|chiude|inizia|abre|fecha|comeca)\b"
)
_STRONG = re.compile(
    r"\b(?:what|which) (?:\w+ )?time (?:is it|it is|was it|will it be|would it be)\b|\btime is it\b"
    r"|\b(?:current|local) time\b|\btime (?:difference|zone|zones)\b|\btimezone\b|\bque horas? (?:es"
    r"|son|sao)\b"
    r"|\bwie (?:spat|viel uhr) (?:ist|es|haben)\b|\buhrzeit\b|\bquelle heure\b|\bche or[ae]\b"
    r"|\bwhat is the time\b"
)

_WORDING = re.compile(
    r"\bhow (?:do|would|can|could|should|to|does)(?: (?:you|i|we|one|they|people|someone))? "
    r"(?:say|write|spell|pronounce|translate|phrase)\b|\bcomo se (?:dice|escribe|diz|escreve)\b"
    r"|\bwie (?:sagt|schreibt|heisst|ubersetzt) (?:man\b|das\b)?|\bcomment (?:dit-on|on dit|dire|ecrit-on)\b"
    r"|\bcome si (?:dice|scrive)\b"
)
"""Asking how something is said is no asking for it."""
_MEANING = re.compile(
    r"\b(?:translate|translation|traduce|traduire|traduci|traduza|ubersetze)\b"
    r"|\bwhat (?:does|is) .{1,300} mean$"
)
_DAY_THERE = re.compile(
    r"\bis it (?:already |still |even |now |currently |actually |not )*(?:tomorrow|yesterday|today"
    r"|(?:the )?next day|the day before|a new day|another day|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|(?:the )?weekend)(?= |$)(?! morning| afternoon| evening| night)"
)
"""Asking for the date of a place."""
_ZONES_OF = re.compile(r"\b(?:time ?-?zones|zeitzonen|husos|zonas horarias|fuseaux|fusi orari|fusos)\b")
_SCRIPT_TOPIC = re.compile(
    r"何時|時刻|現在時間|現地時間|時差|タイムゾーン|(?:の|いま|今)時間|几点|幾點|几點|时间|時間|时差|时区|時區"
    r"|который час|сколько (?:сейчас )?врем|времени|время|часово[йг]|разница во|час(?:ов)? в|몇 시|시간"
)
_SCRIPT_HERE = re.compile(
    r"^(?:いま|今)?(?:は)?何時(?:です|ですか|か|かな|なの)?[?？。]*$|^現在時刻(?:は|を教えて)?[?？。]*$"
    r"|^(?:现在|現在|请问现在|請問現在)?(?:是)?(?:几点|幾點|几點)(?:了|钟|鐘|啊|呢)*[?？。]*$|^现在(?:的)?时间[?？。]*$"
    r"|^(?:который (?:сейчас )?час|сколько (?:сейчас )?времени|сколько времени сейчас|сейчас сколько времени"
    r"|который час сейчас|время сейчас|точное время)[?.]*$|^지금 몇 시(?:야|예요|입니까)?[?]*$"
)
_SCRIPT_DIFFERENCE = re.compile(r"時差|时差|разниц")
_SCRIPT_FILLERS = re.compile(
    r"ですか|です|何時|時刻|現地|時間|時差|タイムゾーン|いま|今|現在|教えて|ください|知りたい|どのくらい|どれくらい"
    r"|どれぐらい|とき|から|たら|なら|だと|なの|の|は|と|で|に|を|が|か|何|時|几点|幾點|几點|时间|时差|时区|時區"
    r"|现在|当地|當地|是|的|和|跟|与|有|多少|多大|小时|了|钟|鐘|在|那|当|當|请问|請問|啊|呢|吗|之间|什么|相差"
    r"|который|сейчас|сколько|времени|время|часовой|часовом|пояс|поясе|разница|между|когда|будет|точное|местное"
    r"|подскажи|пожалуйста|скажи|если|часов|часа|час|какой|какая|какое|(?<!\w)(?:во|то|в|и|с|на|у|а)(?!\w)"
    r"|지금|몇|시간|시|의|은|는|에|야|이에요|입니까|[\s?？。、,.:!]"
)
_LEADS = frozenset(
    word_list(
        "and also what about how in at for or y e et und en a nach to the then now but ok so is it и а в"
    )
)


@dataclass(frozen=True, slots=True)
class Question:
    """See the module. ``unknown`` is set when a place is named that the gazetteer lacks."""

    place: str | None = None
    other: str | None = None
    at: str | None = None
    unknown: bool = False
    relative: bool = False

    @property
    def slots(self) -> Slots:
        values: Mapping[str, SlotValue] = {"place": self.place, "other": self.other, "at": self.at}
        return values

    @property
    def key(self) -> str:
        def part(value: str | None) -> str:
            return re.sub(r"[^\w+:.-]+", "-", value.casefold()).strip("-") if value else "-"

        other = "here" if self.relative else part(self.other)
        return f"time:{part(self.place)}:{other}:{part(self.at)}"

    @property
    def phrase(self) -> str:
        """English words that are read back to the same question."""
        here, there = self.place or "", self.other or ""
        if self.at is not None:
            day, _, clock = self.at.rpartition("T")
            said = f"{clock} on {day}" if day else clock
            source = f"in {here}" if here else "here"
            return f"when it is {said} {source} what time is it {f'in {there}' if there else 'here'}"
        if there or self.relative:
            return f"time difference between {_safely(here)} and {_safely(there) if there else 'here'}"
        return f"what time is it in {here}" if here else "what time is it"


def _safely(name: str) -> str:
    """An everyday word that is a town needs its preposition to be read as one."""
    return f"in {name}" if name.casefold() in GUARDED else name


@dataclass(frozen=True, slots=True)
class Read:
    question: Question
    strength: float
    reason: str


def question_of(slots: Slots, key: str | None = None) -> Question | None:
    """The question that canonical slots hold, and ``key`` where it says more; None for anything else."""
    place, other, at = (slots.get(name) for name in ("place", "other", "at"))
    for name in (place, other):
        if name is not None and (not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS_MAX):
            return None
    if at is not None and (not isinstance(at, str) or read_at(at) is None):
        return None
    if place is None and (at is None) != (other is None):
        return None
    if set(slots) != {"place", "other", "at"}:
        return None
    question = Question(
        place if isinstance(place, str) else None,
        other if isinstance(other, str) else None,
        at if isinstance(at, str) else None,
    )
    from_here = replace(question, relative=True)
    return from_here if place and not other and not at and key == from_here.key else question


def read_at(at: str) -> tuple[date | None, int, int] | None:
    """Day (None for today), hour and minute of an ``at``."""
    match = _AT.fullmatch(at)
    if match is None or int(match[2]) > 23 or int(match[3]) > 59:
        return None
    if match[1] is None:
        return None, int(match[2]), int(match[3])
    try:
        return date.fromisoformat(match[1]), int(match[2]), int(match[3])
    except ValueError:
        return None


def named(said: Said) -> str:
    """How a place is called in a slot: with the region and country that were said."""
    return ", ".join(part for part in (said.name, said.region, said.country) if part)


def look_up(name: str) -> Said | None:
    """The place that a slot names, read as a whole."""
    words = [word for word in words_of(fold(name)) if word != ","]
    found = places.mentions(["in", *words])
    if len(found) != 1 or (found[0].start, found[0].end) != (1, len(words) + 1):
        return None
    return found[0].said


# --- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Spot:
    """A place at the words ``start`` to ``end``; ``name`` None for here."""

    start: int
    end: int
    name: str | None
    zone: bool = False


def read_question(text: str, today: date, *, hinted: bool = False) -> Read | None:
    """The question about the time in ``text``; None where it holds none. See the module."""
    plain, spot = coordinates.with_place(text) if len(text) <= 400 else (text, None)
    found = None if spot is None else _read_named(plain, today, hinted)
    if found is None or found.question != Question(coordinates.STAND_IN):
        return _read_named(text, today, hinted)
    return Read(Question(spot), found.strength, f"the time at {spot}")


def _read_named(text: str, today: date, hinted: bool) -> Read | None:
    reading = read(text)
    if len(reading.plain) > 400 or len(reading.words) > WORDS_MAX:
        return None
    if reading.script in ("japanese", "chinese", "cyrillic", "other"):
        return _read_script(reading.plain, text, hinted)
    if reading.script != "latin":
        return None
    found = _read_latin(reading, text, today, hinted)
    if found is not None and found.strength >= STRENGTH_ALL:
        return found
    repaired = one_slip.mended(reading.plain, _SLIPS, _is_word)
    if repaired is not None:
        again = _read_latin(read(repaired), text, today, hinted)
        if again is not None and again.strength > (found.strength if found is not None else 0.0):
            return again if again.strength >= STRENGTH_ALL or found is not None or hinted else None
    return found


def _is_word(word: str) -> bool:
    return word in _FILLERS or word in _NO_SLIPS


def _read_latin(reading: Reading, text: str, today: date, hinted: bool) -> Read | None:
    """``text`` is what was typed: abbreviations may be in capitals there."""
    flat = reading.flat
    if _HERE_NOW.fullmatch(flat) or _is_here_elsewise(flat):
        return Read(Question(), STRENGTH_ALL, "the time here")
    if _HARD.search(flat) or _WORDING.search(flat):
        return None
    plain, clocks = _take_clocks(reading.plain)
    plain, zones = _take_zones(plain, text)
    words = [word for word in words_of(_THERE.sub(r"\1 then \2", plain) if clocks else plain) if word != ","]
    commas = _commas(plain, words)
    if len(clocks) > 1 or (not clocks and _MEANING.search(flat)):
        return None
    if not clocks and (there := _DAY_THERE.search(flat)):  # "is it tomorrow in Sydney yet" asks for its date
        words = ["time", *(word for word in words if word not in there.group().split())]
    if clocks and _PAST.search(plain):  # "is it past midnight in London" asks for the time there
        clocks, words = (
            [],
            ["time", *(word for word in words if word not in (_MARK, "past", "after", "before"))],
        )
    part_of_day = not clocks and (_DAYPART.search(flat) is not None or words[:1] == ["time"])
    if not (clocks or zones or hinted or part_of_day or _TOPIC.search(plain) or _DIFFERENCE.search(plain)):
        return None
    day, words = _day(words, today, bool(clocks))
    spots = _narrowed(
        words, _spots(words, zones, bool(clocks)), commas, _DIFFERENCE.search(plain) is not None
    )
    if _ZONES_OF.search(flat) and len(spots) == 1 and not spots[0].zone and has_many_zones(spots[0].name):
        return None  # that asks for a list
    rest = _rest(words, spots)
    unaccounted = [word for word in rest if word not in _FILLERS and word != _MARK]
    if any(any(char.isdigit() for char in word) for word in rest):
        return None
    joined = " ".join(words)
    topical = _TOPIC.search(joined) is not None or _only_zones(spots, rest) or part_of_day
    topical = topical or (
        _DIFFERENCE.search(joined) is not None
        and (len(spots) == 2 or _COUNTED_HOURS.search(joined) is not None)
    )
    converts = bool(clocks and (_CUE.search(joined) or len(spots) == 2 or _HERE_SAID.search(joined)))
    topical = topical or converts or (len(spots) == 1 and _FROM_HERE.search(joined) is not None)
    if not spots or not (topical or hinted):
        return _unknown_place(flat, words, clocks) if topical or _STRONG.search(flat) else None
    question = _question(words, spots, clocks, joined)
    if question is None or "much time" in flat:
        return None
    if question.at is not None and day is not None:
        question = replace(question, at=f"{day.isoformat()}T{question.at}")
    if not unaccounted:
        return Read(question, STRENGTH_ALL, _reason(question))
    if clocks and _CUE.search(joined) and not _HAPPENS.search(flat) and len(unaccounted) <= CONTEXT_MAX:
        return Read(question, STRENGTH_PART, _reason(question))
    if _TRAPS.search(" ".join(unaccounted)):
        return None
    if _STRONG.search(flat) and len(unaccounted) <= 5:
        return Read(question, STRENGTH_PART, _reason(question))
    if "tomorrow" in unaccounted or "yesterday" in unaccounted:
        return None
    if not hinted or len(unaccounted) > (HINTED_MAX if topical else 1):
        return None
    return Read(question, STRENGTH_HINTED, _reason(question))


def _is_here_elsewise(flat: str) -> bool:
    """The time here in other languages: a phrase for it and nothing else but courtesies."""
    match = _HERE_ELSEWISE.search(flat)
    if match is None or len(flat) > 100:
        return False
    return all(word in _POLITE for word in (flat[: match.start()] + " " + flat[match.end() :]).split())


def _day(words: list[str], today: date, clock: bool) -> tuple[date | None, list[str]]:
    """The day said beside a clock time, other than today; and the words without it."""
    found, rest = times.find(words, today)
    if found is None:
        return None, words
    if found.span or found.first == today:
        return None, list(rest) if found.said in ("now", "today", "tonight") else words
    return (found.first, list(rest)) if clock else (None, words)


def _spots(words: Sequence[str], zones: Sequence[str], clock: bool) -> list[_Spot]:
    spots = [
        _Spot(at, at + 1, zones[int(word[len(_SPOT_MARK) :])], zone=True)
        for at, word in enumerate(words)
        if word.startswith(_SPOT_MARK) and word[len(_SPOT_MARK) :].isdigit()
    ]
    for mention in places.mentions(words):
        if not any(spot.start < mention.end and mention.start < spot.end for spot in spots):
            spots.append(_Spot(mention.start, mention.end, named(mention.said)))
    spots.sort(key=lambda spot: spot.start)
    merged: list[_Spot] = []
    for spot in spots:
        if merged and merged[-1].end == spot.start and spot.zone and not merged[-1].zone:
            continue  # "9am New York ET": the same place twice
        merged.append(spot)
    return merged


def _commas(plain: str, words: Sequence[str]) -> frozenset[int]:
    """The positions in ``words`` before which ``plain`` has a comma; none where the words were changed."""
    found: set[int] = set()
    at = 0
    for word in words_of(plain):
        if word == ",":
            found.add(at)
        elif at < len(words) and words[at] == word:
            at += 1
        else:
            return frozenset()
    return frozenset(found)


def _narrowed(words: Sequence[str], spots: list[_Spot], commas: frozenset[int], differs: bool) -> list[_Spot]:
    """``spots`` with a town and the region or country behind it as one place, known or not: "Paris, Kentucky"
    and "Smallville, Texas" are neither Paris nor Texas. Where a difference is asked for, two neighbours are
    the two places."""
    for one, other in pairwise(spots):
        if one.end != other.start or one.zone or other.zone or (differs and len(spots) == 2):
            continue
        said, left = places.find(words[one.start : other.end])
        if said is not None and (said.region or said.country) and not left:
            whole = _Spot(one.start, other.end, named(said))
            spots = [spot for spot in spots if spot not in (one, other)] + [whole]
            break
    unlisted = places.unlisted(words, commas, _may_be_name)
    if unlisted is not None:
        clear = [spot for spot in spots if spot.end <= unlisted.start or spot.start >= unlisted.end]
        spots = [*clear, _Spot(unlisted.start, unlisted.end, named(unlisted.said))]
    return sorted(spots, key=lambda spot: spot.start)


def _may_be_name(word: str) -> bool:
    return word not in _FILLERS and not word.startswith((_MARK, _SPOT_MARK))


def has_many_zones(name: str | None) -> bool:
    """Whether the clocks of a region or country differ from each other."""
    said = look_up(name) if name else None
    return said is not None and said.place is not None and not is_of_one_zone(said.place)


def is_of_one_zone(place: places.Place) -> bool:
    """Whether all of a region or country keeps one time, small parts included."""
    if place.country_code not in SPLIT_COUNTRIES:
        return len(places.seat_of(place)[1]) == 1
    if place.country_code not in REGIONS_KNOWN or place.name != place.region:
        return place.name not in (place.country, place.region)
    return place.name not in SPLIT_REGIONS and len(places.seat_of(place)[1]) == 1


def _rest(words: Sequence[str], spots: Sequence[_Spot]) -> list[str]:
    taken = {at for spot in spots for at in range(spot.start, spot.end)}
    return [word for at, word in enumerate(words) if at not in taken]


def _only_zones(spots: Sequence[_Spot], rest: Sequence[str]) -> bool:
    """ "est to pst": two zones need no word for time."""
    return len(spots) == 2 and all(spot.zone for spot in spots) and len(rest) <= 4


def _question(
    words: Sequence[str], spots: Sequence[_Spot], clocks: Sequence[str], joined: str
) -> Question | None:
    names = [spot.name for spot in spots]
    if len(set(names)) != len(names) or len(names) > 2:
        return None
    here = _HERE_SAID.search(joined) is not None
    if clocks:
        return _conversion(words, spots, clocks[0])
    if len(spots) == 2:
        return Question(names[0], names[1])
    if _DIFFERENCE.search(joined) or (here and re.search(r"\b(?:between|compared|vs|versus|from)\b", joined)):
        return Question(names[0], relative=True)
    return Question(names[0])


def _conversion(words: Sequence[str], spots: Sequence[_Spot], clock: str) -> Question:
    """Which place the clock time is of: the one right behind it, else of two the one before it. A single one
    elsewhere is where the time is to be told."""
    at = words.index(_MARK)
    behind = [spot for spot in spots if spot.start > at]
    if behind and _follows(words[at + 1 : behind[0].start]):
        source = behind[0]
    elif len(spots) == 2:
        # The one before the clock time ("wenn es in Berlin 15 Uhr ist"), else the first after it.
        source = spots[0] if len(behind) != 1 else next(spot for spot in spots if spot not in behind)
    else:
        source = None
    others = [spot for spot in spots if spot is not source]
    return Question(source.name if source is not None else None, others[0].name if others else None, clock)


_BETWEEN = frozenset(
    word_list("here in on at from en a em the time over la las los of de hora is it uhr local horas")
)


def _follows(between: Sequence[str]) -> bool:
    """Whether a place after a clock time says where that time is: "3pm in Berlin", "9am PST"."""
    return len(between) <= 3 and all(word in _BETWEEN for word in between)


def _unknown_place(flat: str, words: Sequence[str], clocks: Sequence[str]) -> Read | None:
    """ "what time is it in Hogwarts": a place that is not known, only in a clear question."""
    if clocks or not re.search(
        r"^(?:\w+ ){0,5}?(?:what time is it|what is the (?:current |local )?time|current time|local time"
        r"|que hora es|wie spat ist es|wie viel uhr ist es|quelle heure est-il|che ora e"
        r"|che ore sono) (?:now |right now |gerade |jetzt "
        r"|adesso )?(?:in|en|a|at|over in) (?!the |a |an |my |our |hours?\b)\w+(?: [\w'-]+){0,3}$",
        flat,
    ):
        return None
    said, rest = places.find([word for word in words if word not in ("now", "right")], unknown=True)
    if said is None or any(word not in _FILLERS for word in rest):
        return None
    return Read(Question(named(said), unknown=True), STRENGTH_UNKNOWN, f"the time in {said.name}")


def _reason(question: Question) -> str:
    if question.at is not None:
        return f"{question.at} of {question.place or 'here'} in {question.other or 'the local time'}"
    if question.relative:
        return f"the time difference between {question.place} and here"
    if question.other is not None:
        return f"the time difference between {question.place or 'here'} and {question.other}"
    return f"the time in {question.place}" if question.place else "the time here"


def _read_script(plain: str, text: str, hinted: bool) -> Read | None:
    if _SCRIPT_HERE.fullmatch(plain):
        return Read(Question(), STRENGTH_ALL, "the time here")
    if not _SCRIPT_TOPIC.search(plain) and not hinted:
        return None
    marked, clocks = _take_clocks(plain)
    marked, zones = _take_zones(marked, text)
    found = [(m.start, m.end, named(m.said)) for m in places.script_mentions(marked)]
    found += [(m.start(), m.end(), zones[int(m[1])]) for m in re.finditer(rf"{_SPOT_MARK}(\d)", marked)]
    found.sort()
    names = [name for _, _, name in found]
    if not names or len(names) > 2 or len(set(names)) != len(names) or len(clocks) > 1:
        return None
    left = marked
    for start, end, _ in reversed(found):
        left = left[:start] + " " + left[end:]
    left = _SCRIPT_FILLERS.sub("", left.replace(_MARK, " "))
    if clocks:
        at = marked.index(_MARK)
        before = [name for start, _, name in found if start < at]
        after = [name for start, _, name in found if start > at]
        source = (before or after)[-1 if before else 0]
        others = [name for name in names if name != source]
        question = Question(source, others[0] if others else None, clocks[0])
    elif len(names) == 2:
        question = Question(names[0], names[1])
    elif _SCRIPT_DIFFERENCE.search(plain):
        question = Question(names[0], relative=True)
    else:
        question = Question(names[0])
    if not left:
        return Read(question, STRENGTH_ALL, _reason(question))
    if re.search(r"何時|几点|幾點|который час|сколько (?:сейчас )?времени", plain) and len(left) <= 6:
        return Read(question, STRENGTH_PART, _reason(question))
    return Read(question, STRENGTH_HINTED, _reason(question)) if hinted else None


# --- follow-ups -----------------------------------------------------------------------------------


def follow_up(fragment: str, earlier: str, today: date) -> str | None:
    """The whole question that ``fragment`` ("and in London?", "and at 5pm?") asks after ``earlier``; None
    unless every word of it is accounted for."""
    before = read_question(earlier, today)
    if before is None or before.question.unknown or len(fragment) > 120:
        return None
    question = before.question
    reading = read(fragment)
    plain, clocks = _take_clocks(reading.plain)
    plain, zones = _take_zones(plain, fragment)
    if reading.script in ("japanese", "chinese", "cyrillic"):
        mentions = places.script_mentions(plain)
        names = [named(mention.said) for mention in mentions]
        left = plain
        for mention in reversed(mentions):
            left = left[: mention.start] + left[mention.end :]
        if _SCRIPT_FILLERS.sub("", left.replace(_MARK, "")):
            return None
    else:
        words = [word for word in words_of(plain) if word != ","]
        spots = _spots(words, zones, bool(clocks))
        if not spots and len(words) == 1:
            spots = _spots(["in", *words], zones, bool(clocks))
            words = ["in", *words]
        names = [spot.name for spot in spots if spot.name]
        if any(word not in _LEADS and word != _MARK for word in _rest(words, spots)):
            return None
    if len(names) > 1 or len(clocks) > 1 or not (names or clocks):
        return None
    merged = question
    if clocks:
        if question.place is None and question.other is None:
            return None
        merged = replace(merged, at=clocks[0])
        if question.at is None and question.other is None:
            # "what time is it in Tokyo" - "and at 5pm?": five here, told there.
            merged = replace(merged, place=None, other=question.place, relative=False)
    if names:
        if merged.at is not None or merged.other is not None:
            merged = replace(merged, other=names[0])
        elif merged.relative:
            merged = replace(merged, place=names[0])
        else:
            merged = replace(merged, place=names[0])
    if merged.place == merged.other:
        return None
    again = read_question(merged.phrase, today)
    return merged.phrase if again is not None and again.question == merged else None

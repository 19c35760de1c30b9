"""Phrase tables of the cache's gate: what several words together say, as data.

Each line of ``REWRITES`` is ``words => words``; the longest match at a position wins and is not read again.
``(a|b)`` is a choice, ``a?`` may be left out. Words starting with ``@`` are marks: ``@what`` … say what is
asked for, ``@in.year`` how finely. ``LEADS`` are openings of a sentence that only ask politely or order an
answer. English only.

Promises: plain maps, built once, and their look-up. Must not know: how they are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

from node.cache.matching.words import listed

_REWRITES = """
how many => @howmany
(the|total|what) number of => @howmany
(what is|what are) the number of => @howmany
what number of => @howmany
count of => @howmany
how much => @howmuch
how (expensive|costly) => @what price
how (tall|high) => @what height
how far => @what distance
how old => @what age
how (big|large) => @what size
how deep => @what depth
how wide => @what width
how heavy => @what weight
how (fast|quickly) => @howfast
how (hot|cold|warm) => @what temperature
how (long|much time) => @howlong
how long (is|are|was|were) (the|a) => @what length
what length (is|are|was|were) => @what length
how many (people|inhabitants|residents) (live|lived|reside|are|are living) (in|on) => @what population
(what is|what 's) the (difference|distinction) between => @what difference
how (do|does|can|would|could|should) (you|i|we|one) (differentiate|distinguish) between? => @what difference
how (is|are|was|were|does|do) => @how
(different|differ|differs|differentiated|distinguished) (from|than|to) => difference
what (should|can|could|do|must|would|did) (i|you|we|one|someone) do to => @how
what do (i|you|we) (need|have) to do to => @how
what does it take to => @how
(what|which) (are|is) (some|the)? (possible|different|best|good)? (ways|way|steps) (to|of|for) => @how
(what|which) (are|is|'s) (some|the|some of the)? (good|best|great|top) => @what best how often => @howoften
how frequently => @howoften
how (populous|populated) => @what population
how come => @why
why is it that => @why
(what is|what was|what are|what 's) the (reason|reasons|cause|causes) (why|that|for|of|behind) => @why
what (causes|caused|cause) => @why
for what reason => @why
what for => @why
what makes (people|us|someone|humans) => @why
what do (people|you|we|they) call => @what call
reason why => @why
how is it that => @why
in? (what|which) year => @when @in.year
in? (what|which) century => @when @in.century
in? (what|which) decade => @when @in.decade
in? (what|which) month => @when @in.month
on? (what|which) (day|date) => @when @in.day
at? (what|which) time => @when @in.hour
(what is|what was) the date (of|when) => @when @in.day
(what is|what was) the year (of|when|in which) => @when @in.year
(what|which) (place|location) => @where
(what is|what 's) the location of => @where
whereabouts => @where
(what|which) (person|guy) => who
the name of the person (who|that) => who
how (is|'s) the weather => @what weather
is it possible (for me|for us|for you)? to => can
how (do|would|could|can) (you|one) (explain|describe|define) => @what
how to => @how
how (do|does|can|could|should|would) (you|i|we|one|someone) best => @how
(what is|what are|what 's) the (procedure|process) (for|of) => @how
(what is|what are|what 's) the (treatment|treatments) (for|of) => @how treat
(what is|what are|what 's) the (function|functions|role|roles|job|task|tasks) of => @what @m.act
(what is|what are|what 's) the (work|duty|duties|responsibilities) of => @what @m.act
how (do|can) (you|i|we|one) go about => @how
what steps (do|must|should|can) (you|i|we|one) (need to)? take to => @how
how can (one|you|i|we) go about => @how
how (do|does|can|could|should|would|might|may|must) => @how
what (is|are|'s) (the|some|a|your)? (best|good|right|proper|correct)? (way|ways|method) (to|of|for) => @how
what (steps|measures) (should|can|do) => @how
is there (a|any|some) (good|best)? way to => @how
are there (any|some) (good|best)? ways to => @how
(ways|steps|method|methods) to => @how
(the|a)? (best|good) (way|ways) to => @how
is there (a|an|any)? => @exists
are there (any|some)? => @exists
what do you mean by => @what
what (is|are|'s) meant by => @what
the (concept|notion|term|topic|subject) of =>
(the)? (meaning|definition|explanation|description|overview) of => @what
(an)? introduction to => @what
(some)? (information|info|details) (about|on) => @what
(right now|at the moment|at present|these days|nowadays|as of now|at this moment) => now
no longer => not
not only => both
prior to => before
earlier than => before
later than => after
(a)? lot of => many
lots of => many
in order to => to
because of => because
as well as => and
due to => because
unable to => not can
able to => can
(more|greater|higher|larger|bigger) than => over than
(less|fewer|lower|smaller) than => under than
at least => atleast
at most => atmost
cell phone => smartphone
mobile phone => smartphone
web site => website
per cent => percent
instead of => insteadof
rather than => insteadof
other than => except
least (expensive|costly|pricey) => cheapest
(lowest|least) (cost|price|priced) => cheapest price
least (difficult|hard) => easiest
(less|not as) (expensive|costly) => cheaper
(less|not as) (difficult|hard) => easier
(highest|largest|greatest|biggest|most) number of => most
most (populous|populated) => biggest population
(most|highest|largest|greatest|biggest) (people|population|inhabitants|residents) => biggest population
of all (the|of the)? => of
all of (the|these|those)? => all
at work => at workplace
with (examples|an example|some examples) => with sample
of all time =>
in general =>
one way => oneway
as a rule =>
(explained)? (in|with) (very|more)? (simple|simpler|plain|easy|layman 's) (words|terms|english) =>
(explained)? in a nutshell =>
(explained)? for (dummies|laymen|a layman) =>
(explained)? to me? like i (am|'m|m|was) (five|5|a child|a kid) (years old|year old)? =>
(explained)? like i (am|'m|m|was) (five|5|a child|a kid) (years old|year old)? =>
explained? eli5 =>
i? never (really|quite)? (understood|got|get) (it|that|this) =>
in (your|my|our)? real? life =>
world war one => world war 1
(mile|miles) (per|an) hour => mph
(kilometer|kilometers|kilometre|kilometres|km) (per|an) hour => kph
km / h => kph
(meter|meters|metre|metres|m) per second => mps
m / s => mps
(square|sq) (meter|meters|metre|metres|m) => sqm
(square|sq) (foot|feet|ft) => sqft
(square|sq) (kilometer|kilometers|kilometre|kilometres|km) => sqkm
(degree|degrees|deg|°) (celsius|centigrade|c) => celsius
(degree|degrees|deg|°) (fahrenheit|f) => fahrenheit
(degree|degrees|deg) (kelvin) => kelvin
kilowatt (hour|hours) => kilowatthour
megawatt (hour|hours) => megawatthour
apart from => except
"""

_LEADS = """
(can|could|would|will) you (please|kindly)? (tell|show|give) me
(can|could|would|will) you (please|kindly)? (explain|describe|define|tell|say|help|let me know|answer)
(can|could|would|will) you (please|kindly)? (list|name)
(can|could|would|will) you (please|kindly)? (give|show|find|provide|state|outline) (the|a|an)?
(can|could) (i|we) (ask|know|get|have|see)
(can|could|does) (someone|anyone|anybody|somebody) (please|kindly)? (tell me|explain|describe|define|help me)
(can|could|does) (someone|anyone|anybody|somebody) (please|kindly)? (know|help|show me|say|give me|tell)
(do|does) (you|anyone|anybody|someone) (happen to)? know
(please|kindly)
(i was|i am|i 'm|am|just|im)? (wondering|curious)
i (want|need|would like|'d like|wish) to (know|find out|find|learn|understand|see|get|ask|hear|be told)
i (want|need|would like|'d like|wish) you to (tell me|explain|describe|show me|list|give me)
i (want|need|would like|'d like)
i (am|'m) (looking for|interested in|trying to find|trying to find out|trying to understand)
(tell|show|give|get|find|return|bring|send) (me|us) (more|everything|something|all)? (about|of)?
(tell|inform|remind) (me|us)
(help|teach) (me|us) (to)? understand
let me know
(list|show|display|give|provide|return|find|name|print|get|present|state) (all|every|all of)? (the|of the)?
(explain|describe|define|clarify)
(what are|which are|what 're) all (the|of the)?
(all of the|all the|all)
(may i know|might i ask|may i ask|would you mind telling me|would you know)
(any idea|any ideas|any one know|anyone know)
(quick question|question|hi|hello|hey|hi there|hello there|good morning|good evening)
(dear|thanks|ok|okay|so|well|and|but|also|now)
(here 's|here is) (a|my)? question
i (keep|kept) (hearing|reading|seeing) (about)?
"""

_POLITE = """
(can|could|would|will) you (please|kindly)? (tell me|let me know)
(can|could|does) (someone|anyone|anybody|somebody) (please|kindly)? (tell me|know)
(do|does) (you|anyone|anybody|someone) (happen to)? know
(please|kindly)
(i was|i am|i 'm|am|just|im)? (wondering|curious)
i (want|need|would like|'d like|wish) to (know|find out)
(tell|inform) (me|us)
let me know
(may i know|might i ask|may i ask|would you mind telling me|would you know)
(quick question|question|hi|hello|hey|hi there|hello there|hey there|good morning|good evening)
(dear|thanks|ok|okay|thank you|thank you very much|thx|cheers)
(here 's|here is) (a|my)? question
"""
"""Openings that say nothing of what is wanted."""


def expand(pattern: str) -> list[tuple[str, ...]]:
    """All word sequences of a pattern of groups ``(a|b c)`` and optional items with a ``?``."""
    parts: list[list[str]] = []
    rest = pattern.strip()
    while rest:
        if rest[0] == "(":
            inner, _, rest = rest[1:].partition(")")
            choices = inner.split("|")
        else:
            word, _, rest = rest.partition(" ")
            choices, rest = ([word[:-1], ""], " " + rest) if word.endswith("?") else ([word], " " + rest)
        if rest.startswith("?"):
            choices, rest = [*choices, ""], rest[1:]
        parts.append(choices)
        rest = rest.strip()
    return [tuple(" ".join(choice).split()) for choice in product(*parts)]


Matches: TypeAlias = dict[str, tuple[tuple[int, ...], dict[tuple[str, ...], tuple[str, ...]]]]


def _by_first_word(lines: str) -> Matches:
    """Each first word to its patterns' lengths, longest first, and the patterns with what they become."""
    patterns: dict[str, dict[tuple[str, ...], tuple[str, ...]]] = {}
    for line in lines.strip().split("\n"):
        left, _, right = line.partition("=>")
        for words in expand(left):
            if words:
                patterns.setdefault(words[0], {}).setdefault(words, tuple(right.split()))
    return {
        first: (tuple(sorted({len(words) for words in rows}, reverse=True)), rows)
        for first, rows in patterns.items()
    }


REWRITES = _by_first_word(_REWRITES)
LEADS = _by_first_word(_LEADS)
POLITE = _by_first_word(_POLITE)


def match(table: Matches, texts: Sequence[str], at: int) -> tuple[int, tuple[str, ...]] | None:
    """The longest pattern of ``table`` at a position: (its length, what it becomes)."""
    lengths, rows = table.get(texts[at], ((), {}))
    for size in lengths:
        found = rows.get(tuple(texts[at : at + size])) if at + size <= len(texts) else None
        if found is not None:
            return size, found
    return None


LANGUAGES = {
    "german": frozenset(
        listed(
            """der die das und ist nicht ein eine wie wer wann wo warum welche welcher von mit für auf den dem
            ich wird sind kann zu im bei was hat"""
        )
    ),
    "french": frozenset(
        listed(
            """le la les des est et une un dans qui que quel quelle quand où pourquoi comment du pour avec sur
            pas ne je combien sont au aux ce cette"""
        )
    ),
    "spanish": frozenset(
        listed(
            """el la los las es y una un en qué que quién cuál cuándo dónde por cómo del para con sobre no yo
            cuánto son al este esta como cual"""
        )
    ),
    "italian": frozenset(
        listed(
            """il lo la gli è e una un in che chi quale quando dove perché come del della per con su non io
            quanto sono di nel"""
        )
    ),
    "portuguese": frozenset(
        listed(
            """o os as é e uma um em que quem qual quando onde por como do da para com sobre não eu quanto são
            no na"""
        )
    ),
    "dutch": frozenset(
        listed(
            """de het een en is niet wie wanneer waar waarom hoe welke van met voor op ik wat zijn kan te bij
            hoeveel"""
        )
    ),
    "swedish": frozenset(
        listed("och är inte en ett vem när var varför hur vilken av med för på jag vad kan som det")
    ),
    "polish": frozenset(listed("i jest nie kto kiedy gdzie dlaczego jak który z na w do co czy się ile są")),
    "turkish": frozenset(listed("ve bir bu ne nasıl neden kim nerede hangi mi için ile değil kaç")),
    "indonesian": frozenset(
        listed("dan adalah tidak yang apa siapa kapan mana mengapa bagaimana dari di dengan untuk")
    ),
}
"""Function words that betray another language."""
ENGLISH = frozenset(
    listed(
        """the is are was were what who when where why how which of and to a an do does did can in for with
        on by from i you my it be not have has should will would if that this there or as at me"""
    )
)

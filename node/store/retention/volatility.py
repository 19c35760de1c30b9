"""How soon the answer to a question may change, read from its wording alone.

Rules:
1. The wording is read through ``reading`` (folded, bounded), with hyphens as blanks. English patterns only: a
   question in another language keeps its class's limit (words of "now" in other languages are the router's).
2. Names and terms that only look volatile ("electric current", "USA Today", "still life", "how long do cats
   live") are taken out first.
3. Words of now count always. A question about a term ("what is inflation?", "how is a president elected?")
   and one dated to a past year have no other volatility; a past year does not make an office, an age or a
   private matter past, and a year after "since", "founded in" and the like dates nothing.
4. Every other row of ``ROWS`` that fits counts, and the shortest limit is the answer: a wrong guess towards
   "volatile" costs one more computation, one towards "stable" an outdated answer.
5. A text too long to be read whole is held for a day at most.

Pure and total; bounded by the reading's window. It knows nothing of what the answer says, nor of classes:
``freshness`` combines both, and nothing here can lengthen a life.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from node.language.reading import HEAD_CHARS, TAIL_CHARS, read

MINUTE_S = 60
HOUR_S = 3_600
DAY_S = 86_400

ALWAYS_PAST_YEAR = 2_000
"""A year before this one is past whatever the clock says."""


@dataclass(frozen=True, slots=True)
class Volatility:
    """``name`` is a stable code, ``limit_s`` the longest life that the wording allows (None: it says
    nothing), ``reason`` a clause for people. ``until_midnight``: it changes with the date at the latest.
    ``personal``: the answer is of the asker, so nobody else may be given it."""

    name: str
    limit_s: int | None
    reason: str
    until_midnight: bool = False
    personal: bool = False


STEADY = Volatility("by_class", None, "the wording says nothing of change")
DATED_PAST = Volatility("dated_past", None, "it is dated to a past year")
OF_A_TERM = Volatility("of_a_term", None, "it asks what a term means or how something works")
TOO_LONG = Volatility("too_long_to_read", DAY_S, "it is too long to be read whole")
THIS_YEAR = Volatility("this_year_or_later", DAY_S, "it names the current year or a later one")
NOW = Volatility("speaks_of_now", HOUR_S, "it speaks of now or of a day relative to now", until_midnight=True)

# --- what only looks volatile ---------------------------------------------------------------------

_CIRCUIT = (
    r"circuits?|wires?|coils?|conductors?|resistors?|inductors?|capacitors?|diodes?|transistors?|"
    r"semiconductors?"
    r"|solenoids?|motors?|battery|batteries|metals?|amperes?|amps|loop"
)
_TRAP = re.compile(
    r"\b(?:"
    # electricity and water
    r"(?:electric(?:al)?|alternating|direct|ocean|eddy|sea|water|rip|ac|dc|inrush|leakage|induced|convection|"
    r"electron|displacement|short circuit|tidal) currents?"
    r"|currents"
    r"|current (?:and|or|vs|versus) (?:voltage|resistance|power)"
    r"|(?:voltage|resistance|potential difference) (?:and|or|vs|versus|from) (?:a |the )?current"
    r"|current (?:density|divider|transformer|clamp|mirror|amplifier)"
    rf"|current (?:\w+ )?(?:in|through) (?:a |an |the |each )?(?:\w+ )?(?:{_CIRCUIT})"
    # names
    r"|(?:usa|psychology|india|russia|physics|medical news) today|(?:the )?today show|today fm"
    r"|apocalypse now|saturday night live|live aid|xbox live|windows live|live and let die|live nation"
    r"|last week tonight|(?:the )?tonight show|tomorrow never dies|the day after tomorrow|tomorrowland"
    r"|breaking (?:bad|dawn|benjamin|changes?|points?|strength|wave|waves)"
    r"|breaking (?:a|an|the|my|your|his|her|their|up|down|into|out)"
    r"|(?:fox news|news corp(?:oration)?|sky news|abc news|cbs news|nbc news|hacker news|huffington news)"
    r"(?= (?:founded|corp|owned|owner|ceo|a|the|and|or)\b|$)"
    r"|fake news|news (?:corp(?:oration)?|anchor|agency|agencies|values|desk)"
    r"|yesterday (?:by (?:the )?beatles|once more)|(?:song|beatles) yesterday"
    # other meanings
    r"|at the latest|still (?:lifes?|lives|image|images|frame|photography|water|waters|wine|wines|birth|born)"
    r"|(?:pot|whisk(?:e)?y|column|moonshine|solar|reflux) stills?|(?:sit|stand|stands|stood|standing|hold|"
    r"keep"
    r"|keeps|be|lie|lying) still"
    r"|(?:do|does|did) (?!(?:\w+ ){0,3}(?:watch|see|stream|follow|play|air|broadcast|hear|go)\b)"
    r"(?:\w+ ){1,4}live(?! (?:score|scores|stream|now|updates?|prices?|feed|coverage|tv|broadcast)\b)"
    r"|live (?:in|on (?:land|mars|earth|the moon|trees|other)|with|without|for|forever|long|longer|up to|near"
    r"|together|alone|under|off|among|inside|underground|underwater)"
    r"|(?:to|and|who|that) live (?=long|in|on|with|without|for|forever|alone)"
    r"|long lived|recent past"
    r"|(?:seconds|minutes|hours|days|weeks|months|years) (?:are |is )?(?:there )?in \d+ \w+"
    r"|(?:\d{3,}|\d+ \d{3}|hundred|hundreds|thousand|thousands|million|millions|billion|"
    r"billions) (?:of )?years ago"
    # weather, traffic, laws and ages that are something else
    r"|under the weather|weather (?:balloons?|vanes?|fronts?|maps?|stations?|satellites?)"
    r"|(?:traffic) (?:lights?|signs?|cones?|circles?)|(?:network|web|internet|website|http|packet) traffic"
    r"|laws? of (?:\w+ ){0,2}(?:gravity|gravitation|motion|thermodynamics|large numbers|cosines?|sines?|"
    r"demand"
    r"|supply|physics|nature|diminishing returns|conservation|attraction|total probability|inertia)"
    r"|(?:newton|moore|ohm|murphy|hooke|boyle|charles|kepler|kirchhoff|goodhart|conway|amdahl|snell|faraday|"
    r"benford"
    r"|gresham|hubble|coulomb|parkinson|zipf|sod|brooks|metcalfe|stokes|planck) (?:(?:first|second|third|"
    r"three) )?laws?"
    r"|law firms?|son in law|mother in law|father in law|brother in law|sister in law|daughter in law|"
    r"law school"
    r"|(?:bronze|iron|stone|ice|middle|golden|dark|gilded|jazz|space|information) ages?"
    r"|age of (?:empires|ultron|sail|enlightenment|reason|discovery|exploration|mythology|innocence|steam|"
    r"aquarius)"
    r"|version control|cover versions?|(?:director|kjv|king james) version|cost functions?|opportunity costs?"
    r"|price elasticity|sunk costs?|cost accounting|(?:shadow|reserve|strike) price (?=mean)"
    r"|visa card|record (?:labels?|players?|types?|stores?)|vinyl records?|(?:database|dns|mx|txt|"
    r"medical) records?"
    r")\b"
)

_PERIOD = (
    r"(?:day|week|weekend|month|quarter|season|year|hour|minute|morning|afternoon|evening|night|decade)s?"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NOW = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|now|nowadays|currently|current|presently|latest|newest|recent|"
    r"recently|"
    r"lately|upcoming|ongoing|live|breaking|trending|so far|to date|up to date|as of|as at|by now|"
    r"to this day|"
    r"at the moment|at present|at this point|these days|right away|just (?:now|happened|announced|released|"
    r"came)|"
    r"still|yet|already|any ?more|any longer|no longer|"
    rf"(?:this|next|last|past|previous|coming) (?:\d+ )?(?:{_PERIOD}|{_WEEKDAY})|"
    rf"(?:on|for|by) {_WEEKDAY}|in \d+ {_PERIOD}|\d+ {_PERIOD} ago)\b"
)

# --- terms and how things work --------------------------------------------------------------------

_TERMS = (
    r"inflation|deflation|interest rates?|exchange rates?|unemployment(?: rate)?|mortgage rates?|market cap"
    r"(?:italization)?|stock(?: price)?s?|prices?|population(?: density| growth)?|gdp|gross domestic product|"
    r"minimum"
    r" wage|(?:income |sales |capital gains |property |corporate )?tax(?:es| brackets?)?|vat|weather|traffic|"
    r"ceo|cto"
    r"|president|prime minister|king|queen|pope|chancellor|world records?|records?|version|versions|release|"
    r"visa"
    r"|schedule|law|laws|score|news|salary|pension|tariffs?|age|dose|dosage|poll|odds|forecast|air quality"
)
_OF_A_TERM = (
    re.compile(
        r"^(?:please |can you |could you )?(?:what is|what are|define|explain|describe|(?:the )?(?:meaning|"
        r"definition)"
        rf" of|what does) (?:a |an |the term |the word |the concept of )?(?:{_TERMS})(?: means?| stand for)?$"
    ),
    re.compile(
        r"^(?:please |can you |could you )?(?:what is|define|explain|describe|(?:the )?(?:meaning|"
        r"definition) of"
        r"|what does) an? (?:[\w.]+ ){0,3}[\w.]+(?: means?| do| stand for)?$"
    ),
    re.compile(
        r"^(?:how|why|explain how) (?:do|does|is|are) (?:[\w.]+ ){1,6}(?:work|works|calculated|determined|"
        r"formed|measured"
        r"|predicted|computed|defined|elected|chosen|caused|made|compounded|form|rise|fall|change|happen|"
        r"differ)$"
    ),
    re.compile(
        r"^(?:what is )?(?:the )?differences? between (?:a |an |the )?[\w. ]+ and (?:a |an |the )?[\w. ]+$"
    ),
    re.compile(r"^what (?:does|do) (?:[\w.]+ ){1,4}(?:mean|stand for)$"),
)

# --- the table ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of wording. ``unless`` takes the row back. A past year in the question does too, but not where
    ``held`` is set (an office, an age) and the question speaks in the present."""

    means: Volatility
    fits: re.Pattern[str]
    unless: re.Pattern[str] | None = None
    held: bool = False


def _row(
    name: str,
    limit_s: int,
    reason: str,
    fits: str,
    unless: str | None = None,
    *,
    held: bool = False,
    until_midnight: bool = False,
    personal: bool = False,
) -> Row:
    return Row(
        Volatility(name, limit_s, reason, until_midnight, personal),
        re.compile(rf"\b(?:{fits})\b"),
        None if unless is None else re.compile(rf"\b(?:{unless})\b"),
        held,
    )


_OFFICE = (
    r"ceo|cto|cfo|coo|chief executive|chair(?:man|woman|person)?|(?:vice )?president|(?:prime |foreign |"
    r"finance "
    r"|health |defen[cs]e )?minister|premier|chancellor|king|queen|monarch|emperor|sultan|emir|pope|"
    r"archbishop|bishop|"
    r"mayor|governor|senators?|congress(?:man|woman)|representative|secretary(?: general)?|speaker|leader|"
    r"head|"
    r"director(?: general)?|managers?|(?:head )?coach|captain|owners?|boss|editor(?: in chief)?|dean|"
    r"principal|rector|"
    r"ambassador|commissioner|champions?|holder|host|hosts|goalkeeper|(?:chief )?justice|first lady|prince|"
    r"princess|"
    r"heir|maintainers?|spokes(?:man|woman|person)|attorney general|treasurer|world number one|poet laureate"
)
_BEST = (
    r"tallest|highest|largest|biggest|longest|deepest|oldest|smallest|fastest|heaviest|shortest|"
    r"widest|hottest"
)
_NATURE = (
    r"mountains?|peaks?|rivers?|lakes?|oceans?|deserts?|planets?|moon|continents?|islands?|animals?|mammals?|"
    r"birds?|"
    r"fish|reptiles?|insects?|prime|element|metal|bones?|organs?|muscles?|dinosaurs?|volcano|volcanoes|"
    r"waterfalls?|"
    r"canyon|caves?|seas?|stars?|galaxy|trees?|creatures?|snakes?|country by area|words?|trench"
)
_COUNTED = (
    r"users|people|inhabitants|residents|subscribers|followers|fans|employees|members|customers|players|"
    r"downloads|"
    r"stars|views|likes|cases|deaths|casualties|satellites|astronauts|stores|shops|locations|restaurants|"
    r"patients|"
    r"students|listings|packages|apps|commits|contributors|nodes|validators|coins|goals|points|wins|titles|"
    r"trophies|"
    r"medals|albums|songs|episodes|seasons|movies|films|books|children|kids|grandchildren|wives|husbands|"
    r"grand slams|"
    r"billionaires|millionaires|companies|startups|websites|domains|cars|countries|seats|jobs|homes|houses|"
    r"refugees|"
    r"satellite launches|launches|flights|bitcoins?|blocks|transactions|proposals|parameters|exoplanets|"
    r"vaccines"
)
_FIXED = (
    r"seconds|minutes|hours|days|weeks|months|inches|feet|yards|miles|meters|metres|kilometers|kilometres|"
    r"centimeters|"
    r"centimetres|grams|kilograms|kilos|ounces|pounds|cups|tablespoons|teaspoons|liters|litres|milliliters|"
    r"pints|"
    r"quarts|gallons|bits|bytes|kilobytes|megabytes|gigabytes|continents|planets|oceans|bones|teeth|"
    r"chromosomes|sides|"
    r"faces|edges|legs|eyes|hearts|letters|vowels|strings|keys|cards|protons|electrons|neutrons|degrees|"
    r"zeros|zeroes|"
    r"digits|players are (?:on|in) a|elements|sonnets|symphonies|commandments|lines|syllables|wings|stomachs|"
    r"colou?rs|"
    r"strokes|squares|notes|octaves|ribs|muscles|vertebrae|calories"
)

ROWS: tuple[Row, ...] = (
    _row(
        "by_the_clock",
        MINUTE_S,
        "it asks for a quote or the clock, which change within a minute",
        r"(?:stock|share|coin|token|spot|futures|gold|silver|oil|crude|bitcoin|btc|eth|ethereum|crypto|"
        r"doge\w*|solana)"
        r" (?:price|prices|value|quote|quotes|worth|market)|price of (?:an? |the |one |"
        r"1 )?(?:ounce of )?(?:gold|silver|"
        r"platinum|copper|oil|crude|brent|bitcoins?|btc|eth|ether|ethereum|solana|doge\w*|[\w.]+ (?:stock|"
        r"shares?))|"
        r"(?:bitcoin|btc|ethereum|eth|gold|silver) worth|worth of (?:bitcoin|gold)|"
        r"market cap(?:italization)?|exchange"
        r" rates?|conversion rate|trading at|(?:dollar|euro|pound|yen|usd|eur|gbp|jpy) (?:to|in|vs|versus|"
        r"against) (?:the )?"
        r"(?:dollars?|euros?|pounds?|yen|usd|eur|gbp|jpy)|what time is it|time (?:is it )?in|gas fees?|"
        r"nasdaq|dow jones|"
        r"s&p 500|s p 500|ftse|nikkei|dax",
        r"what time is it (?:when|if)|why|wrong|my|charged?|applied|apply|calculated?|determined?",
    ),
    _row(
        "like_weather",
        10 * MINUTE_S,
        "it asks for conditions that change within minutes",
        r"weather|air quality|aqi|pollen(?: count)?|uv index|is it (?:raining|snowing|sunny|windy|cloudy|hot|"
        r"cold|warm|"
        r"foggy|humid|dark|safe to swim)|how (?:hot|cold|warm|windy|humid) is it|temperature (?:outside|in|"
        r"of the sea)|"
        r"traffic|wait(?:ing)? times?|flight status|delays?|delayed|power outages?|outages?|"
        r"who is (?:winning|leading|"
        r"playing)|live scores?|scores?|parking|(?:is|are) (?:[\w.]+ ){1,5}(?:down|offline|online|crowded|"
        r"busy)$|"
        r"tide|tides|surf",
        r"average|usual|usually|typical|typically|climate|normally|score sheet|film score|musical score|"
        r"credit score|"
        r"(?:body|boiling|melting|freezing|internal|safe|cooking|oven|core|room) temperature|"
        r"temperature (?:in"
        r" (?:kelvin|celsius|fahrenheit)|scale)|in space|on mars|on venus",
    ),
    _row(
        "news",
        15 * MINUTE_S,
        "it asks for news",
        r"news|headlines?|what is (?:happening|going on|new)|what has happened|any updates?|updates? on|"
        r"(?:protests?|riots?|strikes?|wildfires?|floods?|earthquakes?|outbreak|hurricane) (?:in|at|"
        r"near) [\w.]+$",
        r"news (?:article|writing|report) (?:structure|format)|how do|how does|why do|what causes",
    ),
    _row(
        "event",
        HOUR_S,
        "it asks for results or standings that change from event to event",
        r"standings|league table|polls?|polling|odds|(?:election|match|game|race|vote|exit poll|"
        r"primary) results?|"
        r"results of|line ?ups?|starting eleven|squad|roster|fixtures?|leader ?boards?|rankings?|ranked|"
        r"playlist|charts?"
        r" (?:this|now)|box office|injury|injured|transfer rumou?rs|is (?:[\w.]+ ){1,5}(?:open|closed|"
        r"available|in stock|"
        r"sold out)$|are (?:[\w.]+ ){1,5}(?:open|closed|available|in stock|sold out)$|days (?:until|till|"
        r"left|since|to go)|"
        r"(?:how long|how many (?:days|weeks|months|hours|years|sleeps)) (?:is it )?(?:until|till|since|"
        r"before|left|to go)|"
        r"countdown|what (?:day|date|month|year|week) is it|moon phase|phase of the moon|availability",
        until_midnight=True,
    ),
    _row(
        "personal",
        HOUR_S,
        "it is of the asker or of where the asker is",
        r"near(?:est to)? me|around me|around here|near here|nearby|closest to me|close to me|close by|"
        r"where am i|"
        r"who am i|(?:what|who|where|when|which|how much|how old) (?:is|are|was|were|am|do|did|have) (?:i|my|"
        r"mine)|"
        r"in my (?:area|city|town|country|street|region|state|account|wallet|calendar|inbox)|do i (?:have|"
        r"owe|need to pay)|"
        r"did i (?:\w+)|have i (?:\w+)|my (?:name|location|address|ip|ip address|account|balance|orders?|"
        r"appointments?|"
        r"birthday|e ?mails?|phone(?: number)?|portfolio|wallet|schedule|calendar|bills?|meetings?|packages?|"
        r"bookings?|"
        r"reservations?|flight|tasks?|messages?|salary|password|age|grades?|results?)|remind me|"
        r"tell me about (?:me|myself)",
        r"how (?:do|can|should|would) i (?:\w+ )?(?:reset|change|find|set|delete|recover|update|open|close|"
        r"create|add|"
        r"link|sync|back up|protect|secure|connect)",
        personal=True,
    ),
    _row(
        "price",
        DAY_S,
        "it asks for a price",
        r"how much (?:do|does|is|are|would|will)|costs?|prices?|priced|pricing|fares?|fees?|rents?|salary|"
        r"salaries|wages?|"
        r"tuition|subscription|discounts?|cheapest|deals?|net worth|worth|afford|premium",
        r"how much (?:\w+ )?(?:water|sugar|protein|caffeine|salt|energy|time|memory|blood|oxygen|"
        r"does (?:\w+ ){1,3}weigh)|"
        r"minimum wage|time complexity|worth (?:it|learning|reading)|much is \d+|costs? of (?:war|living in)|"
        r"big o",
    ),
    _row(
        "rate",
        DAY_S,
        "it asks for a rate that is set or measured anew",
        r"(?:interest|mortgage|unemployment|inflation|prime|base|policy|savings|loan|federal funds|fed funds|"
        r"deposit|"
        r"lending|crime|vaccination|approval|poverty|literacy|birth|fertility|occupancy|hash|staking|"
        r"vacancy) rates?|inflation|"
        r"unemployment|apr|apy|libor|euribor|sofr|bond yields?|treasury yields?|(?:national|public) debt|"
        r"deficit|approval"
        r" ratings?|euro ?zone rate|hash ?rate|difficulty",
    ),
    _row(
        "schedule",
        DAY_S,
        "it asks for hours, dates or a schedule",
        r"(?:opening|closing|business|office|visiting|working|store|shop|library) (?:hours|times?)|"
        r"hours of operation|open"
        r" until|what time (?:does|do|is|are)|timetables?|schedules?|scheduled|when (?:does|do|"
        r"will) (?:[\w.]+ ){1,8}(?:open|"
        r"opens|close|start|begin|air|come out|release|play|leave|depart|arrive|end|launch|expire|happen|"
        r"take place|land|"
        r"return|vote|reopen|ship)|when is (?:the )?(?:[\w.]+ ){0,6}(?:festival|conference|match|game|"
        r"election|elections|"
        r"deadline|concert|sale|super bowl|final|finals|marathon|launch|release|summit|meeting|vote|eclipse|"
        r"holiday|"
        r"easter|ramadan|diwali|thanksgiving|season|finale|premiere|exam|halving|tournament|race|gp|"
        r"grand prix)|kick ?off|"
        r"deadlines?|next (?:train|bus|flight|ferry|tram|game|match|election|elections|episode|season|"
        r"concert|eclipse|"
        r"holiday|full moon|launch|meeting|release|world cup|olympics|president|movie|film|book|album|"
        r"halving|update|"
        r"upgrade|version|gp|race|stop|departure|super bowl)|sunrise|sunset|first day of|high tide",
        r"when (?:does|do) (?:water|ice|milk|puberty|menopause|babies|the human|a (?:star|cell|baby))",
    ),
    _row(
        "release",
        DAY_S,
        "it asks for a version, a release or support of a product",
        r"versions?|release dates?|release notes|change ?log|end of life|end of support|eol|lts|road ?map|"
        r"come out|"
        r"supported|supports?|compatible|deprecated|sold|flagship|pre ?order|beta|specs|available (?:in|on|"
        r"for)|model of",
        r"versions? of (?:the )?(?:story|events|song|bible|truth|history)|support (?:group|vector|beam|"
        r"network)|supports?"
        r" (?:life|the (?:hypothesis|theory|claim|idea|view))|life support|alpha beta|beta (?:decay|cells?|"
        r"particles?|"
        r"blockers?|distribution)|evidence supports?",
    ),
    _row(
        "status_of_a_person",
        DAY_S,
        "it asks how things stand with a person or a body",
        r"(?:is|are) (?:[\w.]+ ){1,5}(?:alive|dead|married|single|dating|pregnant|retired|divorced|in jail|"
        r"in prison|"
        r"banned|legal|bankrupt|sick|ill|engaged|winning|hiring|safe|working|running for \w+)$|"
        r"who is (?:[\w.]+ ){1,5}"
        r"(?:married to|dating|engaged to|playing for|seeing)|where (?:is|does|are) (?:[\w.]+ ){1,4}(?:now|"
        r"work|working|"
        r"staying|headed)$|girlfriend|boyfriend",
    ),
    _row(
        "age",
        DAY_S,
        "it asks for an age or a time span up to now, which change at midnight",
        r"how old (?:is|are)|age of|ages? (?:is|are)|what age is|how long (?:has|have)|how long (?:is|"
        r"are) (?:[\w.]+ ){1,5}"
        r"been|how many years (?:has|have|since|old)|years old",
        r"(?:universe|earth|sun|moon|solar system|planet|milky way|galaxy|pyramids?|dinosaurs?|fossils?|"
        r"rocks?|mars|"
        r"majority|consent|mountains?) ?$|how old (?:do|must|should)|age of (?:majority|consent)|"
        r"years old (?:to|can)",
        held=True,
        until_midnight=True,
    ),
    _row(
        "count",
        DAY_S,
        "it asks for a number that grows or shrinks",
        rf"how many (?:[\w.]+ ){{0,4}}(?:{_COUNTED})|number of (?:[\w.]+ ){{0,2}}(?:{_COUNTED})|"
        rf"(?:subscriber|follower|user|"
        r"member|view|case|body|death|star) counts?|death toll|user ?base|market share|total supply|"
        r"circulating supply|"
        r"headcount",
        r"how many (?:[\w.]+ ){0,5}(?:were|was|did|died|fought|voted|attended|survived)|"
        r"how many players (?:are )?(?:on|in) a"
        r"|how many (?:\w+ )?(?:people|players|seats|points|children) (?:are|is|in|on|for) (?:a|an|each)\b",
    ),
    _row(
        "winner",
        DAY_S,
        "it asks for the last winner without saying of when",
        r"who (?:won|wins|scored|beat|got|was elected|is nominated|was nominated)|winners? of|what won|"
        r"which (?:\w+ ){1,3}won"
        r"|world champions?|defending champions?|title holders?|did (?:[\w.]+ ){1,4}win",
        r"battle|war|wars|first|(?:world|civil|punic) war|siege",
    ),
    _row(
        "office_holder",
        3 * DAY_S,
        "it asks who holds an office or a place",
        rf"who (?:is|are) (?:the |a )?(?:[\w.]+ ){{0,6}}(?:{_OFFICE})|(?:name|"
        rf"names) (?:of )?(?:the )?(?:[\w.]+ ){{0,4}}"
        rf"(?:{_OFFICE})|(?:{_OFFICE}) (?:of|in|at|for)|who (?:leads|runs|owns|heads|governs|rules|coaches|"
        rf"manages|chairs|"
        r"captains|plays|presents|hosts|represents|maintains|controls)|what (?:party|team|club|"
        r"company) (?:is|does)|which"
        r" (?:party|team|club|company) (?:is|does)|members? of (?:the )?(?:cabinet|board|council|committee|"
        r"parliament|"
        r"congress|senate|band|nato|eu|european union|brics|un security council)|who (?:is|are) (?:in|"
        r"on) (?:the )?|(?:what|"
        r"which) is the (?:ruling|governing) party",
        r"(?:first|second|third|\d+(?:st|nd|rd|th)|founding|original) (?:[\w.]+ ){0,2}"
        rf"(?:{_OFFICE})|who (?:was|were)|was the|were the|when was|kings? (?:in chess|of hearts)|"
        rf"queen (?:in chess|bee|ant)"
        r"|head of (?:the )?(?:femur|pin|state mean)|played|killed|assassinated|wrote|"
        r"powers? of (?:the )?(?:president|king)"
        r"|role of|how (?:do|does|is|are)|difference|lord of the rings|lion king",
        held=True,
    ),
    _row(
        "population",
        7 * DAY_S,
        "it asks for a population or an economic figure",
        r"populations?|gdp|gross domestic product|(?:life expectancy|median income|average (?:income|salary|"
        r"wage|house|home|"
        r"rent|age))|carbon emissions?|literacy|turnout|budget|revenue|revenues|profits?|turnover|valuation|"
        r"debt|exports?|"
        r"imports?|sales|emissions|reserves",
        r"population (?:standard deviation|variance|genetics|mean|parameter)|debt ceiling mean|"
        r"sales (?:pitch|funnel)|"
        r"export (?:default|keyword|statement)|import (?:statement|error|keyword)",
    ),
    _row(
        "law",
        7 * DAY_S,
        "it asks for law, taxes or official rules",
        r"laws?|legal|legally|illegal|lawful|tax|taxes|taxed|taxable|taxation|vat|irs|minimum wage|visas?|"
        r"customs|tariffs?|"
        r"regulations?|regulated|gdpr|allowed to|permits?|permitted|statutes?|penalt(?:y|ies)|fines? for|"
        r"age limits?|speed"
        r" limits?|(?:drinking|voting|driving|retirement|pension|consent|legal) age|pensions?|"
        r"social security|deductions?|"
        r"allowances?|brackets?|subsid(?:y|ies)|eligib\w+|entitled|banned|passport|immigration|quarantine|"
        r"how old (?:do|must)"
        r" (?:i|you|one)|age of (?:majority|consent)|sanctions?|custody|liable|sue|contract|tenant|landlord|"
        r"eviction",
    ),
    _row(
        "record",
        7 * DAY_S,
        "it asks for a record or a ranking that others may beat",
        r"world records?|records? (?:for|of|holder|in|time)|(?:olympic|national|guinness|personal|speed|"
        r"attendance) records?|"
        r"most (?:populous|populated|popular|valuable|visited|expensive|followed|subscribed|streamed|watched|"
        r"viewed|"
        r"downloaded|used|powerful|successful|decorated|capped|wins|goals|titles|medals|points|followers|"
        r"subscribers|common"
        r" (?:name|password|language)|spoken|played|starred|liked|sold|hated|corrupt|crowded|dangerous city)|"
        r"richest|"
        rf"wealthiest|poorest|{_BEST}|youngest|(?:highest|lowest) (?:grossing|paid|rated|scoring|earning)|"
        rf"best (?:selling|"
        r"\w+)|longest (?:running|serving|reigning|lived)|top (?:\d+|ten|five|three|rated|selling|scorer|"
        r"scorers)|number one|"
        r"leading (?:scorer|cause|producer|exporter|manufacturer)|world leader in|largest producer|happiest|"
        r"safest|busiest",
        rf"(?:{_BEST}) (?:[\w.]+ ){{0,2}}(?:{_NATURE})|most abundant|best (?:way|practice|practices|friend|"
        rf"man)|at best|highest"
        r" common factor|longest (?:common|increasing|path|substring)|shortest path|most common (?:element|"
        r"gas|blood)",
    ),
    _row(
        "a_number_of_something",
        7 * DAY_S,
        "it asks how many there are",
        r"how many",
        rf"how many (?:[\w.]+ ){{0,4}}(?:{_FIXED})|how many (?:[\w.]+ ){{0,5}}(?:were|was|did|died|fought|"
        rf"voted|attended)",
    ),
    _row(
        "medical",
        14 * DAY_S,
        "it asks for medical advice",
        r"symptoms?|dosages?|dos(?:e|es)|side effects?|treat(?:ment|ments|ed)?|cures?|medications?|"
        r"medicines?|vaccines?|"
        r"pregnan(?:t|cy)|diagnos\w+|blood pressure|ibuprofen|paracetamol|acetaminophen|aspirin|antibiotics?|"
        r"see a doctor|"
        r"painkillers?|overdose|contraindicat\w+|side effect|headaches?|fever|cancer|diabetes|infection|"
        r"therapy|insulin",
        r"treat(?:y|ies)|(?:discovered|invented) (?:insulin|aspirin|penicillin)|who (?:discovered|invented)",
    ),
    _row(
        "how_to",
        60 * DAY_S,
        "it asks how to do something",
        r"how (?:do|can|should|would) (?:i|you|we|one)|how to|steps to|recipes?|tutorials?|install|configure|"
        r"set up|best way"
        r" to|guide to|instructions?",
    ),
)
"""In any order: the shortest that fits counts."""

# --- years ----------------------------------------------------------------------------------------

_YEAR = re.compile(
    r"(?<![\d.#$])\b(1\d{3}|2[01]\d\d)(s)?\b(?!\.\d| (?:meters|metres|miles|km|dollars|euros|game))"
)
_NOT_A_DATE = re.compile(
    r"\b(?:since|after|from|until|till|(?:founded|built|born|established|made|released|launched|opened|died|"
    r"created|"
    r"elected|formed|invented|started|passed|adopted|signed) in) (?:\w+ )?(?:1\d{3}|2[01]\d\d)s?\b"
)
_CENTURY = re.compile(
    r"\b(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|(?:four|fif|six|seven|eigh|nin|ten|eleven|twelf|"
    r"thirteen|fourteen|"
    r"fifteen|sixteen|seventeen|eighteen|nineteen)th) century\b|\b(?:bc|bce)$"
)


_PRESENT = re.compile(r"\b(?:is|are|has|have|does|do|\w+s the)\b")


def volatility(query: str, now: datetime | None = None) -> Volatility:
    """What the wording of ``query`` says of the life of its answer. ``now``, on the asker's clock, tells past
    years from others; without it only years before ``ALWAYS_PAST_YEAR`` are past."""
    return _volatility(query, None if now is None else now.year)


def speaks_of_now(query: str) -> bool:
    """Whether the wording ties the answer to the moment of asking."""
    return _NOW.search(_shown(query)) is not None


def only_sounds_of_now(query: str) -> bool:
    """Whether every word of now is part of a name or term ("electric current"), so that a reader who knows
    single words only is mistaken."""
    flat = read(query).flat.replace("-", " ")
    return _NOW.search(flat) is not None and _NOW.search(_TRAP.sub(" ", flat)) is None


def _shown(query: str) -> str:
    return _TRAP.sub("thing", read(query).flat.replace("-", " "))


@lru_cache(maxsize=64)
def _volatility(query: str, year: int | None) -> Volatility:
    shown = _shown(query)
    found = [NOW] if _NOW.search(shown) else []
    if len(query) > HEAD_CHARS + TAIL_CHARS:
        found.append(TOO_LONG)
    steady = STEADY
    dated = _YEAR.search(_NOT_A_DATE.sub(" ", shown)) is not None or _CENTURY.search(shown) is not None
    years = [_last_year(match) for match in _YEAR.finditer(shown)]
    past = dated and all(one < (year or ALWAYS_PAST_YEAR) for one in years)
    if year is not None and any(one >= year for one in years):
        found.append(THIS_YEAR)
    if any(pattern.search(shown) for pattern in _OF_A_TERM):
        steady = OF_A_TERM
    elif past:
        steady = DATED_PAST
    for row in ROWS:
        if steady is OF_A_TERM and not row.means.personal:
            continue
        if past and not row.means.personal and not (row.held and _PRESENT.search(shown)):
            continue
        if row.fits.search(shown) and (row.unless is None or not row.unless.search(shown)):
            found.append(row.means)
    return _shortest(found) if found else steady


def _last_year(match: re.Match[str]) -> int:
    """The year, or the last one of a decade."""
    year = int(match[1])
    return year + 9 if match[2] and year % 10 == 0 else year


def _shortest(found: list[Volatility]) -> Volatility:
    """The shortest, which is personal or ends at midnight if any of them does."""
    least = min(found, key=lambda one: one.limit_s or 0)
    return Volatility(
        least.name,
        least.limit_s,
        least.reason,
        until_midnight=any(one.until_midnight for one in found),
        personal=any(one.personal for one in found),
    )

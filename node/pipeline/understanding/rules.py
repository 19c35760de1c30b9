"""What a question is about, as data: topics that no adapter claims, explanations, follow-ups.

Rules of this file:
- A ``Rule`` is a row: ``pattern`` is found and ``veto`` is not. The first row that fits decides; its name is
  the reason given.
- Patterns match words of the folded text joined by blanks (``Reading.flat``).
- Scripts without blanks are matched on the text itself, in ``SCRIPT_TOPICS``.
- Adapters claim their own texts. The topics here are what is left: live things that no adapter looks up, and
  sums and dates beyond the calculator, so that the model says that it could not instead of guessing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from node.language.reading import word_list
from node.language.wording import EXPLAINS


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a rule table. ``local`` topics are computed here, others looked up live."""

    name: str
    pattern: re.Pattern[str]
    veto: re.Pattern[str] | None = None
    local: bool = False

    def fits(self, text: str, flat: str) -> bool:
        return self.pattern.search(text) is not None and (self.veto is None or self.veto.search(flat) is None)


TEXT_CHARS = 600
"""Topic and follow-up patterns look at this much of the joined words."""


def _rule(name: str, pattern: str, veto: str | None = EXPLAINS, *, local: bool = False) -> Rule:
    return Rule(name, re.compile(pattern), re.compile(veto) if veto else None, local)


# --- topics ---------------------------------------------------------------------------------------

TOPICS: tuple[Rule, ...] = (
    # counted here, or not at all: an answer of yesterday is wrong today
    _rule(
        "a question of the calendar",
        r"\bhow many (?:seconds|minutes|hours|days|nights|sleeps|weeks|weekends|months|years)"
        r" (?:are |is |have |has )?(?:there |it |we )?(?:left |to go |passed )?"
        r"(?:until|till|til|since|before|left until|ago) \w+",
        r"\b(?:why|explain|history|should|can|safe|good|fresh|last|expires?)\b",
        local=True,
    ),
    # looked up live
    _rule(
        "asks for a price on a market",
        r"\b(?:stocks?|shares?)(?: \w+){0,2}? (?:prices?|quotes?|value|worth|trading|performance"
        r"|closing|at)\b|\b(?:price|quote|value) (?:of|for) (?:\w+ ){0,3}?(?:stocks?|shares?)\b"
        r"|\b(?:price|prices|value|worth|cost|rate) (?:of |for )?(?:\w+ ){0,2}?(?:gold|silver|platinum"
        r"|palladium|crude oil|oil|brent|natural gas|gasoline|petrol|copper)\b"
        r"|\b(?:gold|silver|platinum|crude oil|oil|brent|gas|gasoline|petrol|diesel|copper) (?:spot"
        r" )?(?:prices?|value|rate|worth)\b"
        r"|\b(?:how (?:is|are) |where is )?(?:the )?(?:dow jones|dow|nasdaq|s p 500|sp500|ftse|dax"
        r"|nikkei|stock market|markets?|wall street) (?:doing|today|now|right now|price|at|close"
        r"|closing|up|down|performance|trading)\b"
        r"|\b(?:aktienkurs|goldpreis|olpreis|precio del (?:oro|petroleo)|prix de l' or|prix du petrole"
        r"|prezzo dell' oro|preco do ouro|cours de l' action)\b",
        EXPLAINS
        + r"|\b(?:silver lining|golden|gold medal|predict|invest|fish|flea|super|fall of|crash of|19\d\d"
        r"|20\d\d)\b",
    ),
)

SCRIPT_TOPICS: tuple[Rule, ...] = (
    _rule(
        "an arithmetic expression",
        r"\d\s*(?:加|减|乘以?|除以|たす|ひく|かける|わる|足す|引く|掛ける|割る|плюс|минус|умножить на"
        r"|разделить на)\s*\d",
        None,
        local=True,
    ),
    _rule(
        "asks for a price on a market",
        r"株価|金価格|金の価格|原油価格|股价|金价|油价|цена (?:на )?(?:золот|нефт)|курс акций",
        r"なぜ|とは|为什么|почему|объясни",
    ),
)

BARE_SUM = re.compile(
    r"^(?:what is|what are|whats|what's|calculate|compute|solve|evaluate|how much is|work out"
    r"|cuanto es|cuanto son|cuanto e|quanto fa|quanto e|wieviel ist"
    r"|wie viel ist|was ist|combien font|combien fait|quanto e|сколько будет|計算して)?[\s:=]*"
    r"[-+(√]{0,4}\s*\$?\d[\d.,]*%?\s*(?:[-+*/x×÷^%!)(]|\*\*|off?\b"
    r"|mod\b)[\s\d.,+*/x×÷^%!()-]{0,200}[\d)!%]?\s*(?:=|は|です|等于多少|равно)?[\s?？=.]*$"
)
"""The whole text is a sum: two numbers and an operator, after an optional "what is"."""

NOT_A_SUM = re.compile(
    r"^\D*(?:\d{1,2}/\d{1,2}(?:/\d{2,4})?|\d{4}-\d{1,2}(?:-\d{1,2})?|24/7|\+?\d[\d() -]{6,}\d"
    r"|\d{4}\s*-\s*\d{4}|[\d.]+%?)\D*$"
)
"""Dates, phone numbers, ranges of years and single numbers look like sums."""

# --- explanations: why a generative question is one -----------------------------------------------

GENERATIVE: tuple[Rule, ...] = (
    _rule(
        "asks for an explanation",
        r"\b(?:why|explain|how (?:do|does|did|can|could|to|is|are|come)|elaborate|describe|clarify|por"
        r" que|como funciona|warum|wie funktioniert|erklare?|pourquoi|comment|explique\w*|explica\w*"
        r"|perche|spiega\w*)\b|почему|зачем|объясни|なぜ|説明|どうやって|为什么|怎么|如何|解释",
        None,
    ),
    _rule(
        "asks for a comparison or an opinion",
        r"\b(?:compare|difference|differences|versus|vs|better|best|should|pros and cons|recommend"
        r"|suggest|opinion|think|advice|vergleiche?|unterschied|diferencia|compara|mejor|meilleur\w*"
        r"|migliore|melhor)\b|сравни|лучше|比較|おすすめ|比较|推荐",
        None,
    ),
    _rule(
        "asks for a text to be written",
        r"^(?:please )?(?:write|compose|draft|create|generate|make|invent|tell me a (?:joke|story)"
        r"|translate|summari[sz]e|rewrite|rephrase|schreibe?|escribe|ecris|scrivi|escreva|ubersetze?"
        r"|traduce|traduis|traduci|traduza)\b|напиши|переведи|書いて|訳して|^写|翻译",
        None,
    ),
    _rule(
        "asks who or what something is",
        r"\b(?:who|what|which|where|when|define|meaning|definition|que|quien|cual|was|wer|wo|wann|qui"
        r"|quel|quelle|quoi|cosa|chi|quale|quem|qual|onde)\b|что|кто|где|когда|何|誰|とは|什么|谁|哪",
        None,
    ),
)

SMALL_TALK = re.compile(
    r"^(?:\w+ ){0,2}?(?:how are (?:you|things|we)(?: (?:doing|today|going|feeling|this"
    r" morning)){0,2}|how is (?:it going|life|everything|your day)(?: (?:going|today))?|what is up"
    r"|whassup|sup|how do you do"
    r"|are you (?:there|ok|okay|real|human|a (?:bot|robot|human|person)|alive|awake|listening)|who"
    r" are you|what are you|what is your name|how old are you|que tal(?: estas)?|como estas?(?:"
    r" usted)?|como te llamas"
    r"|wie geht(?: es| s)?(?: dir| ihnen)?|wie heisst du|wer bist du|comment (?:ca va|vas-tu"
    r"|allez-vous|tu t' appelles)|ca va|come (?:stai|va|sta|ti chiami)|tudo bem|como vai(?: voce)?"
    r"|quem e voce|what can you do)$"
)

# --- follow-ups -----------------------------------------------------------------------------------

PRONOUN = "its pronoun stands for something said before"

FOLLOW_UPS: tuple[Rule, ...] = (
    _rule(
        "goes on from what was said",
        r"^(?:and|what about|how about|and what about|and how about|same for|also|or|but what about"
        r"|und|und was ist mit|was ist mit|y|y que tal|que tal|et|et pour|e per|e|e o|e a|e quanto)(?:"
        r" (?:for|in|on|the|a|at|el|la|en|in|fur|am|le|pour|o|il|with|if|about)){0,2}(?:"
        r" [\w'.-]+){1,3}$",
        r"^(?:e (?:un|una|um|uma)|a )|\b(?:is|are|was|were|does|do|did|can|will|what is|how much|how"
        r" many|price|weather)\b",
    ),
    _rule(
        "asks back in one or two words",
        r"^(?:(?:but|and|so|ok|well|then|hm) )?(?:why|how|how so|how come|why not|why is that|why so"
        r"|why that|when|where|who|whom|which|which one|which ones|what|what else|who else|anything"
        r" else|since when|says who|until when|by who|by how much|how much|how many|how long|how often"
        r"|how far|really|seriously|are you sure|you sure|is that (?:so|true|right|all)|for example"
        r"|like what|such as|meaning|in what way|what for|then what|and then|so what|what then|what"
        r" now|now what|what next|and|or"
        r"|por que|y por que|como|cuando|donde|warum|wieso|wann|wo|und dann|echt|wirklich|wie das"
        r"|pourquoi|quand|comment ca|vraiment|ah bon|perche|davvero|porque|serio|y eso|como asi|почему"
        r"|а почему)$",
        None,
    ),
    _rule(
        "asks for more of the same",
        r"^(?:(?:please|can you|could you|now|ok|and|would you) ){0,3}(?:tell me more|more|more"
        r" (?:details?|examples?|info|information|please|about (?:it|that|this|him|her|them))|go on"
        r"|continue|keep going|go ahead|carry on|another(?: one)?|one more|again|elaborate(?: (?:on"
        r" )?(?:it|that|this))?|expand(?: on (?:it|that|this))?|give me (?:an example|another(?: one)?"
        r"|more(?: \w+)?|examples)|an example|example|say (?:it|that) again|repeat(?: (?:it|that))?"
        r"|(?:explain|summari[sz]e|simplify|shorten|translate|rephrase|rewrite|clarify|expand|describe"
        r"|compare|define|list|sort|prove|check|do|try|make) (?:it|that|this|them|those|these|him"
        r"|her)(?: (?:again|further|more|better|in|into|to|as|like|please|shorter|longer|simpler|for"
        r"|briefly|simply|with)\b.{0,60})?|explain (?:further|more|again|better)|in (?:more detail"
        r"|other words|simple terms|simpler terms|short|english|german|spanish|french)(?: please)?"
        r"|shorter|simpler|longer|mas|cuentame mas|dime mas|mehr(?: davon| dazu)?|erzahl mir mehr"
        r"|weiter|plus de details|dis m' en plus|continue[rz]?|dimmi di piu|conte mais|continua)(?:"
        r" please)?$"
        r"|^what (?:do you mean|did you mean|does (?:it|that|this) mean|was that|is that|is this|is it"
        r"|are they|are those|are these)(?: by (?:that|it|this))?$|^(?:the|that) (?:first|second|third"
        r"|last|other|next|previous) one\b"
        r"|^(?:what|who) (?:is|was|are|were) the (?:first|second|third|other|next|last|previous)"
        r" (?:one|ones)$",
        None,
    ),
    _rule(
        "names only a day or a place to go on with",
        r"^(?:and |or )?(?:tomorrow|today|yesterday|tonight|next (?:week|month|year|weekend)|last"
        r" (?:week|month|year|night)|this (?:week|weekend|month)|(?:on )?(?:mon|tues|wednes|thurs|fri"
        r"|satur|sun)day|(?:in|for) (?!general|total|short|detail|fact|sale|free|rent"
        r"|example)[\w'-]+(?: [\w'-]+){0,2}|manana|morgen|demain|domani|amanha|then)$",
        r"\b(?:is|are|was|were|do|does|did|can|could|how|who|what|which|where|why)\b",
    ),
    _rule(
        PRONOUN,
        # nothing but question words, auxiliaries and the like before the pronoun: what it stands for was
        # said before
        r"^(?:(?:and|so|but|ok|then|also|please|tell me|do you know|exactly|approximately|about|in|at"
        r"|on|for|by|to|from|with|of|as|what|who|when|where|why|how|which|whose"
        r"|much|many|long|old|tall|big|far|often|fast|high|rich|large|expensive|good|year|day|date"
        r"|time|city|country|place|month|age|kind|type|is|are|was|were|do|does|did|has|have|had|can"
        r"|could|will|would|should|may|might|not|explain|describe|compare|define|tell|me|give|show"
        r"|list|name|else|did|there|any|other|people|all|the|capital|price|founder|population) ){1,6}?"
        r"(?:he|she|him|her|his|they|them|their|its|it)(?: [\w'-]+){0,4}$",
        r"\bit (?:is |be |been |was |get |still |really |also |going to |ever )?(?:be )?(?:true"
        r"|possible|ok|okay|legal|illegal|safe|worth|necessary|normal|bad|good|better|best|wrong|right"
        r"|important|dangerous|healthy|hard|easy|easier|crime|a crime|an?|feel|feels|the|benefit|say"
        r"|says|saying|cost me|cost for|quickly"
        r"|difficult|common|rude|weird|too late|likely|correct|fair|allowed|ethical|moral|cheaper"
        r"|advisable|wise|useful|harmful|like|mean|the case|just me|cost to|rain|raining|snow|snowing"
        r"|hot|cold|warm|sunny|windy|hail|dark|daylight"
        r"|cloudy|humid|take|takes|matter|a good idea|a bad idea|time|late|early)\b|\b(?:time|day|date"
        r"|year|month|weekday|what it) (?:is|was|will|takes) it\b|\bis it (?:in|on) \w+ (?:now|today"
        r"|right now)\b|\bwhat is it (?:like|about|with|called when)\b"
        r"|\bit (?:take|takes|took|mean|means) (?:to|for|that|when|if|a|an|the)\b|\b(?:their|they|them"
        r"|its|his|her) .{0,40}\b(?:if|when) (?:a|an|the)\b|\bit that\b",
    ),
    _rule(
        PRONOUN,
        r"^(?:(?:and|so|but|ok|then|what|who|when|where|why|how|is|are|was|were|do|does|did|can|could"
        r"|will|would|explain|about|much|many|long|old|invented|wrote|made|built|discovered|founded"
        r"|owns|created|said) ){1,5}?(?:that|this|these|those|there)"
        r"(?: (?:mean|means|work|works|so|true|possible|called|correct|right|about|happen|happened"
        r"|again|further|now|exactly|expensive|legal|safe|real|in|for|to|then|affect|compare|cost|help"
        r"|matter|too|better|worse|important|from|made|named|founded|built|created"
        r"|invented)\b.{0,40})?$",
        r"\b(?:is|are|was|were|do|does|will|would|has|how many \w+ are) there (?!now|too|then"
        r"|again)\w+|\bwhat is (?:that|this) \w+ (?:called|named)\b",
    ),
)


def follow_up(flat: str) -> str | None:
    """Why the text, by its wording alone, goes on from something said before; None when it does not."""
    return next((rule.name for rule in FOLLOW_UPS if rule.fits(flat, flat)), None)


NO_CONTENT = frozenset(
    word_list(
        "a an the and or but so then is are was were be am do does did have has had can could will"
        " would shall should may might"
        " must what who whom whose which when where why how it its he she they him her his them their"
        " we us you your i me my this"
        " that these those there here of in on at by for from to with about as if not no yes ok okay"
        " please really sure else more"
        " much many long one ones any some all way like just also too very"
        " que cual como donde cuando quien por y o no si was wer wie wo wann warum und ist das es qui"
        " quoi quand comment pourquoi et"
        " ou chi cosa dove quando perche e come"
    )
)
"""A question made of these alone asks about something that is not in it."""

_REPEATED = re.compile(r"(.)\1+")
_ONE_SOUND = re.compile(r"sch|tch|ch|ck|gh|ng|nk|ph|sh|sp|st|sz|cz|th|tr|wh|wr|zh")
_NO_VOWELS = re.compile(r"[^\W\d_aeiouy]{5,}")
_NO_SYLLABLE = re.compile(r"[^\W\d_aeiouy]{6,}")
_MIXED = re.compile(r"(?=.*\d)(?=.*[a-z].*[a-z])[b-df-hj-np-tv-xz0-9]{3,12}")
_SHORT_FORMS = frozenset(word_list("https xhtml mysql dhcpd ftps pgsql nvlink xhtml5"))
_MIXED_MIN = 2


def names_nothing(words: Sequence[str]) -> bool:
    """Whether nothing in the text can be looked up: its words are all listed ones, or noise from a keyboard
    ("asdfghjkl", "xj7 kq2 zz"). Abbreviations have no vowels either, so it takes a long row of consonants or
    several words of letters mixed with digits, and nothing else beside them."""
    rest = [word for word in words if word not in NO_CONTENT]
    if not rest or all(not word.isascii() for word in rest):
        return not rest
    return _is_noise(rest)


def _is_noise(words: Sequence[str]) -> bool:
    if not all(word.isascii() and (_is_row(word) or not _has_syllable(word)) for word in words):
        return False
    if any(_is_row(word) for word in words):
        return True
    mixed = {word for word in words if _MIXED.fullmatch(word)}
    heads = {word.rstrip("0123456789") for word in mixed}  # "mp3 mp4" are of one family
    return len(words) > _MIXED_MIN and len(heads) >= _MIXED_MIN


def _is_row(word: str) -> bool:
    """A row of consonants that no language says."""
    word = _REPEATED.sub(r"\1", word)  # "pfffft"
    if word in _SHORT_FORMS:
        return False
    return (
        _NO_VOWELS.fullmatch(word) is not None or _NO_SYLLABLE.search(_ONE_SOUND.sub("t", word)) is not None
    )


def _has_syllable(word: str) -> bool:
    return any(char in "aeiouy" for char in word) or not any(char.isalpha() for char in word)

"""What asks and what tells, language by language, as data.

Rules of this file:
- One ``Language`` per language holds everything that is said in words of that language; adding words is
  editing a row. ``question`` holds the one loop that reads these rows.
- Patterns match the canonical sentence of ``reading``: lower case, no accents, contractions written out,
  words joined by one blank, commas kept as words of their own, openers ("hello", "so") already dropped.
- Patterns are anchored or made of bounded repeats, so that none is more than linear on hostile input.
- Order matters: the first rule that fits decides. Its name is the reason that the caller is given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise


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
    question. ``remarks`` are whole sentences that only react: thanks for something, comfort, assent."""

    code: str
    common: frozenset[str]
    greetings: frozenset[str]
    social: frozenset[str]
    openers: frozenset[str]
    remarks: re.Pattern[str]
    gate: tuple[GateRule, ...]
    hurried: re.Pattern[str]
    """Wording whose answer depends on the day it is asked."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _asks(name: str, pattern: str) -> GateRule:
    return GateRule(name, True, re.compile(_fill(pattern)))


def _tells(name: str, pattern: str) -> GateRule:
    return GateRule(name, False, re.compile(_fill(pattern)))


# --- English word classes -------------------------------------------------------------------------

_REAL_WORDS = _set("hat wat ho hw wo wen hen hose woe wee were wear wy wit hic hwy whit wig")


def _typed(word: str) -> set[str]:
    """``word`` with one slip of the finger: two letters swapped, one left out, one doubled."""
    swapped = {word[:i] + b + a + word[i + 2 :] for i, (a, b) in enumerate(pairwise(word))}
    dropped = {word[:i] + word[i + 1 :] for i in range(len(word))} if len(word) > 3 else set[str]()
    doubled = {word[: i + 1] + word[i:] for i in range(len(word))}
    return (swapped | dropped | doubled) - _REAL_WORDS - {word}


_WH_WORDS = ("what", "who", "whom", "whose", "which", "when", "where", "why", "how")
_SLIPS = sorted({slip for word in _WH_WORDS for slip in _typed(word)} - set(_WH_WORDS) | {"wat", "wut"})
WH = "|".join((*_WH_WORDS, *_SLIPS))

_CLASSES = {
    "WH": WH,
    "AUX": "is|are|was|were|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must|am",
    "BE": "is|are|was|were",
    "SUBJ": "i|you|he|she|it|we|they|there|this|that|these|those|someone|anyone|anybody|everyone|people|one",
    "PRON": "i|you|he|she|it|we|they|there",
    "DET": "a|an|the|my|your|his|her|its|our|their|some|any|every|each|no|all|both|this|that|these|those|it"
    "|him|them|us|me|you|one|two|three|another|lots|so|too|very",
    "PREP": "in|on|at|by|for|from|to|of|with|under|about|during|until|through|near|per|around|than|against"
    "|between|within|into|upon|since",
    "INFO": "list|summary|explanation|overview|description|example|examples|definition|translation|comparison"
    "|recipe|plan|quote|review|guide|tutorial|recommendation|recommendations|suggestion|suggestions|advice"
    "|information|info|details|detail|help|assistance|answer|answers|idea|ideas|tips|instructions|steps"
    "|report|update|breakdown|analysis|price|forecast|weather|score|scores|news|flight|flights|way|code"
    "|script|function|poem|story|essay|letter|email|number|name|names|address|refund|recap",
    "LEARN": "know|learn about|learn how|understand|find out|figure out|hear about|ask|check|confirm|compare"
    "|calculate|convert|see (?:how|what|why|if|whether|the|all|a list|some)|find (?:a|an|the|some|out|my)"
    "|get (?:a|an|some|the) (?:list|summary|quote|flight|refund|overview|explanation|update)",
    "TELLME": "tell|give|show|send|find|get|list|explain|describe|teach|read|write|name|bring|name|summarize"
    "|summarise|translate|calculate|compute|convert|help",
    # Verbs that open a request for words, facts or figures.
    "ASKVERB": "explain|describe|define|summari[sz]e|sum"
    " up|outline|compare|contrast|translate|write|compose|draft"
    "|calculate|compute|convert|solve|evaluate|simplify|find|name|list|enumerate|teach|suggest|recommend"
    "|generate|create|make|build|discuss|analy[sz]e|elaborate|clarify|provide|identify|look up|lookup|search"
    "|google|rank|rewrite|rephrase|paraphrase|proofread|debug|refactor|implement|design|imagine|pretend|spell"
    "|pronounce|expand|predict|estimate|fetch|retrieve|pull up|brief|inform|update me|walk"
    " (?:me|us)|break down"
    "|talk (?:about|me|us)|guess|pick|choose|answer|repeat|tell|give|show|help|recite|sing|quiz|count|sort"
    "|add|subtract|multiply|divide|round|factor|differentiate|integrate|prove|derive|convince|advise|invent"
    "|illustrate|state|mention|recap|review|report|research|investigate|determine|deduce|infer|interpret|plan"
    "|prepare|act as|play|book|remind|set|turn|open|check|say|sketch|display|return"
    " (?:me|us|the|all)|verify|count|please|format|transcribe|classify|extract"
    "|detail|specify|formulate|brainstorm|tl dr|tldr|eli5|get|send|ask|read",
    # Finite verbs that a noun phrase does not hold.
    "PAST": "went|gave|took|saw|came|became|began|bought|brought|chose|drank|drove|ate|fell|felt|flew|forgot"
    "|froze|grew|knew|lent|ran|rang|rode|said|sang|sat|shook|slept|stole|stood|swam|threw|told|understood|woke"
    "|wore|wrote|got|thought|kept|heard|sold|spent|rained|snowed|loved|liked|enjoyed|hated|wanted|needed|tried"
    "|decided|hoped|wished|seemed|looked|happened|arrived|died|laughed|cried|smiled|crashed|jumped|dropped"
    "|rallied|surged|plunged|soared|tumbled|climbed|slipped|moved|worked|walked|talked|failed|passed out"
    "|started|finished|ended|stopped|visited|watched|helped|cooked|lived|stayed|traveled|travelled|agreed"
    "|thanked|promised|believed|learned|reached|gained|rose to|rose by|beats?|announced|released its|lost",
    "THIRD": "likes|loves|hates|wants|thinks|says|goes|seems|feels|knows|makes|gets|takes|gives|eats|drinks"
    "|sleeps|tastes|smells|sucks|keeps|becomes|remains|depends|contains|includes|appears|belongs|boils|barks"
    "|shines|rises|freezes|melts|flows|grows|falls|comes|prefers|enjoys|believes|hopes|requires|consists"
    "|lacks|turns|revolves|orbits|sits|stands|allows|stores|uses|provides|produces|uses|exists|revolve|brings"
    "|speaks|ensures|creates|offers|supports",
    # Forms that are nouns or participles as well: verbs only before something that an object starts with.
    "LOOSE": "needs|works|lives|costs|means|looks|plays|runs|starts|ends|helps|sets|rocks|sounds|rules|shows"
    "|leads|visits|walks|left|made|found|lost|built|put|read|cost|hit|cut|set|paid|met|led|held|caught|sent"
    "|taught|drew|broke|spoke|won|founded|directed|invented|discovered|called|named|used|played|killed|passed"
    "|opened|closed|changed|created|reported|beat|has|keep|tells|asks|returns|runs|matters|moves|reads|writes"
    "|points|holds",
    "JUDGE": "nice|lovely|sweet|cute|funny|sad|awful|terrible|wonderful|great|good|bad|cool|amazing|awesome"
    "|boring|annoying|interesting|strange|weird|odd|beautiful|pretty|kind|rude|silly|stupid|crazy|embarrassing"
    "|exciting|fun|fine|ok|okay|perfect|horrible|gorgeous|adorable|dare|thoughtful|true|wrong|right|fantastic"
    "|excellent|brilliant|delicious|disappointing|unfortunate|lucky|impressive|super|sick|neat|sweet",
}


_NUMERAL = r"(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|a hundred)"


def _fill(pattern: str) -> str:
    for name in re.findall(r"<([A-Z]+)>", pattern):
        pattern = pattern.replace(f"<{name}>", f"(?:{_CLASSES[name]})")
    return pattern


ENGLISH = Language(
    code="en",
    common=_set(
        "the of and to in is are was what how who why when where which do does did can will would"
        " should a an for"
        " on with my i you it this that from at about me there have has not be if by or as we they he"
        " she his her"
    ),
    greetings=_set(
        "hi hello hey hiya howdy yo greetings morning afternoon evening night thanks thank thx ty"
        " cheers ok okay k"
        " yes yep yeah yup no nope nah sure lol lmao haha hahaha hehe rofl wow cool great nice"
        " awesome perfect"
        " sweet bye goodbye later welcome sorry congrats congratulations bravo exactly agreed indeed"
        " absolutely"
        " definitely totally right true correct alright fine good amazing brilliant excellent fantastic super"
        " wonderful beautiful lovely hmm hm oh ah aha ugh yay oops whatever nevermind understood noted hello"
        " enough understood interesting roger deal done please birthday christmas year luck job cya"
    ),
    social=_set(
        "there everyone all guys folks friend friends buddy mate man dude sir madam bot assistant"
        " again you so much"
        " very a lot for your the it i got gotcha see tomorrow soon then and that this is was my me"
        " too well work job"
        " point idea one stuff day happy merry new have to not bad of course never mind problem"
        " worries all thing"
        " news sounds makes sense fair no help today really quite just in advance bro team world weekend day"
        " anyway back ya works for effort try luck as always same here thanks"
    ),
    openers=_set(
        "hi hello hey hiya ok okay so and but well also please um uh uhm hmm oh btw yo now then sorry"
        " just actually"
        " thanks alright greetings question q quick dear kindly anyway like basically honestly ah yes"
        " no right"
        " hallo folks everyone guys siri alexa task prompt query lol lmao haha hahaha wow omg nah"
        " nope yep yeah"
    ),
    remarks=re.compile(
        _fill(
            r"^(?:(?:(?:many|so many|lots of|a lot of) )?(?:thanks|thank you|thx|cheers|"
            r"ty)(?: (?:so much|a lot|very much|again|a bunch|a million))? for\b(?! (?:now , ))[^,]*|"
            r"(?:i am |i was )?(?:just|only) (?:\w+ ){0,2}?(?:kidding|joking|saying|checking(?: in)?|"
            r"browsing|passing (?:by|through)|playing|messing(?: around)?|teasing|trolling|chatting|"
            r"looking around|testing)(?: (?:around|anyway|lol|haha))?|(?:sure|yes|ok|okay|yeah|yep|"
            r"alright|well|hey|fine) ,? ?why not|(?:no|not a) (?:idea|clue)(?: (?:tbh|honestly|"
            r"sorry|at all|really|either|mate|lol))?|nothing(?: (?:really|much|else|special|"
            r"for now))?(?: ,? ?thanks| ,? ?thank you)?|not what (?:i|we) [^,]*|(?:i )?(?:gotta|"
            r"got to|have to|need to|must) (?:go|run|leave|sleep)(?: (?:now|soon|to (?:bed|work|"
            r"sleep)))?|(?:oops|whoops|ouch|ugh|yikes|phew|yay|hooray|eww|yuck|aww)(?: ,? ?(?!<WH>\b|"
            r"<AUX>\b)[\w' ]{1,40})?|(?:it is |that is )?(?:no|not a) (?:problem|worries|big deal|"
            r"prob|biggie)(?: at all)?|(?:do not|please do not) (?:worry|bother|"
            r"mind)(?: about [^,]*)?|(?:all|that is all|it is all) (?:good|clear|fine|set|"
            r"done)(?: (?:here|now|thanks))?|(?:my|sorry) (?:bad|mistake|fault)|(?:i )?take (?:it|"
            r"that) back|same (?:here|to you)|you (?:too|as well)|me (?:too|neither))$"
        )
    ),
    gate=(
        _asks("asks for something", r"^(?:[^ ]+ ){4,}(?:please|pls|plz)$"),
        _asks("asks for an explanation", r"(?:^|, )(?:please )?explain (?:that|this|it|the)\b[^,]{0,30}$"),
        _asks(
            "asks for an explanation",
            r"^[^,]{1,60}, (?:i )?(?:have )?never (?:really |quite |fully )?(?:understood|got)"
            r" (?:it|that|this)$",
        ),
        # A wish or a trouble asks what to do about it; a sentence of few words ("I need coffee") only tells.
        _asks(
            "a wish or a trouble",
            r"^(?=(?:\S+ ){5})(?:(?:i|we) (?:still |really )?(?:need|want|would like|wish)"
            r" (?:to (?!(?:go|sleep|leave|eat|visit|travel|live|become)\b)(?:\w+ )"
            r"|(?:a|an|the|my|our|another|new|more)\b)"
            r"|(?:i|we) (?:can ?not|could not|did not|do not|have not|never|am unable to|still have not)"
            r" (?:\w+ )?(?:get|got|find|see|receive|received|log|access|use|withdraw|pay|transfer|verify"
            r"|activate|top|order|cancel|change|reset|open|recogni[sz]e|authori[sz]e|make|made)\b"
            r"|(?:i|we) (?:was|were|got|have been) (?:\w+ )?(?:charged|billed|blocked|locked|refused)\b"
            r"|(?:my|our) (?:[\w']+ ){1,4}?(?:(?:(?:has|have|is|was|does|did|will) not|never|keeps|still)"
            r" (?:\w+ ){0,2}?(?:work\w*|arriv\w+|come|came|show\w*|accept\w*|go through|gone through)"
            r"|(?:was|got|is|has been) (?:declin\w+|reject\w+|blocked|stolen|charged|swallowed))\b)",
        ),
        _asks(
            "names what is wanted of something",
            r"^(?=(?:\S+ ){6})(?:the )?(?:(?:tele)?phone number|address|e-?mail(?: address)?|name|price|cost"
            r"|fee|opening hours|date|size|weight|height|depth|distance|colou?r|age|recipe|meaning"
            r"|definition|list|password|code|reason|(?:best|easiest|fastest|cheapest|safest) (?:way|time"
            r"|place)) "
            r"(?:of|for|to|from|between|in|at|why)\b"
            r"(?!(?:(?!\b(?:where|that|which|who|when|if|so|i|we|you)\b).)*"
            r"\b(?:is|was|are|were|has|have|had|will|went|goes|seems|makes|made|got|keeps|rose|fell)\b)",
        ),
        # what sounds like asking and does not
        _tells(
            "an exclamation",
            r"^(?:what|such) an? (?:\w+ ){0,5}\w+$(?<! is)(?<! are)(?<! was)(?<! do)(?<! does)(?<! mean)",
        ),
        _tells(
            "an exclamation", r"^how (?:very |absolutely |truly )?<JUDGE>(?: of you| (?:it|that|this) is)?$"
        ),
        _tells("a figure of speech", r"^(?:who (?:cares|knows|asked)|whatever|why thank you|how dare you)\b"),
        _tells(
            "a figure of speech",
            r"^(?:for what it is worth|from what (?:i|we)|in which case|as (?:who|what|when|how)|after"
            r" which)\b",
        ),
        _tells(
            "a remark",
            r"^<JUDGE> (?:job|work|idea|point|one|stuff|thing|day|weather|try|question|answer|morning"
            r"|evening|night|luck|call"
            r"|news|game|catch|story|joke|shot|effort|move|choice|vibes|times|show)"
            r"(?: (?:today|outside|everyone|guys|team|here|there|now|man|dude|mate|indeed))?$",
        ),
        _tells(
            "a remark",
            r"^(?:(?:test|testing|nothing|anything)(?: test(?:ing)?| \d+)*|the end|asking for a friend)$",
        ),
        _tells("a remark", r"^(?:congratulations|congrats)\b"),
        _tells("a remark", r"^(?:guess what|look at|no (?:idea|clue)(?: \w+)?$|have no idea)"),
        # indirect questions and requests
        _asks(
            "asks indirectly",
            r"^(?:\w+ ){0,3}(?:i|we) (?:\w+ ){0,3}?(?:wonder|wondering|curious)\b(?! woman)",
        ),
        _asks(
            "asks indirectly",
            r"\b(?:i|we) (?:(?:would|do|did|am|are|was|were|have|had|just|also|really|only|still|now) ){0,3}"
            r"(?:(?:like|love|want|wanted|need|needed|wish|trying|hoping|hope|looking|interested)"
            r" (?:to|in|for) |"
            r"interested in |have to )(?:please )?(?:<LEARN>|knowing|learning|understanding|finding out)\b",
        ),
        _asks(
            "asks indirectly",
            r"\bi (?:do|can|could|did|still do|still can) not (?:really |quite |fully )?"
            r"(?:understand|get|see|grasp|figure out|find out|tell) (?:<WH>|if|whether)\b",
        ),
        # what somebody once did, or what oneself should say: nothing that another could answer
        _tells(
            "tells something",
            r"^i (?:really |just |still )?(?:do not (?:know|remember)|forgot|forget|am not sure) <WH>"
            r" (?:(?:else )?to (?:say|do|think|feel|believe|tell you|write|add|thank)\b.{0,20}$"
            r"|(?:he|she|they|we|it) (?:\w+ ){0,3}(?:<PAST>|left|did|said|was|were|called|meant)\b.{0,20}$"
            r"|(?:\w+ ){1,3}(?:me|us)(?: (?:that|this|it))?$|(?:i|we) (?:<PAST>|put|left|parked|was|were)\b)",
        ),
        _tells(
            "tells something",
            r"^(?:nobody|no one|everyone|everybody|somebody|someone) (?:really |even )?"
            r"(?:<THIRD>|<PAST>|cares|wonders|asked|can|will|would|should|is|was|has|had)\b",
        ),
        _tells("tells something", r"^NUM0 (?:[\w'-]+ ){1,5}equals NUM0$".replace("NUM0", _NUMERAL)),
        _asks(
            "asks indirectly",
            r"\bi (?:do not know|forgot|forget|am not sure|am unsure|am confused about) <WH>\b",
        ),
        _asks(
            "asks indirectly",
            r"^(?:i (?:do not know|am not sure|am unsure)|not sure|no idea|do not know|unsure|any"
            r" idea) (?:<WH>|if)\b",
        ),
        _asks(
            "asks for something",
            r"\b(?:i|we) (?:(?!not )\w+ ){0,2}?(?:need|want|require|would like|would love|would"
            r" appreciate|am looking for"
            r"|are looking for|am searching for|am after)"
            r" (?:(?:a|an|the|some|more|your|all|any|any|of|quick|short|brief|detailed|good|\w+)"
            r" ){0,4}<INFO>\b",
        ),
        _asks("asks for something", r"\b(?:i|we) (?:\w+ ){0,2}?(?:need|want|like) (?:you|u) to\b"),
        _asks(
            "asks for something", r"^(?:i|we) would (?:like|love|appreciate) (?!to\b|it\b|that\b|if\b)\w+ \w+"
        ),
        _asks(
            "asks for something",
            r"^(?:i|we) (?:would like|want|need|am looking|are looking) to (?:book|fly|order|schedule"
            r"|cancel|compare"
            r"|translate|calculate|convert|know|ask|go from|get from|return|change my|see all|see the)\b",
        ),
        _asks(
            "asks for something",
            r"^(?:i am |we are )?(?:just )?(?:wondering|curious|looking for|searching for|trying to"
            r" (?:find|understand"
            r"|figure|get|decide|learn)|need (?:help|info|information|advice|to know)|want to know"
            r"|help needed"
            r"|would love to know|need a|need an|need the)\b",
        ),
        _asks(
            "names a question", r"^(?:my |a |the |one |here is (?:a|my) )?(?:next |other |last )?question\b"
        ),
        _asks(
            "names a question",
            r"\bi (?:have|had|got) (?:a|an|another|one|some|two|the) (?:\w+ ){0,2}questions?\b",
        ),
        _asks("asks for something", r"(?:^|, |please |and |so |then |but )<TELLME> (?:me|us)\b(?! a break)"),
        _asks("asks for something", r"\b(?:please|kindly) (?:\w+ )?<ASKVERB>\b"),
        _asks("asks for something", r"\blet me know\b (?!if you need|when you)\w+"),
        _asks(
            "asks whether somebody can",
            r"\b(?:could|can|would|will) you (?:please |kindly |also |just )?<ASKVERB>\b",
        ),
        # tags
        _asks(
            "a question tag",
            r" , (?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|am)"
            r" (?:not )?<PRON>(?: not)?$",
        ),
        _asks(
            "a question tag",
            r" (?:is|are|was|were|does|did|has|have|can|could|will|would|should) not <PRON>$| do not"
            r" you(?: think)?$",
        ),
        _asks(
            "a question tag",
            r" , (?:right|correct|eh|huh|innit|or not|or what|yes or no)$| (?:yes or no|or not)$",
        ),
        # inversion that only a question has, wherever it stands
        _asks(
            "a question inside the sentence",
            r"\b<WH>(?: (?!<PRON> )\w+){0,3} (?:do|does|did|can|could|will|would|should|is|are|was"
            r"|were|have|has)"
            r" (?:not )?<PRON>\b",
        ),
        _asks(
            "a question inside the sentence",
            r"^(?!i |you |he |she |we |they )(?:[\w'.-]+ ){1,14}?how (?:many|much|long|old|far|tall)"
            r" (?:[\w'.-]+ ){0,3}"
            r"(?:is|are|was|were|do|does|did|will|would|can|should|left|remain)\b",
        ),
        _asks(
            "a question inside the sentence",
            r"^(?:in|on|at|for|if|given|assuming|suppose|supposing|since|when|after|before|of|between"
            r"|among|considering"
            r"|based on|according to|with|during|as of|while|because|though|although|unless|about"
            r"|regarding|from)"
            r"\b[^,]* , (?:then |so |and )?(?:(?:in |at |on |to |for |by )?(?:<WH>|<AUX>)|<ASKVERB>)\b",
        ),
        _asks(
            "a question inside the sentence", r" , (?:so |and |but |then |now )?(?:what|how|why)\b(?! ever\b)"
        ),
        _asks(
            "a question inside the sentence",
            r" , (?:so |and |but |then |now )?(?:when|where|(?:at|in|on|by|until|for|to|from) (?:what|which)"
            r" \w+) (?:<AUX>) (?:not )?(?:<SUBJ>|the|a|an|my|your|our|his|her|their)\b",
        ),
        _asks(
            "asks for something",
            r"^(?:thanks|thank you|thx|ok|okay|great|nice|cool|perfect|got it|sorry)\b.{0,80} ,"
            r" (?:and |so |then |but |now |please |can you |could you ){1,3}<ASKVERB>\b",
        ),
        _asks("asks for help", r" , (?:please |any )?help(?: (?:me|us|please|needed|with [^,]*))?$"),
        _asks(
            "ends with a question",
            r"(?<!^that )(?<!^it )(?<!^this )\b<BE> (?:what|who|where|when|which \w+)"
            r"(?: (?:exactly|again|then|now|precisely))?$",
        ),
        _asks(
            "ends with a question",
            r"(?<! know )(?<! matter )(?<! sure )(?<! of )(?<! care )\bhow (?:much|many|long|far|old)"
            r"(?: (?:is|are|would|does|will) (?:that|it|this|they)(?: (?:be|cost|make|come to))?)?$",
        ),
        _asks("a question inside the sentence", r" , (?:<AUX>) (?:not )?<PRON> \w+"),
        _asks(
            "a question inside the sentence",
            r" , (?:so |and |but |then )?(?:do|does|is|are|can|could|will|would|should) "
            r"(?:that|this|these|those|any|some|(?:any|some)(?:body|one|thing)) \w+"
            r"| , (?:so |and |but |then )?(?:is|are|can|could|will|would|should) (?:the|my|our|your|all) \w+",
        ),
        _asks(
            "a question inside the sentence",
            r"^(?!i |you |he |she |we |they |it |that |this )(?:[\w'.-]+ ){1,14}?"
            r"(?:how (?:many|much)|what (?:number|amount|kind|type|percentage) of|which (?:ones?|of)"
            r"|(?:in|by|to|at|of|for)"
            r" (?:which|what|whom))\b",
        ),
        _asks(
            "a question inside the sentence",
            r" (?:and|but|so|then) (?:<WH>) (?:<AUX>) (?:<SUBJ>|the|a|an|my|your)\b",
        ),
        _asks(
            "a question inside the sentence",
            r"^(?:[\w'.,-]+ ){2,20}?(?<!so )(?<!nor )(?<!as )(?<!than )(?<!neither )(?<!can )"
            r"(?:can|could|should|do|does|did) (?:i|we) (?!will|would|can|am|have|hope|think|know|want"
            r"|love|like)\w+",
        ),
        # plain subjects: a clause that tells
        _tells(
            "tells something",
            r"^(?:(?:today|yesterday|tomorrow|tonight|unfortunately|fortunately|personally|sometimes"
            r"|usually|maybe"
            r"|perhaps|luckily|sadly|hopefully|apparently|obviously|clearly|lately|recently|finally"
            r"|again|once|still"
            r"|last (?:week|night|month|year)|this (?:morning|week|year)|in my opinion|of course|for"
            r" me|to me|because"
            r"|since|if|when|while|as|although|though|after|before|until|unless|whenever|even if"
            r"|because|both|all of"
            r"|most of|half of|each of|none of|some of|one of|,) ){0,4}"
            r"(?:i|you|he|she|we|they) (?!who\b|what\b|how\b)[\w'-]+(?! what\b| why\b| how\b)",
        ),
        _tells(
            "tells something",
            r"^(?:it|this|that|these|those|there|here) (?:\w+ ){0,2}?(?:<AUX>|<THIRD>|<PAST>)\b",
        ),
        _tells(
            "tells something",
            r"^(?:it|this|that|these|those) (?:works|needs|looks|sounds|means|costs|rocks|helps)\b",
        ),
        _tells(
            "tells something", r"^what (?:i|we|he|she|they|you) (?:\w+ ){1,5}(?:is|was) (?!the best|best)\w+"
        ),
        _tells(
            "tells when something is so",
            r"^(?:when|while|where|whenever) (?!<AUX>|to\b|exactly\b)[^,]* , (?!(?:so |then |and"
            r" )?(?:<WH>|<AUX>|<ASKVERB>)\b)\w+",
        ),
        _tells(
            "tells when something is so",
            r"^when (?:i|he|she|we|they) (?:was|were|am|are|got|had|went|came)\b",
        ),
        # question words and inverted auxiliaries in front
        _asks("opens with a question word", r"^(?:<PREP> )?(?:the )?<WH>\b"),
        _asks("asks how about", r"^(?:anyone|anybody|any|ever|mind if|care to|know any|got any|up for)\b"),
        _tells(
            "tells in short",
            r"^(?:will|would|could|should|might|may|must|can|shall) (?:not )?(?:be|do|have|love|like"
            r"|never|also|try"
            r"|call|see you|let you|definitely|probably|get back|keep|wait)\b",
        ),
        _tells("tells in short", r"^(?:is|was|were|are|has|had|have) (?:not )?been\b"),
        _tells(
            "tells in short",
            r"^(?:is|was|were|are) (?:not )?(?:(?:so|very|really|pretty|quite|too|just) )?<JUDGE>$",
        ),
        _tells("tells in short", r"^(?:was|were) (?:a|an|so|just|my|quite|such)\b"),
        _tells(
            "tells in short",
            r"^(?:am|was) (?:so|very|really|just|going|feeling|trying|thinking|about|at|on|in)\b",
        ),
        _tells("wishes something", r"^have (?:a|an|fun|some|good|no)\b"),
        _tells("wishes something", r"^may (?:the|your|you|god|all|he|she)\b"),
        _tells("tells in short", r"^had (?:a|an|the|my|some|lunch|dinner|breakfast|fun|enough|to|so)\b"),
        _tells(
            "tells in short",
            r"^(?:got|went|saw|bought|ate|felt|forgot|came|took|made|finished|woke) (?:home|back|to|up"
            r"|a|an|the|my|some|it"
            r"|out|there|here|off)\b",
        ),
        _tells("asks not to", r"^do not (?!<PRON>|the\b|people\b|most\b|all\b|we\b)\w+"),
        _tells("tells in short", r"^<AUX> not (?!<SUBJ>|the\b|a\b|an\b)[\w'-]+(?: [\w'-]+)?$"),
        _tells("tells in short", r"^(?:is|was|were|are|has|had) [\w'-]+$(?<! it)(?<! he)(?<! she)(?<! they)"),
        _asks("opens with an auxiliary", r"^<AUX> (?:not )?[\w'-]+(?: [\w'-]+|$)"),
        # imperatives
        _tells(
            "says something social",
            r"^(?:take care|enjoy|stay (?:safe|home|tuned|strong|calm|positive)|keep (?:it|up|going|in"
            r" touch|calm)"
            r"|come on|go away|shut up|forget (?:it|about)|never ?mind|be (?:careful|good|safe|nice"
            r"|quiet|happy)"
            r"|get (?:well|lost|better|out|some rest)|sleep well|trust me|believe me|hold on|wait(?: a"
            r"| for| up|$)"
            r"|stop (?:it|that|this|being|talking)|look$|look at|listen$|listen to|remember (?:when"
            r"|that|to|how|the)"
            r"|note (?:that|to self)|call me|bless you|welcome|good luck|let us (?:go|do|see|not|be"
            r"|hope)|let me (?:think"
            r"|see|check)|see you|talk (?:soon|later|to you)|ttyl|brb|watch out|hang (?:on|in)|calm"
            r" down|relax|leave"
            r" me|love (?:it|this|that|you|how|the way|your|my)|hate (?:it|this|that|when)|wish (?:i"
            r"|you|it)|hope (?:you"
            r"|it|this|that|to)|miss (?:you|it|him|her)|feel free|feeling \w+|sounds (?:like|good"
            r"|great)|looks"
            r" (?:like|good|great)|seems (?:like|good|fine|ok)|makes sense|got it|glad|happy to|nice"
            r" to|good to"
            r"|great to|excited|proud of|tired|bored|fun fact|fyi|imo|imho|tbh|my bad|thank|thanks for"
            r"|thanks to"
            r"|say (?:hi|hello)|tell (?:him|her|them|your)|give (?:it|me) (?:a (?:break|try|minute"
            r"|second)|up)"
            r"|works (?:for|like|great|fine|well|now)|not (?:bad|really|now|yet|sure|a|my|interested"
            r"|today|the)"
            r"|too (?:bad|late|much|many)|so (?:far so|true|cool|much fun)|as if|long live|down with"
            r"|go [\w'-]+$"
            r"|can not (?:wait|believe|complain|stand)|let it (?:be|go)|just (?:saying|kidding|a)"
            r"|check (?:it|this) out"
            r"|bye|goodbye|farewell|of course$|stop$|(?:one|just a|wait a|give me a) (?:moment|minute"
            r"|second|sec)(?: please)?$"
            r"|so (?:do|am|did|have|was|will|can) i$|neither (?:do|am|did|have|can) i$|(?:please"
            r"|pleasure|pleased)"
            r" to (?:meet|e-meet|hear|see)|long time no|gtg$|g2g$|np$|nvm$|idk$|omw$|afk$|gn$|gm$|yw$|wb$"
            r"|(?:checking|popping|dropping) (?:in|by)$|saying (?:hi|hello|hey)|as (?:i|you|we) (?:said|say)"
            r"|by the way , (?:i|we|you|he|she|they|it|that|this|my|your)\b"
            r"|see [\w'-]+$|check$|sorry (?:about|for|to)|done|same|agreed|yes|no|nope|yep|yeah"
            r"|because|fuck|damn|shit|speaking of)\b",
        ),
        _asks("asks for something", r"^(?:<ASKVERB>)\b(?! (?:is|are|was|were|has|lives|works)\b)"),
        # a question word at the end, or a bare one after a topic
        _asks("ends with a question word", r"\b(?:why|how|when|where|who|what)$"),
        _asks(
            "ends with a question", r"\b(?:what|who|where|when|how) (?:is|are|was|were)(?: it| this| that)?$"
        ),
        _asks(
            "asks after a topic",
            r"^(?:[\w'.,-]+ ){1,6}?(?:how|what|why|when) (?:is|are|to|does|do|did|can|much)\b",
        ),
        # noun phrases with a relative clause stay noun phrases
        _asks(
            "a noun phrase with a relative clause",
            r"^(?!the fact)(?:(?:a|an|the|all|any|some|list of|every|best|top) )?(?:(?!<BE> )[\w'-]+"
            r" ){1,4}?(?:that|who|which|where"
            r"|whose) (?:(?!is |are |was |were |has |have )[\w'-]+ )?(?:<AUX>|<PAST>|<THIRD>|[\w'-]+)"
            r"(?: (?!is |are |was |were )[\w'-]+){0,8}$",
        ),
        _tells(
            "tells something",
            r"^(?:my|our|his|her|their) (?:[\w'-]+ ){1,3}?<LOOSE> (?:<PREP>|<DET>)\b",
        ),
        _tells("wishes or remarks on something of one's own", r"^(?:my|her|his|their) [\w'-]+(?: [\w'-]+)?$"),
        # clauses: something, then a finite verb
        _tells(
            "tells something",
            r"^(?:[\w'.,%$-]+ ){1,12}?(?:is|are|was|were|has|had|does|did|will|would|could|should)"
            r"(?<!free will)(?<!good will)(?<! to do) (?:[\w'.,%$-]+)",
        ),
        _tells(
            "tells something",
            r"^(?:[\w'.-]+ ){1,8}?(?<!to )(?<!must )(?:have|can|might|do) (?!list|opener|it)[\w'-]+",
        ),
        _tells(
            "tells something",
            r"^(?:[\w'.,%-]+ ){1,10}?(?<!most )(?<!best )(?<!least )(?<!i )<PAST>\b(?! by\b)",
        ),
        _tells("tells something", r"^(?:[\w'.,%-]+ ){1,8}?(?<!as )<THIRD>\b(?! (?:of|by)\b)"),
        _tells(
            "tells something",
            r"^(?:[\w'.,%-]+ ){1,8}?<LOOSE> (?:<DET>|well|today|again|yesterday|up|down|great|fine)\b",
        ),
        _tells(
            "tells something",
            r"^(?:[\w'.,%-]+ ){1,8}?(?!need|speed|feed|seed|breed|united|based|named|called|used)[\w-]{2,}ed"
            r" (?:the|a|an|my|your|his|her|our|their|me|us|him|it|them|yesterday|today|last|again)\b",
        ),
        _tells(
            "tells something",
            r"^(?:the|my|our|his|her|their|this|that|every|each) (?:[\w'-]+ ){1,4}?[\w-]{3,}s (?:at"
            r"|the|an?|my|to|them|him|me|us)\b(?! [a-z]+$)",
        ),
        _tells(
            "tells something",
            r"^(?:[\w'.-]+ ){1,6}?(?:won|lost|passed|broke|failed|matters|flies|works)(?: (?:last"
            r"|against|again|yesterday|today) ?\w*)?$",
        ),
        _tells(
            "tells something",
            r"^(?:[\w'-]+ )?[\w'-]+s (?:hate|want|need|believe|prefer|eat|bark|are|have|love) \w+",
        ),
    ),
    hurried=re.compile(
        r"\b(?:today|tonight|latest|current|currently|right now|now|so far|as of|at the moment|these"
        r" days|nowadays"
        r"|up to date|most recent|recent|recently|tomorrow|yesterday|at present|presently|newest|breaking"
        r"|(?:this|last|next) (?:week|weekend|month|year|quarter|season|morning|afternoon|evening|night))\b"
    ),
)


# --- the other languages --------------------------------------------------------------------------

SPANISH = Language(
    code="es",
    common=_set(
        "el la los las de que en un una es y por para con del al como cual cuanto donde cuando quien"
        " mi me esta hoy"
        " manana precio tiempo se su lo hay tiene sobre cuantos fue son propuesta quiero puedes yo"
        " gusta gustan tengo muy estoy"
    ),
    greetings=_set(
        "hola buenos buenas dias tardes noches gracias adios hasta luego pronto vale claro perfecto"
        " genial si no"
        " bien bueno saludos perdon bienvenido felicidades chao enhorabuena estupendo"
    ),
    social=_set(
        "muchas muy a todos amigo amigos por favor de acuerdo manana la vista nada mucho todo que tal"
        " eso es y"
    ),
    openers=_set(
        "hola buenos buenas dias tardes noches por favor oye disculpa perdona perdon y pero pues"
        " bueno gracias"
    ),
    remarks=re.compile(
        _fill(
            r"^(?:(?:muchas |muchisimas |mil )?gracias (?:por|a|de)\b[^,]*|no (?:te|se|"
            r"os) preocup\w+[^,]{0,30}|no (?:pasa nada|importa|hay (?:de que|problema|prisa)|es nada)|"
            r"de (?:nada|acuerdo)|(?:(?:vale|ok|si|bueno|ah|claro|"
            r"ya) ,? ?)?(?:ya )?(?:lo )?(?:entiendo|entendi|entendido|comprendo|veo|se)|(?:era |"
            r"es )?(?:una )?(?:broma|bromeo)|(?:todo|muy|esta) bien|(?:por|desde) supuesto|"
            r"con mucho gusto|que (?:va|tengas|te)\b[^,]*|(?:lo )?siento(?: mucho)?|igualmente|"
            r"menos mal|ni idea|me alegro\b[^,]*)$"
        )
    ),
    gate=(
        _tells(
            "tells something",
            r"^(?:(?:ayer|anoche|hoy|antes|luego|esta manana|(?:la semana|el (?:mes|ano)|el \w+) pasad[oa])"
            r" ,? ?){0,2}(?:me |le |nos |lo |la |les )?(?:compre|vendi|pague|gane|perdi|fui|fuimos|hice"
            r"|hicimos|vi|vimos|comi|comimos|tuve|estuve|llegue|sali|trabaje|dormi|llovio|nevo|llame|visite"
            r"|lei|escribi|encontre|olvide|aprendi|empece|termine|hable|conoci|pedi|puse|dije|recibi|gaste"
            r"|jugue|cocine|viaje a|volvi|invite|perdimos|ganamos|compramos|encanto|gusto)\b",
        ),
        _tells(
            "exclama algo (an exclamation)",
            r"^que (?:bonito|bonita|bueno|buena|lindo|linda|pena|rico|rica|bien|guay|divertido|mal"
            r"|horror|lastima"
            r"|suerte|alegria|frio|calor|tengas|te vaya|te mejores|pases|descanses|aproveche)\b",
        ),
        _asks(
            "asks indirectly",
            r"^(?:me gustaria saber|quiero saber|quisiera saber|necesito (?:saber|ayuda|informacion|un"
            r"|una)|me pregunto"
            r"|no se (?:que|como|cual|donde|cuando|por)|tengo una (?:pregunta|duda)|busco|no entiendo"
            r" (?:por|como|que))",
        ),
        _asks(
            "opens with an auxiliary",
            r"^(?:me )?(?:puedes|podrias|puede|podria|sabes|sabe|puedo|se puede|tienes idea|hay|va a"
            r"|van a)\b",
        ),
        _asks(
            "asks for something",
            r"^(?:me )?(?:explica|explicame|explique|dime|digame|cuentame|cuenta|escribe|escribeme"
            r"|traduce|traduzca|lista"
            r"|enumera|compara|resume|resumeme|describe|define|muestra|muestrame|dame|deme|calcula"
            r"|ayudame|ensename|haz"
            r"|recomienda|recomiendame|convierte|analiza|busca|encuentra|nombra|redacta|genera|crea"
            r"|menciona|indica)\b",
        ),
        _tells(
            "tells when something is so",
            r"^(?:cuando|como|donde|si) (?:\w+ ){1,8}, (?!que |cual |como |cuando |quien |donde |cuanto )\w+",
        ),
        _asks(
            "opens with a question word",
            r"^(?:(?:a|de|en|con|por|para|desde|hasta|sobre) )?(?:que|cual|cuales|quien|quienes|como"
            r"|cuando|cuanto|cuanta"
            r"|cuantos|cuantas|donde|adonde)\b",
        ),
        _asks(
            "a question inside the sentence",
            r" , (?:que|cual|cuales|como|cuanto|cuando|por que|quien|donde) \w+",
        ),
        _asks("a question tag", r" , (?:verdad|no|cierto|no es asi|no crees)$"),
        _tells(
            "tells something",
            r"^(?:yo|tu|ella|nosotros|ellos|ellas|ustedes|me|te|se|nos|hoy es|hoy hace|ayer|esto|eso"
            r"|es|son|estoy|soy"
            r"|tengo|fue|era|creo|hace|la verdad|acabo|vivo|trabajo|voy|quiero|necesito|estuve|fui"
            r"|odio|amo|adoro"
            r"|prefiero|pienso|espero|he|hemos|estamos|somos|no|nunca|siempre) \w+",
        ),
        _tells("tells something", r"^mi (?:\w+ ){1,4}(?:es|esta|son|tiene|se)\b"),
        _tells(
            "tells something",
            r"^(?:(?!que |quien )\w+ ){1,8}(?:es|son|esta|estan|era|eran|fue|fueron|tiene|tienen|gusta"
            r"|gustan|encanta"
            r"|ha|han|va|van|puede|pueden|vive|hace|subio|bajo|gano|cuesta|quiere|come|comen|estaba) \w+",
        ),
        _tells("tells something", r"^(?:\w+ ){1,6}(?:subio|gano|perdio|llego|murio|termino|empezo|cayo)\b"),
    ),
    hurried=re.compile(
        r"\b(?:hoy|ahora|actual|actuales|actualmente|ultim[oa]s?|esta (?:semana|noche|manana|tarde)"
        r"|manana|ayer"
        r"|este (?:mes|ano|momento)|reciente|recientes|en este momento|anoche)\b"
    ),
)

GERMAN = Language(
    code="de",
    common=_set(
        "der die das und ist in zu den mit von wie was wer wo wann warum ein eine nicht auf fur im es"
        " wird ich mein"
        " heute morgen welche hat sind dem des bei uber gibt kann einen wurde vorschlag bedeutet erklare"
    ),
    greetings=_set(
        "hallo moin servus guten tag morgen abend nacht danke dank tschuss ja nein gut super toll"
        " prima klasse okay ok"
        " genau stimmt bitte wiedersehen willkommen gruss schade alles klar herzlichen gluckwunsch verstanden"
        " wunderbar perfekt sehr"
    ),
    social=_set(
        "schon auf vielen sehr dir euch ihnen alle zusammen bis bald spater schones wochenende den"
        " die das ist zum geburtstag gute guter nacht tag morgen abend"
    ),
    openers=_set(
        "hallo guten tag morgen abend bitte also und aber ja nein ok okay danke entschuldigung sag mal moin"
    ),
    remarks=re.compile(
        _fill(
            r"^(?:(?:vielen |herzlichen |besten |tausend )?dank(?:e)?(?: (?:dir|ihnen|euch|schon|sehr|"
            r"vielmals|nochmal))* fur\b[^,]*|(?:danke|vielen dank) (?:dir|ihnen|euch)|"
            r"kein(?:e)? (?:problem|sorge|ahnung|ursache|thema|stress|eile)|"
            r"(?:das )?macht (?:doch )?nichts|schon (?:gut|okay|ok)|(?:ist )?alles (?:klar|gut|ok|"
            r"bestens|paletti)|mach(?:t|en)? (?:dir|sie|euch|sich) keine sorgen|nicht (?:schlimm|"
            r"so schlimm|der rede wert)|(?:ja ,? ?)?(?:stimmt|genau|verstanden|verstehe|einverstanden|"
            r"gerne?|gern geschehen|richtig|jawohl)|(?:nur )?(?:ein )?(?:scherz|spass|witz)|"
            r"gleichfalls|tut mir (?:\w+ )?leid|bis (?:dann|bald|morgen|spater|gleich)|(?:na )?gut|"
            r"weiss ich nicht)$"
        )
    ),
    gate=(
        _tells(
            "an exclamation",
            r"^(?:was fur ein\w*|wie) (?:schon\w*|toll\w*|nett\w*|schade|gut|suss|bloed|argerlich"
            r"|lustig)(?: \w+)?$",
        ),
        _asks(
            "asks indirectly",
            r"\bich (?:frage mich|mochte (?:gern\w* )?wissen|will wissen|wurde gern\w* (?:\w+"
            r" ){0,2}wissen|brauche (?:hilfe"
            r"|infos?|informationen|eine|einen|ein)|suche|hatte gern|habe (?:eine|ne) frage|weiss nicht"
            r" (?:wie|was|wo|warum|wann|ob)|verstehe nicht (?:wie|was|warum))\b",
        ),
        _tells(
            "tells in short",
            r"^(?:habe|bin|war|kann sein|stimmt|geht so|macht nichts|muss los|hatte)(?: (?!ich|du|er"
            r"|sie|es|wir|ihr|das|der|die|den|ein)\w+){0,3}$",
        ),
        _tells(
            "tells when something is so",
            r"^(?:wenn|als|wie|wo|was|weil|obwohl|nachdem) [^,]* , (?!wie |was |wo |wann |wer |warum )\w+",
        ),
        _asks(
            "opens with a question word",
            r"^(?:(?:in|an|auf|fur|mit|von|zu|seit|bis|aus|um|ab|bei|nach|uber|unter) )?(?:was|wer|wen"
            r"|wem|wessen|wie|wo|wann"
            r"|warum|wieso|weshalb|woher|wohin|welche[rsnm]?|wieviele?|womit|wofur|worum|wodurch|worin"
            r"|woran|wovon|worauf"
            r"|woraus)\b",
        ),
        _asks(
            "opens with its verb",
            r"^(?:ist|sind|war|waren|bin|bist|hat|haben|hatte|habe|hast|kann|kannst|konnen|konnte"
            r"|konntest|konnten|wird"
            r"|werden|wurde|wurden|wirst|soll|sollte|sollten|muss|mussen|darf|mag|mochtest|gibt|gab"
            r"|regnet|schneit|scheint|macht|geht|kommt"
            r"|kostet|weiss|weisst|wissen|spielt|gewinnt|liegt|funktioniert|kennst|kennen|lebt"
            r"|bedeutet|gehort|stimmt|hilft|lohnt|braucht|brauche) \w+",
        ),
        _asks(
            "asks for something",
            r"^(?:erklare?|erklaren|erzahle?|schreibe?|ubersetze?|nenne?|liste|vergleiche?|fasse?"
            r"|zeige?|sage?|gib|berechne"
            r"|beschreibe?|definiere?|hilf|rechne|suche?|finde|analysiere?|empfiehl|verrate?|erstelle?"
            r"|formuliere?|mache?"
            r"|wandle|gebe|lies|nenn|zahle)(?: (?:sie|mir|uns|den|die|das|der|ein\w*|auf|bitte|mal"
            r"|alle|\w+)\b|$)",
        ),
        _asks(
            "a question inside the sentence",
            r" , (?:was|wie|wo|wann|warum|wer|welche[rsnm]?|wieso|woher) (?:ist|sind|war|kann|soll|hat"
            r"|wird|macht|muss)\b",
        ),
        _asks("a question tag", r" , (?:oder|nicht wahr|ne|gell|stimmt)$| , oder nicht$"),
        _tells(
            "tells something",
            r"^(?:ich|du|er|wir|ihr|man|es|das ist|das war|dies ist|mir|mich|heute ist|gestern|leider"
            r"|hier ist|da ist) \w+",
        ),
        _tells(
            "tells something",
            r"^(?:mein|meine|meinen|unser|unsere|sie) (?:\w+ )?(?:ist|sind|war|hat|haben|heisst|mag"
            r"|geht|kommt|wohnt|liebt)\b",
        ),
        _tells(
            "tells something",
            r"^(?:\w+ ){1,8}?(?:ist|sind|war|waren|hat|haben|wird|werden|kann|konnen|mag|mogen|liebt"
            r"|lieben|steht|liegt|macht|geht"
            r"|kommt|gewann|stieg|fiel|kostet|scheint|schmeckt|gibt|ging|wurde|wohnt|frisst|fressen) \w+",
        ),
    ),
    hurried=re.compile(
        r"\b(?:heute|jetzt|aktuell\w*|derzeit|gerade|neuest\w*|letzte\w*|diese (?:woche|nacht)|diesen"
        r" monat|dieses jahr|momentan"
        r"|zurzeit|morgen|gestern|heutige\w*|im moment|bisher)\b"
    ),
)

FRENCH = Language(
    code="fr",
    common=_set(
        "le la les de des du et est en un une que qui dans pour pas sur au aux quel quelle comment"
        " combien pourquoi"
        " quand ou je il mon ma demain j' l' d' c' qu' n' s' fait temps meteo propose proposition"
        " explique y va cours hier a ai"
    ),
    greetings=_set(
        "bonjour bonsoir salut merci coucou au revoir oui non d' accord ok super genial parfait bien"
        " bravo desole"
        " bienvenue bonne nuit journee soiree cool enchante voila exact felicitations"
    ),
    social=_set(
        "a tous beaucoup bientot demain la tout le monde tres plus pour s' il vous te plait mes amis"
        " c' est bien mille d' accord"
    ),
    openers=_set(
        "bonjour bonsoir salut merci alors et mais bon donc dis dites svp excusez-moi excuse-moi euh"
        " ok pardon"
    ),
    remarks=re.compile(
        _fill(
            r"^(?:(?:un grand |mille |encore )?merci(?: (?:beaucoup|bien|infiniment|encore|a (?:toi|"
            r"vous)))* (?:pour|de|d')(?= )[^,]*|pas de (?:souci|soucis|probleme|problemes|quoi)|"
            r"aucun (?:souci|probleme)|de rien|(?:ce n' est )?(?:pas grave|rien)|c' est pas grave|"
            r"ne (?:t' inquiete|vous inquietez|t' en fais|vous en faites) pas|t' inquiete(?: pas)?|"
            r"(?:ah |ok |oui |d' accord )?,? ?(?:j' ai compris|je vois|je comprends|compris|entendu)|"
            r"tant (?:pis|mieux)|ca (?:marche|roule|va)|je (?:plaisante|rigole|blague)|"
            r"bonne (?:chance|idee)|desole[e]?|aucune idee|avec plaisir|moi aussi|bien sur)$"
        )
    ),
    gate=(
        _tells(
            "an exclamation",
            r"^(?:que |qu' |quel |quelle )(?:c' |bel|belle|bon|bonne|beau|dommage|horreur|chance"
            r"|plaisir|surprise|joie|honte)\b",
        ),
        _asks("asks with est-ce que", r"\best-ce\b"),
        _asks("inverts verb and subject", r"\b\w+-(?:t-)?(?:il|elle|on|ils|elles|tu|vous|nous|je|ce)\b"),
        _asks(
            "asks indirectly",
            r"\b(?:je me demande|je (?:veux|voudrais|souhaite) (?:bien )?savoir|j' aimerais (?:bien"
            r" )?savoir|je cherche"
            r"|j' ai (?:besoin d|une question)|je ne (?:comprends|sais) pas (?:pourquoi|comment|ce que"
            r"|si|ou|quand))\b",
        ),
        _asks(
            "opens with an auxiliary",
            r"^(?:tu |vous |on )?(?:peux|pouvez|pourriez|pourrais|peut|savez|sais|connais|connaissez|y"
            r" a|est-il|va) (?:\w+)",
        ),
        _asks(
            "opens with a question word",
            r"^(?:(?:a|de|d'|en|avec|pour|par|depuis|dans|sur) )?(?:qui|que|qu'|quoi|quel|quelle|quels"
            r"|quelles|comment|ou"
            r"|quand|pourquoi|combien|lequel|laquelle|lesquels)(?=\s|$)",
        ),
        _asks(
            "asks for something",
            r"^(?:explique[rz]?|expliquez|dis|dites|raconte[rz]?|ecris|ecrivez|ecrire|traduis"
            r"|traduisez|traduire|liste[rz]?|compare[rz]?|resume[rz]?"
            r"|decris|decrivez|donne[rz]?|montre[rz]?|calcule[rz]?|definis|definissez|definir"
            r"|aide[rz]?|cite[rz]?|trouve[rz]?|cherche[rz]?|convertis|convertissez|propose[rz]?"
            r"|fais|faites|redige[rz]?|analyse[rz]?|parle[rz]?|nomme[rz]?|enumere[rz]?"
            r"|recommande[rz]?)(?:-\w+)?(?=\s|$)",
        ),
        _asks(
            "a question inside the sentence",
            r"^(?!je )(?:[\w'-]+ ){1,8}(?:quoi|combien|comment|pourquoi|quel|quelle|quels|quelles|quand)\b",
        ),
        _asks("a question tag", r" , (?:n' est-ce pas|non|hein|pas vrai)$"),
        _tells(
            "tells something",
            r"^(?:je|j'|tu|il|elle|on|nous|vous|ils|elles|c'|ce|ca|cela|aujourd'hui|aujourd' hui|hier) \w+",
        ),
        _tells("tells something", r"^(?:mon|ma|mes|notre|nos) (?:\w+ ){1,4}(?:est|sont|a|ont|s'|aime)(?=\s)"),
        _tells(
            "tells something",
            r"^(?:(?!qui )[\w'-]+ ){1,8}(?:est|sont|etait|etaient|ont|fait|va|vont|sera|peut|peuvent"
            r"|aime|aiment|coute|gagne|reste|vit|mange|mangent|adore) \w+",
        ),
    ),
    hurried=re.compile(
        r"\b(?:aujourd'? ?hui|maintenant|actuel\w*|derniere?s?|ce (?:soir|matin|mois)|cette (?:semaine"
        r"|annee|nuit)|en ce moment"
        r"|demain|hier|recente?s?)\b"
    ),
)

ITALIAN = Language(
    code="it",
    common=_set(
        "il lo la i gli le di e che in un una per con del della come cosa quanto dove quando chi"
        " perche mi sono oggi"
        " domani quale tempo sul nel alla non dell' l' c' ho prezzo piovera spiega proposta cos' dov' com' a"
    ),
    greetings=_set(
        "ciao buongiorno buonasera buonanotte grazie salve arrivederci si no bene perfetto ottimo"
        " certo prego scusa"
        " ok benvenuto bravo brava auguri fantastico"
    ),
    social=_set("a tutti mille tante molto presto domani dopo amico d' accordo va bene per favore e tutto"),
    openers=_set("ciao buongiorno buonasera salve per favore scusa scusi allora e ma ok grazie senti dunque"),
    remarks=re.compile(
        _fill(
            r"^(?:(?:mille |tante )?grazie(?: (?:mille|tante|ancora))? (?:per|di|a|dell'|"
            r"del)(?= )[^,]*|(?:va|tutto) bene(?: (?:cosi|grazie))?|non (?:ti |si |"
            r"vi )?(?:preoccupar\w*|preoccupi|preoccupate|fa niente|importa|c' e (?:di che|problema))|"
            r"nessun problema|di (?:niente|nulla)|(?:ma )?figurati|(?:ah |ok |si )?,? ?(?:ho )?capito|"
            r"(?:stai )?tranquill[oa]|(?:sto )?scherz(?:o|avo|ando)|d' accordo|mi dispiace|volentieri|"
            r"altrettanto|anch' io|buona (?:fortuna|idea|serata|giornata)|nessuna idea)$"
        )
    ),
    gate=(
        _tells(
            "an exclamation",
            r"^(?:che|come|quanto) (?:bello|bella|brutto|brutta|peccato|fortuna|buono|bravo|carino"
            r"|strano|noia|schifo)\b",
        ),
        _asks(
            "asks indirectly",
            r"\b(?:vorrei sapere|voglio sapere|mi chiedo|mi piacerebbe sapere|ho bisogno di|ho una"
            r" domanda|sto cercando|non (?:so|capisco) (?:come|perche|cosa|dove))\b",
        ),
        _asks(
            "opens with an auxiliary",
            r"^(?:mi )?(?:puoi|potresti|puo|potrebbe|sai|sa|posso|si puo|c' e|ci sono)\b",
        ),
        _asks(
            "asks for something",
            r"^(?:spiega|spiegami|spieghi|dimmi|mi dica|racconta|raccontami|scrivi|scrivimi|traduci"
            r"|elenca|confronta"
            r"|riassumi|descrivi|definisci|mostra|mostrami|dammi|calcola|aiutami|trova|cerca"
            r"|consigliami|converti|parlami|fammi|analizza)\b",
        ),
        _tells(
            "tells when something is so",
            r"^(?:quando|come|dove|se) (?:\w+ ){1,8}, (?!che |cosa |come |chi |dove |quanto )\w+",
        ),
        _asks(
            "opens with a question word",
            r"^(?:(?:a|di|in|con|per|da|su|fino a|tra) )?(?:che|chi|cosa|cos'|cos|quale|quali|come"
            r"|com'|dove|dov'|quando|quanto|quanta"
            r"|quanti|quante|perche|qual|com e|cos e)(?=[\s']|$)",
        ),
        _asks("a question tag", r" , (?:vero|no|giusto|non e vero)$"),
        _tells(
            "tells something",
            r"^(?:io|tu|lui|lei|noi|voi|loro|mi|ti|ci|oggi e|ieri|questo e|questa e|e|sono|ho|sto|era"
            r"|penso|credo|vivo|lavoro|vado|odio|amo|adoro|preferisco|abbiamo|siamo|non|voglio) \w+",
        ),
        _tells(
            "tells something",
            r"^(?:(?!che |chi )[\w'-]+ ){1,8}(?:e|sono|era|erano|ha|hanno|va|vanno|piace|piacciono|puo"
            r"|costa|vince|mangia|mangiano|vive) (?:un|una|molto|il|la|lo|\w+[oaie]|in|a|blu)$",
        ),
    ),
    hurried=re.compile(
        r"\b(?:oggi|adesso|ora|attual\w*|ultim[oaie]|questa (?:settimana|sera|notte|mattina)|questo"
        r" (?:mese|momento)|quest'anno"
        r"|stasera|domani|ieri|recent[ei]|in questo momento)\b"
    ),
)

PORTUGUESE = Language(
    code="pt",
    common=_set(
        "o os as de que em um uma para com do da no na como qual quanto onde quando quem por meu hoje"
        " amanha sobre foi eu gosto ele ela muito tenho estou"
        " ao preco e voce nao sao esta isso proposta vai chover tempo explique"
    ),
    greetings=_set(
        "ola oi bom boa dia tarde noite obrigado obrigada tchau ate logo sim nao certo perfeito otimo"
        " valeu legal"
        " beleza parabens desculpa bem-vindo"
    ),
    social=_set("muito a todos amigo amanha breve por favor tudo bem de nada e"),
    openers=_set("ola oi bom boa dia tarde noite por favor entao e mas bem desculpa olha obrigado obrigada"),
    remarks=re.compile(
        _fill(
            r"^(?:(?:muit[oa]s? |mil )?obrigad[oa]s? (?:pel[oa]s?|por|a|ao|de)\b[^,]*|(?:esta |"
            r"ta )?tudo (?:bem|certo|bom|otimo)|nao (?:se|te) preocup\w+[^,]{0,30}|nao (?:faz mal|"
            r"importa|tem problema|ha problema|foi nada)|sem (?:problemas?|stress|duvida)|(?:de|"
            r"por) nada|(?:ah |ok |sim )?,? ?(?:ja )?(?:entendi|entendido|percebi|compreendo)|imagina|"
            r"(?:estou |to |estava )?(?:brincando|a brincar)|brincadeira|combinado|com certeza|"
            r"claro que sim|sinto muito|igualmente|nem ideia|boa (?:sorte|ideia))$"
        )
    ),
    gate=(
        _tells(
            "an exclamation",
            r"^(?:que|como) (?:bom|boa|lindo|linda|pena|legal|delicia|triste|chato|bonito|bonita|sorte)\b",
        ),
        _asks(
            "asks indirectly",
            r"\b(?:gostaria de saber|quero saber|queria saber|preciso (?:saber|de ajuda|de um|de uma)"
            r"|me pergunto|pergunto-me|tenho uma (?:pergunta|duvida)|nao (?:sei|entendo) (?:como|por|o"
            r" que|onde))\b",
        ),
        _asks(
            "opens with an auxiliary",
            r"^(?:voce )?(?:pode|podes|poderia|podia|sabe|sabes|posso|da para|tem como|vai|sera que|ha)\b",
        ),
        _asks(
            "asks for something",
            r"^(?:me )?(?:explica|explique|diga|diz|dize|conte|conta|escreva|escreve|traduza|traduz"
            r"|liste|lista|compare|compara"
            r"|resuma|resume|descreva|descreve|defina|define|mostre|mostra|calcule|calcula|de-me|me de"
            r"|ajude|ajuda|encontre|procure"
            r"|recomende|converta|converte|fale|fala|cite|analise|crie|faca)(?:-\w+)?\b",
        ),
        _tells(
            "tells when something is so",
            r"^(?:quando|como|onde|se) (?:\w+ ){1,8}, (?!que |qual |como |quem |onde )\w+",
        ),
        _asks(
            "opens with a question word",
            r"^(?:(?:a|de|em|com|por|para|desde|ate|sobre|o) )?(?:que|qual|quais|quem|como|quando"
            r"|quanto|quanta|quantos|quantas"
            r"|onde|aonde|porque|cade)\b",
        ),
        _asks("a question tag", r" , (?:certo|nao|nao e|ne|verdade)$"),
        _tells(
            "tells something",
            r"^(?:eu|tu|ele|ela|nos|eles|elas|voce|voces|me|hoje e|hoje esta|ontem|isso|isto|e|sao"
            r"|estou|sou|tenho|foi|era|acho|moro|trabalho|vou|odeio|amo|adoro|prefiro|gosto|nao"
            r"|estamos|somos) \w+",
        ),
        _tells(
            "tells something",
            r"^(?:(?!que |quem )\w+ ){1,8}(?:e|sao|esta|estao|era|foi|foram|tem|gosta|gostam|vai|vao"
            r"|pode|custa|ganhou|perdeu|subiu|caiu|come|comem) (?:um|uma|muito|o|a|de|em|do|da|no|na"
            r"|azul|\w+o|\w+a)\b",
        ),
    ),
    hurried=re.compile(
        r"\b(?:hoje|agora|atual\w*|ultim[oa]s?|esta (?:semana|noite|manha|tarde)|este (?:mes|ano"
        r"|momento)|amanha|ontem|recentes?|no momento)\b"
    ),
)

LANGUAGES: tuple[Language, ...] = (ENGLISH, SPANISH, GERMAN, FRENCH, ITALIAN, PORTUGUESE)


@dataclass(frozen=True, slots=True)
class Script:
    """A writing system read by marks and particles instead of words. What fits neither ``greets``, ``asks``
    nor ``tells`` is a bare topic, which asks as it does in a search box."""

    code: str
    greets: re.Pattern[str]
    asks: re.Pattern[str]
    tells: re.Pattern[str]
    hurried: re.Pattern[str]


JAPANESE = Script(
    "japanese",
    re.compile(
        r"^(?:こんにちは|こんばんは|おはよう(?:ございます)?|ありがとう(?:ございます|ございました)?"
        r"|さようなら|すみません|はい|いいえ|了解(?:です)?"
        r"|おやすみ(?:なさい)?|お疲れ様(?:です|でした)?|なるほど|わかりました|すごい|いいね"
        r"|どうも|大丈夫(?:です)?|どういたしまして|気にしないで(?:ください|ね)?|冗談(?:です|だよ)?|助かりました|(?:本当に|どうも)?ありがとうございま(?:す|した))[、。!！ー〜\s]*$"
    ),
    re.compile(
        r"(?:か|かな|かしら|の|っけ)[。\s]*$|何|なに|なん(?:で|の|です|だ|だろ)|いくら|いくつ|どう"
        r"|なぜ|どこ|誰|だれ|いつ|どれ|どの|どんな|どちら|どっち"
        r"|教えて|ください|下さい|とは[。\s]*$|って[。\s]*$|説明して|訳して|書いて|比較して|まとめて"
        r"|計算して|調べて|見せて|挙げて|知りたい"
    ),
    re.compile(r"(?:です|ます|た|ません|だ|よ|ね|たい|い|った|いる|する|ある|でした|る)[。!！~〜\s]*$"),
    re.compile(r"今日|今夜|今週|今月|今年|現在|最新|今すぐ|今の|明日|昨日|いま|直近"),
)
CHINESE = Script(
    "chinese",
    re.compile(
        r"^(?:你好|您好|(?:非常|太)?(?:感谢|谢谢|謝謝|多谢)[^,，。?？吗什怎谁哪几]{0,10}|没关系|没事|不用谢|辛苦了|再见|早上好|晚上好|晚安|好的?|是的|不是|对|没问题|明白了?"
        r"|知道了|哈哈+|太好了|不客气|大家好|嗨|早)[,，。!！啊呀吧了\s]*$"
    ),
    re.compile(
        r"什么|什麼|吗|嗎|呢[。\s]*$|怎么|怎麼|怎样|如何|为什么|為什麼|为何|谁|誰|哪"
        r"|几[点个年天月次岁]|多少|多久|多大|多高|多远|是否|是不是|有没有|能不能|可不可以"
        r"|会不会|要不要|好不好|告诉|請|^请|解释|解釋|翻译|翻譯|^写|帮我|列出|比较|总结|计算|介绍|推荐"
        r"|描述|说明|查一下|会下[雨雪]"
    ),
    re.compile(
        r"^(?:我|你|您|他|她|它|我们|你们|他们|这|那|今天我|昨天|天空|天气(?:很|真|不错))|是"
        r"|了[。!！]*$|喜欢|觉得|很|真|太"
    ),
    re.compile(r"今天|今晚|现在|現在|目前|最新|当前|本周|这周|今年|本月|明天|昨天|最近|即时|实时"),
)
CYRILLIC = Script(
    "cyrillic",
    re.compile(
        r"^(?:(?:привет|здравствуйте?|добр(?:ый|ое|ой) (?:день|утро|вечер|ночи)|спасибо|большое|пока"
        r"|до свидания|да|нет|хорошо|ладно|ок|понятно"
        r"|отлично|супер|круто|класс|ясно"
        r"|все понятно|понял[аи]?|я понял[аи]?"
        r"|(?:большое |огромное )?спасибо(?: большое| огромное)? за [^,?!.]{1,40}"
        r"|ничего страшного|не за что|без проблем"
        r"|не (?:переживай|волнуйся|беспокойся)(?:те)?|договорились"
        r"|согласен|согласна|пожалуйста|всем|тебе|вам|огромное|до завтра)[,.!\s]*){1,5}$"
    ),
    re.compile(
        r"(?:^|[\s,])(?:что|чего|чему|как|кто|кого|кому|где|куда|откуда|когда|почему|зачем|сколько"
        r"|какой|какая|какое|какие|каков[аоы]?|каким|какую|каком"
        r"|чей|чья|чьи|который|ли|разве|неужели|можно|можешь|можете|правда ли|есть ли|будет ли)(?=[\s,]|$)"
        r"|^(?:пожалуйста,? )?(?:объясни|расскажи|напиши|переведи|сравни|перечисли|посчитай|вычисли"
        r"|покажи|скажи|дай|найди|назови|опиши|помоги|определи|составь"
        r"|подскажи|поясни|порекомендуй|придумай|сделай|резюмируй|конвертируй)(?:те)?(?=[\s,]|$)"
        r"|интересно,|хочу знать|хотел[аи]? бы (?:у)?знать|не понимаю,|подскажите"
    ),
    re.compile(
        r"^(?:я|мы|он|она|они|оно|ты|вы|это|мне|мой|моя|мо[её]|мои|у меня|сегодня (?:я|хорош|плох)"
        r"|вчера|наш|наша|здесь|там)(?=\s)"
        r"|\s(?:—|–|-|был[аои]?|есть|любит|любят|стоит|нравится|вырос|упал|выиграл[аи]?|голубое"
        r"|умерла?)(?=\s|$)"
    ),
    re.compile(r"сегодня|сейчас|последн|текущ|завтра|вчера|на этой неделе|в этом году|нынешн|актуальн|свеж"),
)
OTHER = Script(
    "other",
    re.compile(
        r"^(?:안녕(?:하세요)?|감사합니다|고마워요?|네|아니요|مرحبا|شكرا|السلام عليكم|नमस्ते|धन्यवाद"
        r"|γεια(?: σου)?"
        r"|ευχαριστω|ευχαριστώ|שלום|תודה)[.!\s]*$"
    ),
    re.compile(
        r"까[.\s]*$|나요[.\s]*$|무엇|뭐|어떻게|왜|언제|어디|누구|얼마|몇|알려|설명해|번역해"
        r"|(?:^|\s)(?:ما|ماذا|كيف|من|متى|أين|لماذا|هل|كم|اشرح)(?=\s)|क्या|कैसे|कौन|कब|कहाँ|क्यों|कितन"
        r"|बताओ|बताइए"
        r"|(?:^|\s)(?:τι|πως|πώς|ποιος|που|πού|ποτε|πότε|γιατι|γιατί|ποσο|πόσο)(?=\s)|(?:^|\s)(?:מה"
        r"|איך|מי|מתי|איפה|למה|כמה|האם)(?=\s)"
    ),
    re.compile(r"^(?:저는|나는|أنا|मैं|मुझे|אני)(?=\s)|(?:습니다|해요|어요|아요|이다|है|हूँ)[.!\s]*$"),
    re.compile(r"오늘|지금|현재|최신|내일|اليوم|الآن|आज|अभी|σημερα|σήμερα|היום|עכשיו"),
)
SCRIPTS: dict[str, Script] = {script.code: script for script in (JAPANESE, CHINESE, CYRILLIC, OTHER)}

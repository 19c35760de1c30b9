"""What people say when they ask for news, as data: words, frames, numbers, traps, wordings. Pure.

Rules of this file:
- Words and patterns match the folded words of a ``Reading`` (lower case, no accents, contractions written
  out).
- Words of the frame ("what is the latest") carry no topic; ``NO_TOPIC`` words make what they stand in none.
- ``LOOSE_ROWS`` are wordings that ask for news without saying so; their groups ``topic...`` hold the topic.
- Texts that are matched are bounded (``questions.TEXT_WORDS``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from node.language.reading import word_list
from node.language.wording import EXPLAINS

# --- words for news -------------------------------------------------------------------------------

NEWS = frozenset(
    word_list(
        "news headlines headline newsflash noticias noticia titulares titular nachrichten nachricht"
        " schlagzeilen schlagzeile neuigkeiten meldungen actualites actualite actu actus infos nouvelles"
        " notizie notizia manchetes manchete novedades novedad novidades novidade novita aggiornamenti"
        " neuigkeit"
    )
)
NEWS_PHRASES: frozenset[tuple[str, ...]] = frozenset(
    tuple(row.split())
    for row in (
        "top stories",
        "top story",
        "big story",
        "biggest story",
        "main story",
        "lead story",
        "main stories",
        "biggest stories",
        "big stories",
        "current events",
        "current affairs",
        "front page",
        "ultima hora",
        "ultimas horas",
        "gros titres",
        "a la une",
        "prima pagina",
        "news stories",
        "news items",
        "news articles",
        "news updates",
        "news update",
        "news headlines",
        "news roundup",
        "news summary",
        "news briefing",
        "breaking stories",
        "ultime notizie",
    )
)
NEWS_COMPOUNDS = ("nachrichten", "schlagzeilen", "neuigkeiten", "-news", "-headlines")
COMPOUND = re.compile(r"([a-z0-9]{2,20}?)-?(?:nachrichten|schlagzeilen|neuigkeiten|-news|-headlines)")
ADJECTIVE_FOLLOWS = frozenset(
    word_list(
        "noticias titulares actualites actualite nouvelles notizie infos actu novedades meldungen manchetes"
    )
)
"""Romance languages put the kind after the word: noticias deportivas."""
ARTICLE_WORDS = frozenset(word_list("articles article stories story posts post items pieces coverage"))
"""Beside an outlet these ask for its headlines."""
TITLES = frozenset(word_list("titres titoli titulos"))
PRESS = frozenset(
    word_list(
        "papers newspapers press media zeitung zeitungen presse medien prensa periodicos diarios medios"
        " journaux medias giornali stampa jornais imprensa"
    )
)
"""The outlets together."""
WRITES = re.compile(r"\b(what (?:do|does|did) (?:\S+ ){1,4}?)write\b")
WORKS_OF = frozenset(word_list("de d' di du do da von"))
HEADLINE_VERBS = frozenset(word_list("derniers grands principaux gros ultimi principali"))
SHORT_SLIPS = {
    "newz": "news",
    "nwes": "news",
    "neews": "news",
    "newss": "news",
    "lates": "latest",
    "gibts": "gibt es",
    "gibt's": "gibt es",
    "passierts": "passiert",
}
"""Slips in words too short for the rule, and what is written together."""
LONG_WORDS = word_list(
    "headlines headline latest breaking recent happening happened nachrichten schlagzeilen neuigkeiten"
    " noticias titulares nouvelles actualites notizie manchetes"
)
NO_SLIPS = frozenset(
    word_list(
        "latent lamest lattes headlined headliner headliners braking resent recant regent decent nouvelle"
        " titulaires actualities happen happens happenings bleaking noticia recents"
    )
)
"""Words in their own right that lie one letter from one of those."""


# --- the frame around a topic ---------------------------------------------------------------------

FILLER = frozenset(
    word_list(
        "yo hiya greetings question recap briefing digest rundown best pull making made makes interesting"
        " notable significant relevant noteworthy anything something summary roundup a an the any some me"
        " us i you we please can could would will like to want wanna need know hear see tell show give get"
        " fetch find list bring check pull what which is are was were am be been has have had do does did"
        " s there here it that all of for with and or so hey hi hello ok okay now new latest recent newest"
        " current currently todays top main major biggest most important big breaking fresh live more"
        " other else happening happened happen going on in up world around globe globally worldwide out"
        " today just really quick quickly brief briefly summary summarize summarise your idea got let"
        " let's looking interested curious wondering keep posted update updated daily morning evening"
        " thanks thank notable trending popular hot hottest posts lately recently days discussed talking"
        " catch speed day"
    )
)
_FILLER_OTHER = frozenset(
    word_list(
        " steht stehen lauft"
        # es
        " el la los las lo de del al cuales cual que hay son es ultimas ultimos ultima ultimo dame dime"
        " muestrame ensename quiero saber ver leer las principales principal recientes reciente"
        " importantes actuales por favor mundo dia alguna algun algo cuentame hola me puedes"
        " decir mas hoy un una unos"
        # de
        " die der das dem den was gibt es neues neue neuen neueste neuesten aktuelle aktuellen aktuell"
        " letzte letzten zeig zeige mir sag wichtigste wichtigsten welche sind ist bitte heute hallo tages"
        " welt ich mochte will kannst du uns so los passiert neu alle gib nenne tag haben wir hast wie"
        " lauten lautet top"
        # fr
        " le les des du quelles quels quelle quel sont est y a t-il derniere dernieres dernier derniers"
        " donne moi donne-moi dis dis-moi montre montre-moi principales grands s' il vous te plait plus"
        " importantes jour quoi de neuf qu' d' l' monde passe-t-il se passe bonjour cette ce"
        # it
        " il lo gli i le di dei delle della degli quali quale sono ultime ultima ultimi dammi dimmi"
        " mostrami principali piu importanti giorno oggi ci recenti ciao cosa che succede e del"
        # pt
        " o os as um uma do da dos das quais qual sao ultimas me mostre mostra diga principais recentes"
        " mais hoje mundo tem ha"
    )
)
FRAME = FILLER | _FILLER_OTHER
INTRO = frozenset(
    word_list(
        "mention mentioning mentions about on regarding concerning over around related re in from for"
        " with of covering involving surrounding at uber zu zum zur aus sobre acerca sur concernant su sul"
        " sulla sui sugli sulle riguardo de del en em na no da do dans di della del von vom im dal dalla"
        " dall' nel nella sull' nell' a aux au des du d' dell'"
    )
)
ABOUT = frozenset(
    word_list("about on regarding concerning over uber zu sobre sur concernant su in from for with of")
)
ARTICLES = frozenset(
    word_list("the a an el la los las le les l' der die das den dem il lo gli i o os as un una une ein eine")
)
TAIL = frozenset(
    word_list(
        "please now thanks thank you today there por favor bitte s' il vous plait per favore story stories"
    )
)
NO_TOPIC = frozenset(
    word_list(
        "vs versus i me my mine we our us you your he his she her they their it its this that these those"
        " what which who why how when where is are was were am be been being has have had do does did can"
        " could will would should may might must not no never said says say told heard saw read think know"
        " got get make made makes feel feels and or but if because so than then very really too there here"
        " good bad great terrible sad happy amazing wonderful awesome exciting old fake funny shocking"
        " nice lovely wonderful horrible depressing wrong no-one everyone better best worst gute schlechte"
        " buenas malas bonnes mauvaises buone cattive boas mas ist sind war hat haben wird ich du er sie"
        " wir nicht es que est sont pas je tu il elle nous vous"
    )
)
"""Words that make what stands before "news" no topic ("my news", "was the news", "good news")."""
PERSONAL = frozenset(word_list("i my mine we our he she they his her their him them everyone"))
NULL_TOPICS = frozenset(
    word_list(
        "world today day now globe moment planet everything anything all general happening latest"
        " everywhere internet news me week month year hour season mundo welt monde mondo hoy heute jour"
        " dia tages giorno"
    )
) | {"ultima hora", "world today", "around world", "whole world", "entire world"}
AFTER_NEW = frozenset(
    word_list("york zealand delhi orleans jersey mexico hampshire england caledonia guinea")
)
INSIDE = re.compile(
    r"^(?:i want to|i would like to|let me|can i|could i|may i|help me) (?:read|hear|know|see|learn)"
    r" (?:about|on|of) (?P<topic3>.+)$"
    r"|^(?:is there |was there |are there |has there been )?(?:anything|something|what is|any word"
    r"|stuff) (?:about|on"
    r"|regarding) (?P<topic>.+)$|^(?:is|are|was|were|why is|has|have) (?P<topic2>.+?)(?: been)?$"
)
OPENERS = frozenset(
    word_list(
        "what which any is are tell show give get list whats can could do does did has have how who where"
        " when please que cuales dime dame hay was welche gibt zeig sag quelles quels quoi donne dis y"
        " cosa quali dammi quais"
    )
)
READ_OUT = frozenset((("you", "read"), ("please", "read")))


# --- times ----------------------------------------------------------------------------------------

SINCE = frozenset(word_list("since desde seit depuis"))
OF_THE: Mapping[tuple[str, ...], str] = {
    tuple(run.split()): said
    for said, runs in {
        "today": "of the day;du jour;del dia;des tages;do dia;del giorno",
        "this week": "of the week;de la semaine;de la semana;der woche;da semana;della settimana",
        "this month": "of the month;du mois;del mes;des monats;do mes;del mese",
    }.items()
    for run in runs.split(";")
}


# --- numbers --------------------------------------------------------------------------------------

NUMBERS = {
    word: value
    for value, row in {
        1: "one un uno una ein eine einen une um uma",
        2: "two dos zwei deux due dois duas",
        3: "three tres drei trois tre",
        4: "four cuatro vier quatre quattro quatro",
        5: "five cinco funf cinq cinque",
        6: "six seis sechs sei",
        7: "seven siete sieben sept sette sete",
        8: "eight ocho acht huit otto oito",
        9: "nine nueve neun neuf nove",
        10: "ten diez zehn dix dieci dez",
        12: "twelve",
        15: "fifteen",
        20: "twenty",
    }.items()
    for word in row.split()
}
COUNTABLE = frozenset(
    word_list(
        "headlines headline stories story news articles items things titulares noticias schlagzeilen"
        " nachrichten titres nouvelles actualites notizie manchetes posts submissions updates"
    )
)
BETWEEN_COUNT = frozenset(
    word_list(
        "top latest recent newest biggest most important main major breaking big current new wichtigsten"
        " neuesten aktuellen ultimas ultimos principales principais principali dernieres derniers grands"
        " gros ultime hottest"
    )
)
_NUMBER = rf"(\d{{1,2}}|{'|'.join(NUMBERS)})"
ENOUGH = re.compile(
    rf"\b(?:just|only|maximum|max|at most|no more than|not more than|up to|limit it to|make it|keep it to"
    rf"|solo|maximo|como maximo|nur|maximal|hochstens|seulement|au maximum|soltanto|apenas|so)"
    rf" (?:the )?(?:top )?{_NUMBER}(?: of (?:them|those))?(?: please)?$"
    rf"|\b{_NUMBER} (?:is|are|will be|would be|will|would) (?:enough|fine|plenty|ok|okay|good|sufficient|do)$"
    rf"|\b{_NUMBER} (?:max|maximum|at most|tops|will suffice|only|nada mas|maximo|reichen|genugen|seulement"
    r"|suffisent)$"
)
"""A number of headlines named behind the question."""


# --- traps ----------------------------------------------------------------------------------------

THING_TRAPS = re.compile(
    r"\b(?:news (?:anchors?|papers?|outlets?|sites?|websites?|channels?|agency|agencies|apps?|api"
    r"|letters?|feeds?"
    r"|reporters?|casters?|rooms?|stands?|sources?|bias|biased|media|corp|networks?|presenters?|magazines?"
    r"|readers?|crew|team|desk|industry|business model|literacy|cycle|values?|consumption|editors?|vans?)"
    r"|(?:fake|old|break the|broke the|breaking the|huey lewis and the|spread(?:ing)?|watch(?:ing|ed)?"
    r"|watch(?:ing|ed)? the|deliver(?:ing|ed)? the|bearer of bad|no) news|bad news bears|newspapers?"
    r"|newsletters?|newsrooms?|news of the world \w+"
    r"|good headlines?|headlines? (?:for|in|on|to) (?:html|css|my|our|a|an|this|linkedin|the article|tags?"
    r"|fonts?)|headline (?:tag|font|generator|act|actor|size|style|writer|writing)|headliners?"
    r"|headlin(?:ing|ed)|linkedin|unsubscribe|subscribe|subscription|paywall"
    r"|what is (?:a |an )?(?:news|headline|news story|news article)$|what time"
    r"|what does .{1,40}? mean|what makes (?!(?:the |today )?(?:news|headlines)(?: today)?$)"
    r"|when (?:is|are|does|do) the (?:\w+ )?news"
    r"|what is (?!(?:the|today|todays|new|latest|any|in|on|current|top|your|this) )\w+ news$"
    r"|what (?:does|do|is|makes) (?:the )?(?:\w+ )?(?:news|headlines?) (?:mean|stand for|newsworthy|made of)"
    r"|(?:is|are|was|were) (?:the )?(?:\w+ )?(?:news|headlines?) (?:always|so|really|still|too|all|mostly"
    r"|often|even)"
    r"|(?:is|are|how|which|most) .{0,40}?(?:reliable|trusted|trustworthy|truthful|credible|biased|neutral)"
    r"|(?:i|we) (?:have|got|had) (?:\w+ ){0,3}news)\b"
    r"|^(?:\w+ ){0,2}how (?:do|does|did|can|could|to|should) "
)
"""News as a thing, wherever it stands."""
FRAME_TRAPS = re.compile(
    EXPLAINS.replace(
        "how (?:do|does|did|can|could|are|is|was|were|to)", "how (?:do|does|did|can|could|are|was|were|to)"
    ).replace("|story|", "|")
    + r"|\b(?:write|essay|poem|invented|history|define|definition|meaning|salary|founded|founders?"
    r"|owns?|owned"
    r"|owners?|who (?:runs|started|created|made|writes|reads|owns|presents|publishes|invented|sings|sang)"
    r"|trust|spot|detect|stress|anxiety|translate|rewrite|correct|proofread|rhyme|script|program|create"
    r"|generate|compose|plot|cast|lyrics|soundtrack|starring|author|director|characters?|sequel)\b"
)
"""Explaining, writing, judging: of the words up to the one for news, for what comes after it is its topic
("news about the history exam")."""
LOOSE_TRAPS = re.compile(
    r"\b(?:my|your|his|her|our|their|class|lecture|lesson|course|meeting|version"
    r"|release notes|windows \d|ios \d|android \d|python|java"
    r"|rust \d|brain"
    r"|cells?|dna|body|film|movie|series|season|episode|chapter|novel|book|poem|play|scene|ending"
    r"|this (?:code|text"
    r"|picture|image|function|line)|when (?:you|i|we|a|an|the|water|metal)|if (?:you|i|we|a|the)|after death"
    r"|during|inside (?:a|the)|under the hood|the universe|black holes?|chemical|reaction|to (?:me"
    r"|you|us|him|her|a|an"
    r"|my|your|the (?:body|brain|dinosaurs))|between us|with (?:you|me|him|them|us))\b"
)
"""For questions that say neither news nor headlines."""


# --- wordings that say neither news nor headlines -------------------------------------------------

_ABOUT_IN_OTHERS = (
    r"(?:sobre|acerca de|de|del|en|con|uber|zu|zum|zur|sur|concernant|a propos de|dans|su|sul|sulla|sui"
    r"|sugli|riguardo a)"
)
_LOOSE_ROWS: tuple[tuple[str, str], ...] = (
    ("latest", r"\blatest (?:from|in|out of) \w+(?: \w+)? (?:on|about|regarding) (?P<topic>.+)$"),
    # what happens somewhere: the topic is what is left behind the frame
    (
        "happening going up new",
        r"\bwhat (?:is|has been|else is|all is) (?:currently |actually |really )?"
        r"(?:happening|going on|up|new)"
        r"(?: (?:these days|lately))?(?: (?:in|with|around|at|on|over in) (?P<topic>.+))?$",
    ),
    (
        "latest newest recent",
        r"\bwhat is (?:the )?(?:latest|newest|most recent)"
        r"(?: (?:developments?|updates?|word|info|information))?"
        r"(?: (?:on|about|in|from|with|w|regarding|concerning|of) (?P<topic>.+))?$",
    ),
    (
        "latest",
        r"(?:^|\bthe )latest (?:developments? |updates? )?(?:on|about|from|regarding) (?P<topic>.+)$",
    ),
    (
        "update updates development developments",
        r"\b(?:latest|any|recent|newest|new|more|give me an|an|the) (?:\w+ )?(?:updates?|developments?)"
        r" (?:on|about|in|from|regarding|concerning) (?P<topic>.+)$",
    ),
    (
        "new news",
        r"\b(?:is there |are there )?any(?:thing|) new(?:s)? (?:on|about|in|from|with|regarding)"
        r" (?P<topic>.+)$",
    ),
    (
        "anything",
        r"\banything (?:new|happening|going on|interesting|important|interesting happening) (?:in"
        r"|with|on|about|at) (?P<topic>.+)$",
    ),
    (
        "catch fill bring get update keep brief",
        r"\b(?:catch me up|fill me in|bring me up to (?:date|speed)|get me up to speed|update me"
        r"|keep me posted|brief me)"
        r"(?: (?:on|about|with|regarding) (?P<topic>.+))?$",
    ),
    ("word", r"\b(?:any|what is the) word (?:on|about|from|regarding) (?P<topic>.+)$"),
    (
        "articles stories reports coverage posts",
        r"\b(?:any|some|the|latest|recent|new|newest|more) (?:\w+ )?(?:articles|stories|reports"
        r"|coverage|posts) (?:on|about|regarding|covering|concerning) (?P<topic>.+)$",
    ),
    (
        "articles coverage reports",
        r"\b(?:show|find|get|give|fetch|bring|send|list|pull up|look up|search|search for|look for"
        r"|looking for|want|need|see|read|there)(?: me| us)?(?: a few| \d+)? (?:articles|coverage|reports)"
        r" (?:on|about|regarding|covering|concerning) (?P<topic>.+)$"
        r"|^(?:articles|coverage) (?:on|about|regarding) (?P<topic2>.+)$",
    ),
    (
        "articulos artikel articles articoli artigos",
        r"\b(?:muestrame|busca|buscame|dame|ensename|hay|quiero|mir|finde|such|suche|gibt es|montre-moi"
        r"|montre|donne-moi|moi|trouve|cherche|y a-t-il|mostrami|trova|trovami|cerca|mostre|mostra|busque)"
        r"(?: des| unos| algunos| degli| einige)? (?:articulos|artikel|articles|articoli|artigos)"
        rf" {_ABOUT_IN_OTHERS} (?P<topic>.+)$",
    ),
    (
        "articulos artikel articles articoli artigos",
        r"\b(?:(?:articulos|articles|articoli|artigos) (?:recientes|recents|recenti|recentes)"
        rf"|(?:neue|neueste|aktuelle) artikel) {_ABOUT_IN_OTHERS} (?P<topic>.+)$",
    ),
    (
        "reported reporting",
        r"\bwhat (?:is|are|has been|have been) (?:they |people )?(?:being )?report(?:ed|ing)"
        r"(?: (?:about|on|regarding) (?P<topic>.+))?$",
    ),
    (
        "papers newspapers",
        r"\bwhat (?:is|was)(?: in)? (?:the )?(?:morning )?(?:news)?papers$",
    ),
    ("miss", r"\bwhat did i miss(?: (?:in|on|about|from) (?P<topic>.+))?$"),
    (
        "succedendo succede",
        r"\bcosa (?:sta succedendo|succede)(?: (?:in|a|nel|nella|su) (?P<topic>.+))?$",
    ),
    (
        "pasando pasa sucede nuevo",
        r"\b(?:que (?:esta pasando|pasa|sucede|hay de nuevo)|hay algo nuevo)"
        r"(?: (?:en|con|sobre|del|de) (?P<topic>.+))$",
    ),
    (
        "acontecendo acontece novo passa",
        r"\b(?:o que (?:esta acontecendo|acontece|ha de novo|se passa)|(?:ha|tem) algo novo)"
        r"(?: (?:em|no|na|com|sobre|nos|nas) (?P<topic>.+))?$",
    ),
    (
        "passe-t-il passe neuf nouveau",
        r"\bque se passe-t-il(?: (?:en|a|au|aux|dans|avec) (?P<topic>.+))?$"
        r"|\bqu' est-ce qui se passe(?: (?:en|a|au|dans) (?P<topic2>.+))?$"
        r"|\bquoi de neuf(?: (?:en|a|au|dans|sur|avec) (?P<topic3>.+))?$"
        r"|\bdu nouveau (?:en|a|au|aux|dans|sur|avec|concernant|pour) (?P<topic4>.+)$",
    ),
    (
        "neues",
        r"\b(?:was gibt|was gibt es|gibt es|gibt es was|gibt es etwas) neues"
        r"(?: (?:in|aus|zu|zum|zur|uber|bei|von|vom) (?P<topic>.+))?$",
    ),
    (
        "los ab passiert",
        r"\bwas (?:ist|geht) (?:gerade |aktuell )?in (?P<topic>.+?) (?:los|ab|passiert)$",
    ),
    (
        "passiert geschieht",
        r"\bwas (?:passiert|geschieht) (?:gerade |aktuell )?(?:in|bei|mit) (?P<topic>.+)$",
    ),
)
"""Words of which one is in the text, and the pattern around them."""
LOOSE = tuple((frozenset(words.split()), re.compile(pattern)) for words, pattern in _LOOSE_ROWS)
NEEDS_PLACE = re.compile(
    r"\bwhat is (?:up|new)$|\bquoi de neuf$|\b(?:was )?gibt (?:es )?(?:was |etwas )?neues$"
)
REPORTS = re.compile(
    r"\b(?:what (?:is|are|does|do|did|has|have) |^(?:tell me )?(?:what )?(?=say |said ))"
    r"(?:report|reports|reported|reporting|say|says|said|saying"
    r"|write|writing|written|publish|published|cover|covering|covered|have|has|got)"
    r"(?: (?:about|on|regarding|of) (?P<topic>.+))?$"
    r"|\bwhat (?:are|is|do|does|did|were|have) (?:people|folks|users|readers|commenters|they|everyone"
    r"|everybody|devs|developers|hackers|programmers|the community) (?:been )?(?:say|saying|said|think"
    r"|thinking|talk|talking|discuss|discussing|write|writing|post|posting|reading)"
    r"(?: (?:about|on|of|regarding) (?P<topic3>.+))?$"
    r"|^(?:is there |are there )?(?:anything|something)(?: (?:new|good|interesting|cool|notable|big|fun"
    r"|worth (?:reading|seeing|knowing)))?(?: (?:about|on|regarding) (?P<topic2>.+))?$"
    r"|\bwas (?:schreibt|schreiben|sagt|sagen|berichtet|berichten|meldet|melden|steht|schrieben)"
    r"(?: (?:uber|zu|zum|zur) (?P<topic4>.+))?$"
    r"|\bqu[e'] (?:dit|disent|ecrit|ecrivent|rapporte|rapportent|publie|publient|raconte|racontent"
    r"|dicen?|escriben?|publican?|informan?|cuentan?)"
    r"(?: (?:sur|a propos de|sobre|acerca de|de|del|du) (?P<topic5>.+))?$"
    r"|\b(?:cosa|che cosa) (?:dice|dicono|scrive|scrivono|riporta|riportano)"
    r"(?: (?:su|sul|sulla|di) (?P<topic6>.+))?$"
    r"|\bo que (?:diz|dizem|publicam?|escrevem?)(?: sobre (?P<topic7>.+))?$"
)
"""What an outlet says, once its name is taken out."""
HAPPENED = re.compile(
    r"\bwhat (?:has |have )?(?:all |else )?(?:happened|occurred|went down|took place|went on)"
    r"(?: (?:in|around|at|with|on|to) (?P<topic>.+))?$"
    r"|\b(?:did|has|have) (?:anything|something) (?:\w+ )?(?:happen|happened)(?: (?:in|at|to|with)"
    r" (?P<topic7>.+))?$"
    r"|\bwas ist (?:in (?P<topic2>.+?) )?passiert$|\bque (?:ha pasado|paso|ha ocurrido|ocurrio)(?:"
    r" en (?P<topic3>.+))?$"
    r"|\bque s' est-il passe(?: (?:en|a|au|aux|dans) (?P<topic4>.+))?$|\bcosa e successo(?: (?:in|a"
    r"|nel|nella) (?P<topic5>.+))?$"
    r"|\bo que aconteceu(?: (?:em|no|na) (?P<topic6>.+))?$"
)
"""What happened asks for news when a recent day is named."""

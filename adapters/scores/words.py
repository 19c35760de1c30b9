"""What people say about games, as data: words of the topic, traps, fillers, ways of saying. Pure.

Rules of this file:
- Words and patterns match the folded words of a ``Reading`` (lower case, no accents, contractions written
  out); patterns with ``TEAM`` and ``LEAGUE`` match texts whose names stand so (``tokens.shape``).
- A word of the topic has tags (``SCORE``, ``GAME``, ...), which say what it can ask for. A filler says
  nothing, a trap makes it another question unless it stands inside a team's name.
- Repeats without a bound of their own run over short texts only (``questions.WORDS_MAX``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from node.language.reading import word_list

# --- words of the topic ---------------------------------------------------------------------------

_TOPIC_WORDS: Final[Mapping[str, str]] = {
    "SCORE": """
        score scores scoreline scorelines scoreboard result results livescore livescores scored margin
        ergebnis ergebnisse halbzeitstand punktestand zwischenstand spielstand endstand
        spielergebnis spielergebnisse
        resultado resultados marcador marcadores resultat resultats risultato risultati punteggio punteggi
        placar
        placares puntuacion pontuacao quedo quedaron salio salieron ausgegangen scoring
        """,
    "GAME": """
        opponent opponents gegner rival adversaire avversario adversario
        game games gm match matches matchup matchups spiel spiele spiels partie partido partidos partita
        partite partida partidas jogo jogos rencontre rencontres matchs finals playoffs playoff
        """,
    "WIN": """
        won win wins winning winner winners lose loses losing lost loss beat beats beating beaten defeat
        defeated defeats victory gano ganaron gana ganan ganado ganar ganando perdio perdieron pierde perder
        vencio vencieron vencido gewonnen gewann gewannen gewinnt gewinnen verloren verlor verlieren sieger
        geschlagen schlug besiegt vincendo
        perdendo ganhando perdiendo gagne gagner gagnent perdu perd perdent battu battre bat gagnant vainqueur
        remporte vinto vince vincono perso perde perdono battuto vincitore vinse ganhou ganharam ganha
        ganham venceu venceram vence perdeu perderam
        """,
    "PLAY": """
        play plays playing juega juegan jugar juegue spielen spielt spiele joue jouent jouer gioca giocano
        giocare joga jogam jogar jouent-ils facing face faces hosting host visit meet
        meets treffen trifft
        """,
    "PLAYED": """
        played gespielt jugo jugaron jugado joue-t-il giocato jogou jogaram spielte spielten did-play
        """,
    "SCHEDULE": """
        schedule schedules scheduled fixture fixtures calendar calendario spielplan calendrier programma
        tipoff tip-off tip kickoff kick-off kickoffs start starts begin begins beginnt anpfiff empieza
        empiezan comienza commence inizia comeca upcoming
        """,
    "STANDINGS": """
        standings standing table rankings ranking tabelle clasificacion classement classifica classificacao
        tabla posiciones tabela record seeding
        """,
    "VS": "vs versus v against facing contre gegen contra contro x @",
    "WHEN": "when cuando wann quand quando uhr hora heure ora uhrzeit horas ore",
    "AHEAD": "leading ahead lead leads trailing fuhrt fuhren mene menent conduce",
    "NEXT": """
        next nachste nachsten nachstes nachster proximo proxima proximos prochain prochaine prossima prossimo
        """,
    "LAST": """
        last latest previous recent most-recent letzte letzten letztes letzter ultimo ultima ultimos ultimas
        dernier derniere derniers ultime
        """,
    "WILL": "will would could going might chances chance odds predict prediction probability likely",
}


def _vocabulary() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for tag, words in _TOPIC_WORDS.items():
        for word in words.split():
            found.setdefault(word, set()).add(tag)
    return {word: frozenset(tags) for word, tags in found.items()}


VOCABULARY: Final = _vocabulary()
EVIDENCE: Final = frozenset(
    ("SCORE", "GAME", "WIN", "PLAY", "PLAYED", "SCHEDULE", "STANDINGS", "VS", "AHEAD")
)
FINITE: Final = frozenset(("WIN", "PLAY", "PLAYED", "AHEAD"))
NOUN_WINS: Final = frozenset(("winner", "winners", "sieger", "gagnant", "vainqueur", "vincitore", "loss"))
PAST: Final = frozenset(
    word_list(
        "did was were won lost beat beaten defeated played ended finished went had scored hat haben war"
        " ging gewonnen verloren gespielt gewann gano ganaron perdio perdieron jugaron quedo quedaron fue"
        " ont gagne perdu battu ha hanno vinto perso battuto ganhou ganharam venceu perdeu foi terminou"
        " terminaron"
    )
)
FILLER: Final = frozenset(
    word_list(
        "a an the of in on at for to and or is are was were be been being do does did has have had can"
        " could you u me my i we us our it its they them their there this that these those what which who"
        " whom how whats about tell show give get got find check know need want wanted let please pls thanks"
        " thank hey hi hello yo ok okay so um uh hmm well just quick quickly question wondering wonder"
        " curious any anyone anybody idea ideas chance by with from as if whether not no yes also some all"
        " every each everyone today's current currently final live full official up out down go goes going"
        " went gone end ended ends turn turned come came happen happened happening finish finished finally"
        " now right game's s t one ones time day night evening afternoon morning point points many much"
        " overall still already yet right-now team teams side over between league leagues exact exactly"
        " actual update updates on-going ongoing info information look search report fetch bring say said"
        " hear heard catch missed remember dude bro man guys buddy mate siri alexa pal lol ya yall sorry"
        " excuse kindly wanna like love would'd here done doing perform performed fare fared get's way home"
        " away off take took place scheduled versus' et est pm am utc gmt far soon later earlier anything"
        " something gotta interested hows gives gave status state rn atm rt yesterdays tonights fans fan"
        " tonite btw ffs plus tho though ever-so bad badly big like-to"
        " half halftime half-time quarter left lot minutes started"
        " again really actually even anyway mal wieder other another huge total die-hard diehard true"
        " son sons daughter dad daddy father mom mum mother husband wife brother sister kid kids grandpa"
        " grandma uncle aunt cousin friend friends boyfriend girlfriend boss coworker roommate asks asked"
        " wants wanted knows telling where miss hour recap recaps bother"
        # es pt
        " el la los las lo un una unos unas de del al en por para con y o que cual cuales quien quienes como"
        " a es son fue fueron ha han hay ser esta estan va van le me dime dame puedes decirme saber quiero"
        " cuanto cuantos equipo ultimo os as do da dos das no na nos nas um uma com e ou qual quais quem foi"
        " foram estao voce pode dizer diga quanto time ao terminou terminaron acabo liga favor ayer'"
        " puntos descanso"
        # de
        " der die das den dem des ein eine einen einer eines im am um von vom zu zum zur mit und oder ist"
        " sind war waren wer wie was welche welcher welches hat haben gegen bei auf fur es sie mir bitte sag"
        " zeig wissen weiss du ob denn ging steht stehen aus gab gibt heutigen gestrigen gerade aktuell"
        " aktuelle aktuellen punkten viertel halbzeit noch schon vorbei"
        # fr it
        " le les l' d' du des au aux un une est sont a ont qui quel quelle quels quelles comment combien s'"
        " il elle ils ont-ils a-t-il ont-elles est-ce c' qu' que vous plait te moi dis sur pour avec dans se"
        " y jouent fait fini lo i gli della delle dei degli nel nella di da che chi come quale quali sono e"
        " stato stata hanno ha per con tra contro dimmi puoi era finita finito score-t mi-temps intervallo"
    )
)
NOT_SLIPS: Final = frozenset(word_list("lakes wizard scared sores games' ravens' marines chief cubes mess"))


# --- what makes it another question ---------------------------------------------------------------

TRAPS: Final = frozenset(
    word_list(
        "scorer scorers goleador goleadores torschutze buteur"
        " why explain history championship championships champion champions titles title rings trophies"
        " trophy founded founder owner owners owns own owned coach coaches mascot arena stadium salary"
        " salaries worth ticket tickets rules rule meaning mean means movie movies film films music composer"
        " composers orchestra soundtrack rotten credit sat gre gmat ielts toefl test tests exam exams apgar"
        " election elections debate lottery powerball oscar oscars grammy grammys nobel eurovision war"
        " battle logo jersey jerseys color colors colour colours nickname invented invent most greatest best"
        " worst ever video board card squid hunger thrones chess poem story song songs should bets betting"
        " wager fantasy draft drafted trade traded trades trading injury injured injuries roster lineup news"
        " headlines player players mvp stats statistics rebounds assists height tall age old born buy sell"
        " price prices shirt shoes boots hotel hotels restaurant restaurants weather temperature rain"
        " raining snow forecast humidity umbrella flight flights distance population wave waves tricks trick"
        " concert concerts band album albums lyrics singer stock stocks market markets recipe chicken"
        " channel tv stream streaming watch broadcast wordle deal goal season seasons compare comparison"
        " difference different better favorite favourite name names called wear join played-for retire"
        " retired sign signed hire hired fire fired died dead ark killer founding review theory function"
        " code app api website write essay joke translate define definition learn play-by tutorial bitcoin"
        " crypto currency dollar dollars euros company companies warehouse jam museum per average pokemon"
        " minecraft fortnite poker bingo scrabble monopoly golf marathon idol voice bake survivor jeopardy"
        " lawsuit court appeal primary senate house presidential vote votes referendum spelling warum wieso"
        " erkläre erklare porque pourquoi perche spiega explica expliquez historia geschichte histoire"
        " storia wetter clima tiempo meteo tempo-meteo noticias nachrichten nouvelles notizie loteria"
        " lotterie loterie guerra guerre krieg weltkrieg elecciones wahl wahlen elezioni eleicoes nobelpreis"
        " karten entradas billets biglietti ingressos"
    )
)
"""Words that make it another question, unless they stand inside a team's name."""
TRAP_PHRASES: Final = re.compile(
    r"\b(?:how (?:do|does|is|are) (?:\w+ ){0,4}(?:work|calculated|scored|scoring)|all time|net worth"
    r"|record for|f1 scores?\b|in (?:machine|deep|statistical) learning"
    r"|how (?:do|can|to|would|could|should) (?:i|you|we|one)\b"
    r"|(?:^|to |we |i |you |can |help |let us )beat the heat|score (?:a(?! la)|an|some|settle)|four score"
    r"|settle (?:a|the|this) score"
    r"|what is (?:the )?(?:nba|nfl|mlb|nhl|mls|ncaa|ufc|wnba|premier league|bundesliga|la liga)$"
    r"|how many (?:teams|people|points is)|how (?:long|tall|old|big|far|much) (?:is|are|does|do)\b"
    r"|^(?:donde|ou|wo|dove|onde)\b|(?:game|games|half-?time) (?:show|shows|night|jam)"
    r"|(?:game|games) (?:of thrones|theory|plan|changer|development|engine|console|pass|night ideas)"
    r"|por que|pick up|table of|tip (?:a|the|on)|heat (?:index|pump|map|wave)|magic (?:wand|carpet|show)"
    r"|sun(?:s|'s)? (?:rise|set|ray|core)|win (?:at|in) (?:life|love|poker|chess|court)"
    r"|(?:win|lose|lost|losing|won) (?:weight|money|friends|hope|my|your|his|her)|(?:lose|losing) (?:a|an)"
    r"|hot table|play (?:the )?(?:guitar|piano|music|songs?|cards))\b"
)
YEAR: Final = re.compile(r"(?:18|19|20)\d\d(?:s|er|-\d\d)?\Z")
TELLS: Final = re.compile(
    r"^(?:(?:i|we|they|he|she) )?(?:just |already |also )?(?:watched|saw|attended|enjoyed|loved|bought)\b"
    r"(?!.*\b(?:who|what|how|when) (?:is|was|are|were|do|does|did|won))"
    r"|^(?:i|we|they|he|she|everyone|everybody|my \w+) (?:all |already )?(?:know|knows|knew)\b"
)
"""Somebody tells what they know or did."""
EXCLAIMS: Final = re.compile(r"\bwhat an? |\b(?:woo+hoo*|yay|congrats|congratulations)\b")
PREDICTS: Final = re.compile(
    r"\b(?:will|would|could|can|might|going to|chances?|odds|predict\w*|probability|likely|favou?red)\b"
    r"(?: \w+){0,6}? (?:win|beat|lose|winning|defeat|beating)\b|\bwill be (?:the )?winner\b"
    r"|\b(?:odds|prediction|predictions|predict)\b"
)
NUMERIC_DATE: Final = re.compile(
    r"(?<![\w./-])(?:\d{1,4}([/.-])\d{1,2}\1\d{1,4}|\d{1,2}/\d{1,2}|\d{1,2}\.\d{1,2}\.?)(?![\w/-]|\.\d)"
)
""" "05/06", "5.6.2026"; a pair of figures with a hyphen is a result."""
CLOCK: Final = re.compile(
    r"(?<![\w.:/-])\d{1,2}(?:[:.h]\d\d)? ?(?:am|pm|a\.m\.|p\.m\.|h|uhr|o'clock)(?!\w)"
    r"|(?<![\w.:/-])\d{1,2}:\d\d(?![\w:])"
    r"|(?<!\w)(?:at|around|um|a las|as|alle) \d{1,2}(?:[.h]\d\d)?(?![\w./:-])"
)
"""A time of day, which is not a day."""
SEVERAL: Final = re.compile(
    r"\b(?:last|past|previous|recent|latest|next|first|letzten|nachsten|ultimos|ultimas|proximos|ultimi|ultime"
    r"|derniers|dernieres|prochains)(?: \w+){0,2}? (?:[2-9]|[1-9]\d|two|three|four|five|six|seven|eight|nine"
    r"|ten|few|couple(?: of)?|several|dos|tres|cuatro|cinco|zwei|drei|vier|funf|deux|trois|quatre|cinq|due"
    r"|tre|quattro|cinque)\b"
    r"(?: \w+){0,3}? (?:games|matches|results|scores|spiele|partidos|matchs|partite|jogos)\b"
    r"|\b(?:[2-9]|[1-9]\d|dos|tres|cinco|deux|trois|cinq) (?:last|latest|ultimos|ultimas|derniers|dernieres"
    r"|prochains|proximos) (?:games|matches|results|partidos|matchs|jogos)\b"
)
"""A number of games is asked for, where one is told."""
TWICE: Final = re.compile(
    r"\bTEAM (?:win|won|lose|lost|play|played|playing|do|score|result)(?: \w+){0,2}?"
    r" and(?: (?:also|how|what|when|who|did|does|do|about|is|are|the|my)){0,4} TEAM\b"
    r"|\b(?:scores?|results?) (?:of|for|from)(?: the)? TEAM(?: and)?(?: the)? (?:scores?|results?)"
    r" (?:of|for|from)(?: the)? TEAM\b"
)
"""Two clauses with a team each, not two sides of a game."""
BEGINS: Final = frozenset(
    word_list("start starts begin begins beginnt empieza empiezan comienza commence inizia comeca")
)
WHERE: Final = re.compile(r"(?:^|\b(?:know|me|and) )where\b")
"""Where a team plays is its hall."""
FIRST_EVER: Final = re.compile(
    r"\b(?:was|were) the first (?:ever )?(?:LEAGUE|TEAM|game|match)\b|\bfirst ever\b"
)


# --- ways of saying -------------------------------------------------------------------------------

IDIOMS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), meant)
    for pattern, meant in (
        (
            r"\b(?:i mean|i guess|i think|you know|i believe|i suppose|by any chance|real quick|for real)\b",
            "",
        ),
        (r"\b((?:my|our|his|her|their) )favou?rite (?=team|club)", r"\1"),
        (
            r"\b(?:pull(?:ed)? (?:it|that|one|this one) off|pull(?:ed)? off (?:a|the|another) (?:win|victory)"
            r"|c[oa]me out on top|g[eo]t (?:the|a|another|that) (?:w|dub|win)|take (?:the|a) w"
            r"|close[d]? it out|seal(?:ed)? the deal)\b",
            "win",
        ),
        (
            r"\b(?:choked?(?: again)?|bl[oe]w (?:it|the lead|another one)|(?:take|took) (?:the|another|an) l"
            r"|g[eo]t (?:smoked|crushed|blown out|destroyed|demolished|thrashed|smashed|routed|cooked"
            r"|beat|beaten))\b",
            "lose",
        ),
        (
            r"\b(?:crush|destroy|demolish|thrash|smash|rout|upset|edge|dominate|outscore|knock off"
            r"|take down|took down)(?:e?d|es|s)?\b"
            r"(?= (?!(?:in|at|on|about|with|that|by|of|over)\b)\w)",
            "beat",
        ),
        (
            r"\b((?:did|do|does|didn't|will|would|to|not|gonna) (?:[\w'.-]+ ){0,4}?)loose\b"
            r"(?! (?:change|ends?|cannon|leaf|ball)\b)",
            r"\1lose",
        ),
        (r"\bloose(?= (?:to|against|by|yesterday|last|today|tonight|again|their game|the game)\b)", "lose"),
        (r"\bloosing\b", "losing"),
        (r"\bby how (?:many|much)\b", "by what margin"),
        (r"\blast nights\b", "last night"),
        (r"\bmost recent\b", "latest"),
        (r"\bhalf time\b", "halftime"),
        (r"\b(?:points?|score|scoring|goals?|runs?) (?:difference|differential|diff|gap)\b", "score margin"),
        (r"\b(?:at home|on the road)\b", "playing"),
        (r"\bnot (?:(?:the|a|in|about) )*(?:\w+ )?(?:scores?|games?)\b(?: but)?", ""),
        (r"\b(?:best|worst|better) (?=record|standing)", ""),
        (r"\b(record|standings|table)(?: so far)? this (?:season|year)\b", r"\1"),
        (r"\b(monday|thursday|sunday) night football\b", r"\1 night nfl"),
    )
)
"""Set phrases, each as words that the topic and its patterns know."""


# --- what is asked of a game ----------------------------------------------------------------------

NOT_PAST_DATES: Final = frozenset(
    ("today", "tonight", "now", "tomorrow", "weekend", "this week", "next week")
)
RANKED: Final = re.compile(
    r"\b(?:(?:first|1st|second|2nd|third|3rd|fourth|4th|fifth|5th|last|bottom|number one|number 1|no 1)"
    r"(?: (?:place|spot|seed))?(?: (?:right now|currently|now))? (?:of|in|on)"
    r"|(?:on |at )?(?:the )?top (?:of|in)|atop|tops|topping|leads?|leading|leader of|leaders? (?:of|in))"
    r"(?: the)? (?:LEAGUE|(?:his |her |their )?(?:league|conference|division|table|east|west))\b"
    r"(?! (?:game|games|match|matches|scores?|in|for)\b)"
    r"|\b(?:fuhrt (?:in )?(?:der|die)|lidera (?:la|el)|(?:primero|primer|lider) (?:en|de|del)(?: la)?"
    r"|erster (?:in|der)(?: der)?|mene (?:la|le)|(?:premier|premiers) (?:de|du)(?: la)?|primo in) LEAGUE\b"
    r"|\b(?:what|which) (?:place|position|spot|seed|rank|number)\b(?: \w+){0,4} TEAM\b"
    r"|\bTEAM(?: \w+){0,3} (?:ranked|seeded|placed|in the rankings)\b|\bTEAM (?:rank|stand|sit)\Z"
    r"|\bhow many (?:wins|losses) (?:do|does|have|has)(?: the)? TEAM(?: have| got)?\Z"
    r"|\b(?:win loss|won lost) record\b"
)
"""Asks for a place in the table, in a text whose names stand as ``TEAM`` and ``LEAGUE``."""
RANK_WORDS: Final = frozenset(
    word_list(
        "first 1st second 2nd third 3rd fourth 4th fifth 5th bottom number no place spot seed seeded top tops"
        " topping atop leader leaders position rank ranked placed rankings conference division east west"
        " stand sit wins losses lidera primero primer lider erster mene premier premiers primo fuhrt"
    )
)
RUNNING: Final = frozenset(word_list("winning losing beating ganando perdiendo vincendo perdendo ganhando"))
"""Said of a game that is on: what is asked is how it stands."""
MARGIN: Final = re.compile(
    r"\bhow (?:much|many|bad|badly|big|close|far)\b|\b(?:win|won|lose|lost|beaten|defeated) by$"
    r"|\b(?:what|which) did \b.* by\b|\bby what\b|\bmargin\b|\bpor cuanto|\bpor quantos|\bcon cuant"
    r"|\bmit wie viel|\bum wie viel|\bwie hoch\b|\bwie knapp\b|\bde combien\b|\bdi quant"
)
"""How a game was won, not only by whom."""
HALF_TIME: Final = re.compile(
    r"\b(?:half-?time|at (?:the )?half|halbzeit|halbzeitstand|mi-temps|descanso|medio tiempo|intervallo)\b"
)
MEETS: Final = re.compile(r"\bwho (?:do|does|have|has) (?:\w+ ){1,5}?(?:have|got|get|meet|see|take on)\b")
IS_THERE: Final = re.compile(
    r"\b(?:(?:is|are) there|any|hay|gibt es|y a|il y a|y a-t-il|ci sono|c' e|tem|ha)\b"
)
IS_ON: Final = re.compile(
    r"\b(?:game|games|match|matches|who|what|anything|something|anyone) (?:is |are )?(?:on|in|on in)(?: the)?"
    r"(?: LEAGUE)?\Z|\b(?:are|is)(?: the)? TEAM (?:at home|home|away|on the road|off)\Z"
)
ASKS_WHEN: Final = re.compile(
    r"\b(?:when|what time|(?:what|which) (?:hour|day)|cuando|a que hora|wann|um wieviel uhr"
    r"|um wie viel uhr|quand|a quelle heure|quelle heure|quando|a che ora|que horas|uhrzeit)\b"
)
GOES: Final = re.compile(
    r"\bhow (?:are|is|did|do|does)\b(?! many| much)|\bhow (?:\w+ ){1,4}?(?:doing|going|looking|faring)\b"
    r"|\b(?:wie (?:steht|lauft|spielen|spielt)"
    r"|como (?:va|van|esta)|comment|come (?:sta|stanno|va))\b"
)


# --- who asks, and whether ------------------------------------------------------------------------

LEADS: Final = frozenset(
    word_list(
        "who whos what which when where how did do does is are was were has have any whats hows tell show"
        " give get find check can could quien quienes que cual como cuando cuanto wer wie wann welche hat"
        " haben ist sind spielen spielt qui quel quelle quels quand comment combien est-ce chi che come"
        " quando quale quem qual quanto won-who i need want let gibt"
    )
)
OPENERS: Final = frozenset(
    word_list(
        "hey hi hello ok okay so um uh well please yo and but the quick question just hmm by dude bro siri"
    )
)
WANTS: Final = re.compile(
    r"\b(?:want|wants|wanted|need|needs|like|love|tell|wonder|wondering|curious|asks|asked|asking)\b"
    r"(?: (?:to|me|us|my|him|her|know|see|hear|find|out|about|is|was)){0,4}"
    r" (?:who|what|when|which|how|if|whether|where|did)\b"
)
"""An indirect question: "my son wants to know when", "i want know who"."""
ASKS_LATE: Final = re.compile(
    r"\b(?:who|what|how|when|which)(?: team)? (?:is|was|are|were|do|does|did|won|wins|has|have"
    r"|ended|finished)\b"
)
""" "Spurs Arsenal what was the result"."""
KNOWS: Final = re.compile(
    r"\b(?:know|knew|knows|saw|see|heard|remember|told|guess|forgot|care|matter|decide|decided)\b"
)
WHO: Final = frozenset(word_list("who which whos quien quienes wer qui chi quem"))


# --- beside a name --------------------------------------------------------------------------------

ARTICLES: Final = frozenset(word_list("the los las die der den les i gli le os as dem el la"))
OURS: Final = frozenset(word_list("my our them dem us mes mis meine nos"))
DID_WIN: Final = re.compile(
    r"\b(?:did|have|has|if|whether) (?:the|my|our) TEAM (?:win|won|lose|lost|beat|beaten|play|played)\b"
)
PLACED: Final = frozenset(("in", "at", "near", "around", "to", "from"))
CITY_PLAYS: Final = re.compile(
    r"\b(?:who|when|what time|which team)(?: are| is| do| does| will)+ TEAM"
    r" (?:play|plays|playing|face|facing)\b"
)
ASKS_OF_A_TEAM: Final = frozenset(word_list("did does do is are has have hat haben spielt gano ganhou"))
FACES: Final = frozenset(("vs", "v", "versus", "@"))
BEFORE_LA: Final = frozenset(word_list("did does do vs versus beat against @"))
"""English words after which "la" is the city; elsewhere it may be an article."""

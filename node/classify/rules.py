"""What a question is about, as data: topics looked up live or computed here, explanations, follow-ups.

Rules of this file:
- A ``Rule`` is a row: ``pattern`` is found and ``veto`` is not. The first row that fits decides; its name is
  the reason given.
- Patterns match words of the folded text joined by blanks (``Reading.flat``) after ``tag`` has replaced the
  names of word classes by capital letters: TEAM, NICK (a nickname that is an ordinary word too), LEAGUE,
  CUR, COIN, UNIT, NUM. Adding a team or a currency is adding a word. Vetoes see the untagged words.
- Scripts without blanks are matched on the text itself, in ``SCRIPT_TOPICS``.
- Topics name what adapters answer. An adapter that is present claims its own texts; these rows keep a topic
  live when its adapter is absent, so that the model says that it could not look up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.reading import word_list
from node.wording import EXPLAINS


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a rule table. ``local`` topics are computed here, others looked up live."""

    name: str
    pattern: re.Pattern[str]
    veto: re.Pattern[str] | None = None
    local: bool = False

    def fits(self, tagged: str, flat: str) -> bool:
        return self.pattern.search(tagged) is not None and (
            self.veto is None or self.veto.search(flat) is None
        )


TEXT_CHARS = 600
"""Topic and follow-up patterns look at this much of the joined words."""

_PHRASE_WORDS = 3

# --- word classes ---------------------------------------------------------------------------------

_WORD_CLASSES: dict[str, str] = {
    "TEAM": """
        lakers celtics knicks nets 76ers sixers raptors cavaliers cavs pistons pacers hornets grizzlies
        pelicans mavericks mavs nuggets timberwolves clippers warriors trail-blazers blazers spurs
        patriots steelers ravens bengals browns texans colts jaguars titans broncos chiefs raiders chargers
        cowboys eagles commanders packers vikings buccaneers falcons panthers seahawks 49ers niners
        yankees red-sox mets phillies braves marlins cubs brewers white-sox twins royals tigers astros
        mariners athletics dodgers padres diamondbacks maple-leafs canadiens bruins red-wings blackhawks
        penguins flyers oilers canucks real-madrid barcelona-fc fc-barcelona barca atletico-madrid bayern
        bayern-munich fc-bayern borussia-dortmund bvb rb-leipzig schalke manchester-united man-united man-utd
        manchester-city man-city liverpool-fc arsenal chelsea tottenham everton newcastle-united aston-villa
        juventus juve ac-milan inter-milan as-roma napoli psg paris-saint-germain olympique-marseille ajax
        benfica fc-porto sporting-cp flamengo palmeiras corinthians boca-juniors river-plate celtic-fc
        golden-state fcb lazio-roma
        """,
    "NICK": """
        kings suns heat magic thunder jets giants bears lions rangers sharks wild stars bulls bucks hawks
        rockets wizards jazz dolphins bills saints rams cardinals angels reds pirates ducks devils capitals
        hurricanes predators blues flames senators islanders
        """,
    "LEAGUE": """
        nba wnba nfl mlb nhl mls ncaa epl ufc f1 formula-1 formula-one motogp nascar premier-league la-liga
        laliga bundesliga serie-a ligue-1 champions-league europa-league super-bowl world-series stanley-cup
        world-cup euro-league euroleague copa-america wimbledon us-open french-open roland-garros
        college-football college-basketball basketball-game football-game soccer-game baseball-game
        hockey-game basketball football soccer baseball hockey cricket ipl rugby tennis fussball futbol
        calcio futebol brasileirao
        """,
    "CUR": """
        usd eur gbp jpy chf cad aud nzd cny rmb inr brl mxn sek nok dkk pln czk huf ron bgn rub krw sgd hkd
        twd thb idr php myr zar ils aed sar egp ngn kes ars clp uah vnd pkr isk dollar dollars euro euros
        pound pounds sterling yen yuan renminbi rupee rupees peso pesos franc francs franken ruble rubles
        rouble roubles rand ringgit baht shekel shekels zloty zlotys krona kronor krone kroner lira liras
        dirham dirhams riyal naira rupiah us-dollar us-dollars british-pound british-pounds canadian-dollars
        canadian-dollar australian-dollars australian-dollar swiss-franc swiss-francs korean-won japanese-yen
        chinese-yuan indian-rupees indian-rupee mexican-pesos mexican-peso brazilian-real brazilian-reais
        reais hong-kong-dollars dolar dolares libras yenes pfund schweizer-franken livres livre dollari
        dollaro sterline sterlina dolars quid bucks-us euros
        """,
    "COIN": """
        btc bitcoin bitcoins xbt eth ethereum ether ltc litecoin xrp ripple doge dogecoin ada cardano sol
        solana dot polkadot bnb usdt tether usdc matic polygon avax avalanche shib trx tron xmr monero
        atom-coin filecoin fil chainlink uniswap-token crypto cryptocurrency altcoin altcoins krypto
        criptomonedas
        """,
    "UNIT": """
        mm cm km meter meters metre metres kilometer kilometers kilometre kilometres mile miles yard yards
        foot feet ft inch inches gram grams kg kilogram kilograms kilos kilo lb lbs pound pounds ounce ounces
        oz ton tons tonne tonnes stone liter liters litre litres ml milliliters gallon gallons pint pints
        quart quarts cup cups tablespoon tablespoons teaspoon teaspoons tbsp tsp celsius fahrenheit kelvin
        degrees second seconds minute minutes hour hours day days week weeks month months year years byte
        bytes kb mb gb tb kilobytes megabytes gigabytes terabytes joule joules calories kcal watt watts mph
        kmh kph knots acre acres hectare hectares bar psi pascal kilometros millas libras metros meilen
        kilometer zoll livres pouces kilometri miglia
        """,
}


def _word_index() -> dict[tuple[str, ...], str]:
    index: dict[tuple[str, ...], str] = {}
    for tag_name, words in _WORD_CLASSES.items():
        for word in words.split():
            # A word of two classes ("pound") keeps the first; rules that need both name both.
            index.setdefault(tuple(word.split("-")), tag_name)
    return index


_INDEX = _word_index()
_NUMBER = re.compile(
    r"^\d[\d.]*[km]?$|^(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million)$"
)
_FUSED = re.compile(r"^(\d[\d.]*)([a-z]{1,4})$")


def tag(words: tuple[str, ...]) -> str:
    """``words`` joined by blanks, names of word classes replaced; the first ``TEXT_CHARS`` or so."""
    out: list[str] = []
    size = 0
    at = 0
    while at < len(words) and size < TEXT_CHARS:
        for length in range(min(_PHRASE_WORDS, len(words) - at), 0, -1):
            found = _INDEX.get(words[at : at + length])
            if found is not None:
                out.append(found)
                at += length
                break
        else:
            word = words[at]
            fused = _FUSED.match(word)
            if fused and (fused.group(2),) in _INDEX:
                out += ["NUM", _INDEX[(fused.group(2),)]]
            elif len(word) == 6 and {_INDEX.get((word[:3],)), _INDEX.get((word[3:],))} == {"CUR"}:
                out += ["CUR", "CUR"]  # "gbpusd"
            else:
                # "usd/eur" arrives as two words; "usd-eur" as one that is cut here.
                classes = [_INDEX.get((part,)) for part in word.split("-")]
                if len(classes) == 2 and classes[0] is not None and classes[0] == classes[1]:
                    out += [classes[0], classes[0]]
                else:
                    out.append("NUM" if _NUMBER.match(word) else word)
            at += 1
        size += len(out[-1]) + 1
    return " ".join(out)


# --- shared vetoes --------------------------------------------------------------------------------

_WHEN = (
    r"(?:today|tonight|tomorrow|now|outside|currently|yesterday|right now|this (?:morning"
    r"|afternoon|evening|week|weekend)"
    r"|next (?:week|weekend|few days)|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|last"
    r" night|at the moment)"
)


def _rule(name: str, pattern: str, veto: str | None = EXPLAINS, *, local: bool = False) -> Rule:
    return Rule(name, re.compile(pattern), re.compile(veto) if veto else None, local)


_WEATHER_TRAPS = EXPLAINS.replace(r"|should|", "|").replace(r"|app|apps|", "|") + (
    r"|under the weather|weather (?:underground|systems?|patterns?|balloons?|vanes?|channel|girl"
    r"|man|apps?|api|stations?"
    r"|stripping|modification|proof|resistant|delays?|permitting|models?|derivatives?|insurance"
    r"|satellites?|prediction"
    r"|forecasting|the storm|together)|fair weather|on (?:our|my|your|his|her|their|the|anyone"
    r"|someone) parade|parade"
    r"|(?:body|oven|cooking|baking|boiling|melting|freezing|water|room|core|surface|storage"
    r"|serving|brewing|fridge|cpu|gpu"
    r"|color|colour|engine|critical|internal) temperature|temperature (?:of|to|scale|sensor|unit)"
    r"|\b(?:sun|mars|venus|moon|planet|space|jupiter|universe|sales|revenue|budget|demand|economic"
    r"|economy|earnings"
    r"|gdp|inflation|stock|stocks|market|profit|forest|rainforest|acid|purple|coffee|election|white|crash)\b"
    r"|tempest|analogy|metaphor|mood|affects?|rain man|snow (?:white|leopard|crash|den|flake)|jon snow|edward"
    r" snowden|it rains (?:it )?pours?|what is (?:the )?weather$"
    r"|what is (?:rain|snow|humidity|temperature|a forecast|weather forecasting|wind)$|climate"
    r" change|rain cats|make it rain"
)
_SCORE_TRAPS = (
    r"\b(?:why|explain|history|all time|ever|championships?|titles|rings|founded|founder|owners?"
    r"|owns?|coach|mascot|arena"
    r"|stadium|salary|salaries|net worth|tickets?|rules?|meaning|movie|film|music|composer"
    r"|orchestra|soundtrack|thrones"
    r"|rotten|credit|sat|gre|ielts|toefl|test|exam|apgar|elections?|debate|lottery|oscars?"
    r"|grammys?|nobel|eurovision|war"
    r"|battle|logo|jersey|colors?|nickname|invented|how (?:do|does|is|are) (?:\w+ ){0,4}(?:work"
    r"|calculated|scored|scoring)"
    r"|(?:in|of|the|from) (?:18|19|20)\d\d|(?:18|19|20)\d\d (?:world|finals?|championship|super"
    r"|olympics|nba|nfl|draft)"
    r"|most|greatest|best|record for|score a|settle|four score|video games?|board games?|card"
    r" games?|squid|hunger"
    r"|how many (?:players|teams|people|points is|games are)|what is (?:the )?(?:nba|nfl|mlb|nhl"
    r"|mls|ncaa|ufc)$|join"
    r"|pokemon|chess engine|poem|story|song|should i|bet)\b"
)
_NEWS_TRAPS = (
    r"\b(?:why|explain|news (?:anchors?|papers?|outlets?|sites?|websites?|channels?|agency"
    r"|agencies|apps?|api|letters?|feeds?"
    r"|reporters?|casters?|rooms?|stands?|sources?|bias|media|corp|networks?|presenter|magazine"
    r"|reader)|(?:fake|bad|old"
    r"|break the|broke the|breaking the|huey lewis and the) news|newspapers?|no news|write|essay"
    r"|poem|story about|invented"
    r"|how (?:do|does|did|to|can|is|are|should)|history|define|definition|meaning|mean|difference"
    r"|salary|founded|owns?|owned|owner"
    r"|trust|reliable|most trusted|read|spot|song|movie|film|album|good headlines?|headline (?:for"
    r"|in html|tag|font|generator)"
    r"|linkedin|impact of|effect of|influence|stress|what is (?:a )?(?:news|headline)$)\b"
)
_RATE_TRAPS = (
    r"\b(?:why|explain|history|who|invented|write|poem|story|song|bill|bills|coin design|smell"
    r"|store|shop|tree|menu|cake"
    r"|general|shave|club|define|definition|meaning|difference|impact|effect|affects?|predict"
    r"|should|how (?:do|does|are|is|to)"
    r" (?:\w+ ){1,4}(?:work|made|printed|make|earn|save|invest)|save|earn|invest|million dollar"
    r"|for pound|lose|weight"
    r"|kg|kgs|kilos?|kilograms?|lbs?|grams?|ounces?|stones?|first|adopted|introduced|used in|euro"
    r" 20\d\d|euros 20\d\d"
    r"|mechanisms?|systems?|regimes?|risk|policy|concept|what is an? (?:\w+ )?(?:exchange"
    r"|currency)|kilogramos|kilogramm|gramos|gramm)\b"
)

# --- topics ---------------------------------------------------------------------------------------

TOPICS: tuple[Rule, ...] = (
    # computed here
    _rule(
        "an arithmetic expression",
        r"^(?:(?:what is|what are|what does|calculate|compute|solve|evaluate|how much is|work out"
        r"|whats|equals?|result of|the) )?"
        r"(?:NUM ){1,3}(?:plus|minus|times|multiplied by|divided by|over|mod|modulo|to the power of|x"
        r"|percent of) NUM\b",
        None,
        local=True,
    ),
    _rule(
        "an arithmetic expression",
        r"\b(?:square|cube) root of NUM\b|\bNUM (?:factorial|squared|cubed)\b|\bNUM percent (?:of|off) NUM\b"
        r"|\b(?:sum|product|average|mean|median|difference|gcd|lcm) (?:of|between) NUM (?:and )?NUM\b",
        r"\b(?:prove|proof|why|irrational|explain|history)\b",
        local=True,
    ),
    _rule(
        "a conversion of units",
        r"\bNUM (?:UNIT|CUR) (?:in|to|into|as|equals how many|is how many|en|a|nach|zu|sind|son|auf"
        r"|per) (?:how many )?(?:(?!NUM)\w+ )?UNIT\b"
        r"|\bconvert (?:\w+ ){0,3}(?:UNIT|NUM|CUR) (?:\w+ ){0,3}(?:UNIT|CUR)\b.{0,20}UNIT"
        r"|\bhow many (?:UNIT|CUR) (?:are |is )?(?:there )?(?:in|per|make) (?:a |an |one |NUM )?(?:\w+"
        r" )?(?:UNIT|CUR)\b"
        r"|\bconvert (?:NUM )?(?:UNIT|CUR) (?:to|into|in) UNIT\b",
        r"\b(?:why|history|explain|sleep|work week|recipe)\b|\bhow (?:to|do \w+|can \w+|should \w+) convert"
        r" (?!NUM)",
        local=True,
    ),
    _rule(
        "a question of the calendar",
        r"\bhow many (?:UNIT|days|weeks|months|hours) (?:until|till|til|since|between|before|left"
        r" (?:until|in)|to go until|ago)\b"
        r"|\b(?:days|weeks|months|hours) (?:until|till|between) \w+"
        r"|\bUNIT (?:until|till|between) (?:christmas|new|easter|halloween|thanksgiving|january"
        r"|february|march|april|may|june"
        r"|july|august|september|october|november|december|NUM|today|next)\b"
        r"|\b(?:what|which) (?:UNIT|day|weekday|date) (?:of the (?:UNIT|week) )?(?:is|was|will|will it"
        r" be) (?:it|today|tomorrow|it be|the date|be|NUM"
        r"|january|february|march|april|may|june|july|august|september|october|november|december)\b"
        r"|^(?:what is |tell me |what )?(?:the )?(?:current |today |todays )?date(?: is it)?(?:"
        r" today)?$|\bwhat is todays? date\b|\bwhat date is\b|\btoday date\b"
        r"|\bwelche[rsn]? (?:tag|wochentag|datum) (?:ist|haben)\b|\bque dia (?:es|e) (?:hoy|hoje)\b"
        r"|\bquel jour (?:est-on|sommes-nous|est-ce)\b",
        r"\b(?:why|explain|history|release|released|born|died|founded|invented|start dating|expiration"
        r"|best|save the|birth)\b",
        local=True,
    ),
    _rule(
        "asks for the time somewhere",
        r"\bwhat (?:\w+ )?time is it\b|\bwhat is the (?:current |local |exact |right )?time(?: now|"
        r" right now| (?:there )?in [\w ]{2,40}| here)?$|\btime is it\b"
        r"|\b(?:current|local) time\b|^time (?:now|right now|here)$|^(?:the )?time (?:now |right now"
        r" )?in (?!a |the |my |which |space\b|physics\b)[\w .'-]{2,40}$"
        r"|^[\w ]{2,25} (?:local |current )?time (?:now|right now)$|\btime (?:difference|zone|zones)"
        r" (?:between|of|in|for)\b|\b(?:time ?zone) (?:is|does)\b"
        r"|\b\w+ time zone$|\bwhen it is (?:NUM|noon|midnight|\d+) (?:\w+ )?(?:in|am|pm)\b.{0,40}\btime\b"
        r"|^(?:what is |convert |when it is )?(?:NUM |\d+)(?:am|pm) (?:\w+ ){0,3}?(?:in|to) \w+(?:"
        r" \w+)?(?: time)?$"
        r"|\bque hora (?:es|son|e)\b|\bhora (?:actual )?en \w+|\bwie (?:spat|viel uhr) ist\b|\buhrzeit"
        r" in\b|\bquelle heure\b|\bheure a \w+|\bche ora\b|\bche ore\b|\bque horas\b",
        r"\b(?:why|explain|history|first|last|story|song|invented|relativity|dilation|travel"
        r"|complexity|how many time zones"
        r"|movie|album|flights?|best time|good time|hammer|prime time|half time|screen time|release)\b",
        local=True,
    ),
    # looked up live
    _rule(
        "asks for an exchange rate",
        r"\bCUR (?:to|in|into|vs|versus|against|en|nach|zu|a|per|as|is how many|auf|sind|son|in to"
        r"|equals|equal to|for) (?:the |an? |one |how many )?CUR\b"
        r"|\bCUR CUR\b|\bCUR (?:worth|value|trading) (?:\w+ ){0,2}?CUR\b|\bhow (?:many|much) (?:\w+"
        r" ){0,2}?CUR (?:is|are|do i get for|for|in|can i get for|will i get for|per|to|would) (?:\w+"
        r" ){0,4}?CUR\b"
        r"|\b(?:exchange|conversion|currency|forex) rates?\b|\bCUR (?:exchange )?(?:rate|rates|kurs|cours)\b"
        r"|\b(?:convert|change|exchange|swap) (?:\w+ ){0,4}?CUR (?:\w+ ){0,3}?CUR\b|\bhow much is"
        r" (?:NUM|a|an|one|the) (?:\w+ )?CUR(?: (?:worth|now|today|right now))?(?: in (?:\w+ )?CUR)?$"
        r"|\bvalue of (?:the )?(?:\w+ )?CUR (?:in|against|today|now)\b|\bcuanto (?:es|son|vale|valen"
        r"|esta) (?:\w+ ){0,2}CUR\b|\bwie viel (?:sind|ist|kostet) (?:\w+ ){0,2}CUR\b"
        r"|\bcombien (?:font|fait|valent|vaut|coute) (?:\w+ ){0,2}CUR\b|\b(?:wechselkurs|tipo de"
        r" cambio|taux de change|tasso di cambio|cambio|cotacao)\b",
        _RATE_TRAPS,
    ),
    _rule(
        "asks for the weather",
        r"\b(?:weather|weater|wether|wheather|weahter)\b",
        _WEATHER_TRAPS,
    ),
    _rule(
        "asks for the weather",
        r"\b(?:will|is|was|does|did|would|gonna|going to|may|might|should|if)(?: (?:it|there))(?:"
        r" \w+){0,3}? (?:rain|raining|rainy|snow|snowing|hail|storms?|thunderstorms?|showers"
        r"|(?:be )?(?:\w+ )?(?:sunny|cloudy|windy|humid|foggy|stormy|icy|overcast))\b"
        r"|\b(?:is|will|was) it (?:going to )?(?:be )?(?:\w+ )?(?:hot|cold|warm|chilly|nice|cool"
        r"|freezing|dry|wet|muggy)(?: \w+){0,3}? (?:today|tomorrow|tonight|outside|now|out|this week"
        r"|this weekend|in \w+)\b"
        r"|\b(?:is|will) it (?:be )?(?:hot|cold|warm|chilly|freezing)$"
        r"|\bhow (?:hot|cold|warm|humid|windy|sunny|cloudy|wet|chilly) (?:is|was|will|does|did) (?:it"
        r"|the weather)\b"
        r"|\bhow (?:hot|cold|warm|humid|windy|sunny|cloudy|wet) (?:is|will) \w+(?: \w+)?(?: be)? "
        + _WHEN
        + r"\b"
        r"|\b(?:chances?|probability|likelihood|odds) of (?:rain|snow|showers|precipitation|a storm"
        r"|thunderstorms)\b"
        r"|\b(?:need|bring|take|wear|carry|pack)(?: \w+){0,2}? (?:umbrella|raincoat|sunscreen|rain ?coat)\b"
        r"|\b(?:need|wear|bring|take) (?:a |an |my )?(?:jacket|coat|sweater|boots)\b.{0,30}\b(?:today"
        r"|tomorrow|tonight|outside|in)\b",
        _WEATHER_TRAPS + r"|\b(?:gold|diamonds?|meteors?|spread|fusion|case|out there|in here)\b",
    ),
    _rule(
        "asks for the weather",
        r"\b(?:temperatures?|humidity|forecast|wind|wind speed|rain|rainfall|snow|snowfall|uv index"
        r"|air quality|sunrise|sunset|pollen|precipitation|visibility|dew point|thunderstorms?|storms?"
        r"|hail|showers)\b(?: \w+){0,3}? (?:in|for|at|over|near) (?!general\b|degrees\b|celsius\b"
        r"|fahrenheit\b|dogs\b|cats\b|humans\b|babies\b|UNIT\b|c\b|f\b|a\b|an\b|all\b)\w+"
        r"|\b(?:temperatures?|humidity|forecast|wind|wind speed|rain|snow|snowfall|uv index|air"
        r" quality|sunrise|sunset|pollen|sunny|raining|snowing|showers|storms?)\b(?: \w+){0,4}? "
        + _WHEN
        + r"\b"
        r"|\b"
        + _WHEN
        + r" (?:\w+ )?(?:temperature|forecast|humidity|rain|snow|high and low|sunset|sunrise)\b"
        r"|^(?:\w+ ){1,3}(?:forecast|temperature|temperatures|humidity|air quality|sunrise|sunset)$"
        r"|^(?:the )?(?:forecast|temperature)(?: \w+){0,2}$"
        r"|\bwhen (?:is|was|does|will) (?:\w+ ){0,3}(?:sunrise|sunset|sun (?:rise|set))\b",
        _WEATHER_TRAPS + r"|\b(?:what is a|who|movie|kill|invest|song|invented)\b",
    ),
    _rule(
        "asks for the weather",
        r"\b(?:clima (?:en|de|em|para|hoy|hoje)|(?:el|o|che|que|hace) (?:buen |mal )?tiempo (?!libre"
        r"|se|tarda|dura|que|toma|leva|demora)|tiempo (?:en|hoy|manana|para|em|no|na|hoje|amanha|a)"
        r" \w+|tempo (?:a|em|no|na|fa|fara|hoje|amanha|domani|oggi|para)|como (?:esta|estara) el"
        r" (?:tiempo|clima)"
        r"|(?:va a|ira a|vai|vaa) (?:llover|nevar|chover|hacer (?:frio|calor|sol))|llovera|llueve"
        r"|lloviendo|nevara|nieva|pronostico|hace (?:frio|calor|sol)|temperatura (?:en|em|a|hoy|de hoy"
        r"|actual|hoje|oggi)"
        r"|wetter\w*|regnet|regnen|schneit|schneien|wie (?:warm|kalt|heiss) (?:ist|wird|war)"
        r"|temperatur(?:en)? (?:in|heute|morgen)|regenschirm|sonnig"
        r"|meteo|quel temps|temps (?:fait|fera|qu'|a |demain|aujourd|prevu)|pleuvoir|pleut|pleuvra"
        r"|neiger\w*|il fera|previsions?|fait-il (?:chaud|froid|beau)|temperature a|parapluie"
        r"|che tempo|piove|piovera|nevica|nevichera|previsioni|chovera|chovendo|chove|previsao"
        r"|guarda-chuva|ombrello|paraguas)\b",
        EXPLAINS + r"|\bcuanto tiempo|quanto tempo\b",
    ),
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
    _rule(
        "asks for the price of a coin",
        r"\bCOIN (?:\w+ ){0,2}?(?:price|prices|value|worth|quote|rate|cost|market cap|kurs|preis|wert"
        r"|cours|prix|precio|valor|prezzo|preco|now|today|trading|usd|CUR)\b"
        r"|\b(?:price|prices|value|worth|cost|quote|rate|market cap|kurs|preis|wert|cours|prix|precio"
        r"|valor|prezzo|preco|cotizacion|cotacao|quotazione) (?:\w+ ){0,2}?COIN\b"
        r"|\bhow much (?:\w+ ){0,4}?COIN\b|\bCOIN (?:to|in|a|en|into) (?:CUR|COIN)\b|\bCOIN vs CUR\b|\bcuanto"
        r" (?:vale|cuesta) (?:\w+ ){0,2}COIN\b|\bwie (?:steht|viel) (?:\w+ ){0,3}COIN\b|\bcombien"
        r" (?:vaut|coute) (?:\w+ )?COIN\b|\bquanto (?:vale|costa|custa) (?:\w+ )?COIN\b",
        EXPLAINS
        + r"|\b(?:who|whitepaper|white paper|predict\w*|mining|miner|energy|proposition|add(?:ed)? value"
        r"|first|store of value)\b",
    ),
    _rule(
        "asks for scores or games",
        r"\b(?:TEAM|NICK|LEAGUE) (?:\w+ ){0,3}?(?:scores?|scoreboard|results?|standings?|fixtures?"
        r"|schedule|box score|table|livescore|ergebnisse?|resultados?|resultats?|risultati|games?"
        r"|match(?:es)?) ?(?:\w+ ){0,2}?(?:" + _WHEN + r"|scores?|results?|schedule)?$"
        r"|\b(?:scores?|results?|standings|fixtures|schedule|scoreboard|ergebnisse?|resultados?"
        r"|resultats?|risultat[oi]|punteggio|placar|spielstand|marcador) (?:\w+ ){0,4}?(?:TEAM"
        r"|LEAGUE)\b"
        r"|\b(?:TEAM|LEAGUE)(?: \w+){0,6}? " + _WHEN + r"\b"
        r"|\b(?:the )?NICK (?:\w+ ){0,3}?(?:win|won|winning|lose|lost|losing|play|playing|played|game"
        r"|games|score|scores|match|beat|do|doing)(?: \w+){0,3}? " + _WHEN + r"\b"
        r"|\b" + _WHEN + r" (?:\w+ ){0,3}(?:TEAM|LEAGUE)\b",
        _SCORE_TRAPS,
    ),
    _rule(
        "asks for scores or games",
        r"\b(?:did|do|does|have|has|are|is|will|can) (?:the )?(?:TEAM|NICK) (?:\w+ )?(?:win|won"
        r"|winning|lose|lost|losing|beat|beaten|play|playing|played|leading|score)\b"
        r"|\b(?:who|which team) (?:won|is winning|lost|is playing|plays|is leading|beat|wins|is"
        r" ahead)(?: \w+){0,4}? (?:TEAM|LEAGUE|game|match|" + _WHEN + r")\b"
        r"|\b(?:TEAM|NICK) (?:\w+ )?(?:vs|versus|v|against|at|contre|gegen|contra|beat) (?:the"
        r" )?(?:TEAM|NICK)\b|\b(?:TEAM) TEAM (?:score|game|result|match)"
        r"|\bwhen (?:do|does|is|are|will) (?:the )?(?:TEAM|NICK)(?: \w+){0,2}? (?:play|playing|next"
        r"|game|match)\b|\bhow (?:did|are|is) (?:the )?(?:TEAM|NICK) (?:do|doing|play|playing"
        r"|perform)\b"
        r"|\bwhat (?:is|was) the (?:final |current |live )?score\b|^(?:the )?(?:live|final|latest"
        r"|current|game|match) scores?\b|\b(?:final|live|latest|current) scores? (?:of|in|for|between"
        r"|from)\b|\bscores? (?:of|in|for|from) (?:the )?(?:\w+ ){0,3}(?:game|match|games|matches)\b"
        r"|\b(?:game|match|sports?) (?:scores?|results?)\b|\bscores? " + _WHEN + r"\b",
        _SCORE_TRAPS,
    ),
    _rule(
        "asks for scores or games",
        r"\b(?:resultados? (?:del? |do |da )?(?:partidos?|jogos?|TEAM|LEAGUE|NICK|liga)|como (?:quedo"
        r"|va) (?:el |la )?(?:\w+ )?(?:partido|TEAM|NICK|LEAGUE)|quien (?:gano|gana) (?:\w+"
        r" ){0,2}(?:partido|ayer|TEAM|LEAGUE|NICK)|gano (?:el |la )?(?:TEAM|NICK)"
        r"|wer hat (?:\w+ ){0,3}gewonnen|(?:hat|haben) (?:\w+ ){0,2}?(?:TEAM|NICK) (?:\w+"
        r" ){0,3}(?:gewonnen|verloren|gespielt)|wie (?:hat|haben|ging|steht|spielte|spielen) (?:\w+"
        r" ){0,3}(?:TEAM|NICK|spiel|LEAGUE)|(?:ergebnis|ergebnisse|spielstand) (?:\w+ ){0,3}(?:TEAM"
        r"|LEAGUE|spiels?|NICK)|TEAM ergebnis\w*|LEAGUE ergebnis\w*"
        r"|score (?:du|des) (?:match|TEAM|LEAGUE)|resultats? (?:\w+ ){0,3}(?:match\w*|TEAM|LEAGUE)|qui"
        r" a gagne (?:\w+ ){0,3}(?:match|hier|TEAM|LEAGUE|NICK)|(?:TEAM|NICK) a-t-il gagne"
        r"|risultat[oi] (?:\w+ ){0,3}(?:partit[ae]|TEAM|LEAGUE|NICK)|chi ha vinto (?:\w+"
        r" ){0,3}(?:partita|ieri|TEAM|LEAGUE|NICK)|quem (?:ganhou|venceu) (?:\w+ ){0,3}(?:jogo|ontem"
        r"|TEAM|LEAGUE)|placar)\b",
        _SCORE_TRAPS + r"|\b(?:weltkrieg|guerra|guerre|krieg|nobelpreis|19\d\d|20\d\d|elecciones|wahl)\b",
    ),
    _rule(
        "asks for news",
        r"\b(?:news|headlines?|top stories|current events|breaking)\b",
        _NEWS_TRAPS,
    ),
    _rule(
        "asks for news",
        r"\bwhat (?:is|has been) (?:happening|going on) (?:\w+ ){0,1}?(?:in|with|around|at) (?:the"
        r" world|the news|\w+)(?: (?:\w+ )?" + _WHEN + r")?$"
        r"|\bwhat (?:is happening|is going on|happened|has happened) (?:in (?:the )?\w+ )?"
        + _WHEN
        + r"\b|\bwhat is new (?:in|with) (?:the )?(?:\w+ ){0,2}(?:world|today|this week)\b"
        r"|\b(?:latest|any|recent|newest) (?:\w+ )?(?:updates?|developments?) (?:on|about|in|from"
        r"|regarding)\b|^(?:the )?latest (?:on|about|from) \w+|\bwhat is the latest(?: (?:on|about|in"
        r"|from|with)\b|$)",
        _NEWS_TRAPS
        + r"|\b(?:version|release|windows|ios|android|python|brain|body|cell|film|series|season|episode)\b",
    ),
    _rule(
        "asks for news",
        r"\b(?:noticias|titulares|novedades (?:sobre|de)|ultima hora|nachrichten|schlagzeilen"
        r"|neuigkeiten|was gibt es neues|was ist (?:heute )?(?:in der welt )?(?:passiert|los in)"
        r"|actualites?|les nouvelles|nouvelles du jour|infos du jour|gros titres|a la une|dernieres"
        r" (?:infos|nouvelles)|notizie|manchetes|ultime notizie|que (?:ha pasado|pasa|paso) (?:hoy|en"
        r" el mundo|ayer))\b",
        EXPLAINS,
    ),
)

SCRIPT_TOPICS: tuple[Rule, ...] = (
    _rule(
        "asks for the time somewhere",
        r"何時です|今何時|現在時刻|(?:几|幾)点(?:了|钟)|现在(?:是)?几点|(?:который|сколько) (?:сейчас"
        r" )?(?:час|времени)"
        r"|сколько (?:сейчас )?времени|какое сегодня число|какой сегодня день|今日は何[曜日]|今天星期几"
        r"|今天几号|몇 시",
        None,
        local=True,
    ),
    _rule(
        "an arithmetic expression",
        r"\d\s*(?:加|减|乘以?|除以|たす|ひく|かける|わる|足す|引く|掛ける|割る|плюс|минус|умножить на"
        r"|разделить на)\s*\d",
        None,
        local=True,
    ),
    _rule(
        "asks for the weather",
        r"天気(?!予報士)|気温|雨が?(?:降|ふ)|雪が?(?:降|ふ)|降水|天気予報|天气|天氣|气温|下雨|下雪"
        r"|温度(?!は何)|погод|дожд[ья]?(?![а-я])"
        r"|дождь|снег(?:\s|$|[,?])|температур[аы] (?:в|на)|прогноз погоды|날씨|الطقس|मौसम",
        r"なぜ|とは|仕組み|为什么|原理|什么是|почему|объясни|что такое|как образуется",
    ),
    _rule(
        "asks for an exchange rate",
        r"為替|ドル.{0,4}円|円.{0,4}ドル|ユーロ.{0,4}円|汇率|匯率|美元.{0,8}人民币|人民币.{0,8}美元"
        r"|欧元.{0,8}人民币|(?:доллар|рубл"
        r"|евро|юан|фунт|иен)[а-я]{0,3} в \d[\d ]* (?:доллар|евро|рубл|юан|фунт|иен)|курс (?:доллара"
        r"|евро|рубля|валют|юаня|фунта|иены)|(?:долларов|евро|доллар|рублей) (?:в|к) (?:евро|рубл"
        r"|доллар|фунт)|환율",
        r"なぜ|とは|为什么|什么是|почему|объясни|что такое|原理",
    ),
    _rule(
        "asks for the price of a coin",
        r"(?:ビットコイン|イーサリアム|btc|eth|bitcoin|仮想通貨).{0,6}(?:価格|値段|いくら|相場|レート)"
        r"|(?:比特币|以太坊|btc|eth"
        r"|bitcoin).{0,6}(?:价格|多少钱|行情|价|值多少)|(?:курс|цена|стоимость|сколько стоит) (?:\w+"
        r" )?(?:биткоин"
        r"|биткойн|эфир|btc|eth|bitcoin)|비트코인.{0,4}(?:가격|시세)",
        r"なぜ|とは|为什么|почему|объясни",
    ),
    _rule(
        "asks for scores or games",
        r"試合(?:結果|の結果|のスコア)|スコア|(?:nba|プロ野球|jリーグ|レイカーズ).{0,6}(?:結果|スコア"
        r"|試合)|比分|比赛(?:结果|比分)|(?:nba|英超|湖人"
        r"|勇士|中超|欧冠).{0,10}(?:比分|结果|赢|比赛|战绩)|谁赢了(?:比赛|昨)|сч[её]т (?:матча|игры|в матче)"
        r"|результат(?:ы)? (?:матч|нба|nba|игр)|кто (?:выиграл|победил) (?:матч|вчера|в матче|игру)"
        r"|как сыграл|(?:выиграли|победили) ли",
        r"とは|为什么|什么是|почему|объясни|что такое|правила",
    ),
    _rule(
        "asks for news",
        r"ニュース|見出し|新闻|新聞(?!社)|头条|頭條|最新消息|новост|заголовк|что (?:нового|происходит)"
        r" в мире|뉴스|الأخبار"
        r"|أخبار|समाचार",
        r"なぜ|とは|アンカー|新闻学|为什么|什么是|почему|объясни|что такое",
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
        "its pronoun stands for something said before",
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
        "its pronoun stands for something said before",
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

"""What people say about the weather, as data: topics, traps, figures, statistics, fillers. Pure.

Rules of this file:
- Patterns match the joined words of a ``Reading`` (lower case, no accents, contractions written out), those
  named ``..._SCRIPT`` the folded text of Japanese, Chinese, Russian and others.
- ``TOPICS`` are wordings that ask for the weather on their own. ``CLEAR`` and ``VAGUE`` words ask for it
  beside a place or a time only; vague ones ("hot") need a frame such as "is it" too.
- A text in which a trap is found is not about the weather of a place.
- Every repeat is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from node.language.reading import word_list
from node.language.tables import read_table
from node.language.wording import EXPLAINS

_DATA = read_table(__package__, "words.toml")

SAID_OTHERWISE: Mapping[str, str] = {"rn": "now", "atm": "now", "gerade": "now", "momentan": "now"}
"""Words of time that people type, as the grammar of times reads them."""

NOT_ALONE = frozenset(
    word_list(
        "dry wet nass trocken vent couvert plu pouring sole alba neve sturm boen smoky smog schauer "
        "umido humide"
    )
)
"""Words of a figure that are other words too: they do not ask for it by themselves."""

FRENCH_OR_ITALIAN = frozenset(word_list(_DATA["french_or_italian"]))
"""In a text with one of these words, "a" is the preposition "à" of French or the Italian "a"."""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


SPORTS = _pattern(
    r"\b(?:game|games|match|matches|score[ds]?|playoffs?|roster|standings|quarterback|coach|tickets|vs"
    r"|nba|nfl|nhl|mlb"
    r"|beat|fixture|league|season)\b"
)
"""Beside a clear word alone, they mean a team ("Miami Heat")."""


# --- figures ------------------------------------------------------------------------------------------

FIRST_METRICS: Mapping[str, re.Pattern[str]] = {
    # Looked for first: their words hold words of the others ("sun").
    "air_quality": _pattern(
        r"\b(?:how is the air|what is the air like|(?:is|was|will) the air (?:be )?(?:very |too )?(?:ok"
        r"|okay|good|bad"
        r"|safe|clean|dirty|healthy|unhealthy|polluted|smoky|breathable)|smoky|air quality(?: index)?"
        r"|air pollution|aqi|smog"
        r"|smoggy|pollen(?: count)?|pm ?2\.?5|pm ?10|feinstaub|luftqualitat|calidad del aire"
        r"|contaminacion(?: del aire)?|qualite de l' air|qualita dell' aria|qualidade do ar)\b"
    ),
    "uv": _pattern(
        r"\b(?:uv(?: index)?|uv-index|ultraviolet|sunscreen|sun ?cream|sunburn\w*|sonnencreme"
        r"|indice (?:de )?uv|protector solar|crema solar|creme solaire|crema solare"
        r"|protetor solar)\b"
    ),
    "sunrise": _pattern(
        r"\b(?:sunrise|sun-rise|sunup|dawn|daybreak|sun (?:rise|rises|rising|come up|comes up"
        r"|coming up|rose)|sonnenaufgang|geht (?:\w+ ){0,5}?die sonne (?:\w+ ){0,5}?auf|sonne aufgeh\w+"
        r"|amanecer"
        r"|amanece|salida del sol|sale el sol|lever d[ue] soleil|soleil se leve|se leve le soleil"
        r"|alba|sorge il sole|sole sorge|nascer do sol|amanhecer)\b"
    ),
    "sunset": _pattern(
        r"\b(?:sunset|sun-set|sundown|dusk|sun (?:set|sets|setting|go down|goes down|going down)"
        r"|get dark|gets dark|getting dark|sonnenuntergang|geht (?:\w+ ){0,5}?die sonne (?:\w+ ){0,5}?unter"
        r"|sonne untergeh\w+|anochecer|anochece|atardecer|puesta de(?:l)? sol|se pone el sol"
        r"|coucher d[ue] soleil|soleil se couche|se couche le soleil|tramonto|tramonta il sole"
        r"|sole tramonta|por do sol|anoitecer)\b"
    ),
}

METRICS: Mapping[str, re.Pattern[str]] = {
    # The one whose word stands first decides.
    "snow": _pattern(
        r"\b(?:snow(?:ing|s|ed|y|fall|falls|storms?|flurries|iest)?|flurries|blizzards?|schnee\w*"
        r"|schnei\w+|geschneit|nieve|nevar\w*|nevado|nieva|nevando|nevo|nevadas?|neige\w*|neve|nevica\w*"
        r"|nevando|nevara)\b"
    ),
    "rain": _pattern(
        r"\b(?:rain(?:ing|s|ed|y|fall|coats?|iest|ier|jackets?|boots)?|rainning|reain|raing"
        r"|umbrell?as?|umberella|brolly|drizzl\w*|showers?|downpours?|precipitation|wet|wetter than"
        r"|wettest|pouring|(?:to|it|gonna) pour|dry|wellies|regen\w*|regne\w*|geregnet|niederschlag\w*"
        r"|trocken|nass"
        r"|schauer|llov\w+|llueve|lluvi\w+|paraguas|precipitacion\w*|pluie\w*|pleu[tv]\w*|pleuvoir"
        r"|plu|averses?|parapluie|precipitations|piov\w+|pioggi\w+|ombrello|chov\w+|chuva\w*"
        r"|guarda-chuva)\b"
    ),
    "wind": _pattern(
        r"\b(?:wind(?:y|s|ier|iest)?|breez\w+|gusts?|gusty|windig|wind(?:boen|geschwindigkeit|starke|richtung)"
        r"|sturm\w*|boen|viento\w*|ventoso"
        r"|vent|vents|venteux|rafales|vento|ventos|rajadas)\b"
    ),
    "humidity": _pattern(
        r"\b(?:humid(?:ity)?|muggy|dew point|luftfeuchtigkeit|luftfeuchte|feucht|schwul|humedad"
        r"|humedo|humidite|humide|umidita|umido|umidade|umido)\b"
    ),
    "sunshine": _pattern(
        r"\b(?:sunny|any sun|sunshine|sun ?hours|hours of sun|sunniest|sunlight"
        r"|sun (?:\w+ ){0,4}?(?:out|shin\w+)|sonnig\w*|sonnenschein|sonnenstunden|sonne|soleado"
        r"|hace sol|hara sol|sol|ensoleille\w*|soleil|soleggiat\w+|sole|ensolarado)\b"
    ),
    "cloud": _pattern(
        r"\b(?:cloud cover|cloud(?:y|s|iness|iest)?|overcast|clear sk(?:y|ies)|wolk\w+|bewolk\w+"
        r"|bedeckt|nublad\w+|nubes|nuage\w*|couvert|nuvol\w+|nuvens)\b"
    ),
    "temperature": _pattern(
        r"\b(?:temperatures?|temps?(?! (?:fait|fera|fera-t-il|fait-il|qu'|prevu|libre|en|a|au"
        r"|demain|aujourd'hui|est-ce|pour|de))|temprature|temperture|\w{0,20}temperatur\w*"
        r"|tempratures?|thermometer|hot|hotter|hottest|cold|colder|coldest|warm|warmer|warmest|cool"
        r"|cooler|coolest|chilly|freezing|freeze|frost|frosty|mild|heat ?waves?|heat index"
        r"|wind chill|degrees|(?<!how )highs?|(?<!how )lows?|jackets?|coats?|sweaters?|hoodies?"
        r"|shorts|t-shirts?|gloves|scarf|warm clothes|kalt|kalter|kaltest\w+|warmsten|heiss\w*|grad"
        r"|frost|jacke|mantel|pullover|temperaturas?|frio|calor|caliente|grados|abrigo|chaqueta"
        r"|chaud|froid|degres|manteau|veste|gele\w*|temperature|temperatura|caldo|freddo|gradi"
        r"|giacca|cappotto|quente|graus|casaco)\b"
    ),
}

METRICS_SCRIPT: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("air_quality", _pattern(r"大気汚染|空気の質|空气质量|雾霾|качеств[а-я]+ воздуха|смог|pm2\.?5|미세먼지")),
    ("uv", _pattern(r"紫外線|紫外线|日焼け止め|防晒|уф-индекс|ультрафиолет")),
    ("sunrise", _pattern(r"日の出|日出|восход|рассвет|일출")),
    ("sunset", _pattern(r"日没|日の入り|日落|закат|일몰")),
    ("snow", _pattern(r"雪|сне[гж]|눈이")),
    ("rain", _pattern(r"雨|降水|傘|伞|傘|дожд|зонт|осадк|ливень|비가|비 올|مطر|बारिश")),
    ("wind", _pattern(r"(?<!台)風|(?<!台)风|вет(?:ер|р)")),
    ("humidity", _pattern(r"湿度|влажн")),
    ("cloud", _pattern(r"曇|くもり|多云|多雲|阴天|陰天|облач|пасмурн")),
    ("sunshine", _pattern(r"晴|日照|солнечн")),
    (
        "temperature_max",
        _pattern(
            r"最高(?:の)?(?:気温|气温|氣溫|温度|溫度)|(?:максимальн|наивысш)[а-я]+ температур"
            r"|самая высокая температур"
        ),
    ),
    (
        "temperature_min",
        _pattern(
            r"最低(?:の)?(?:気温|气温|氣溫|温度|溫度)|(?:минимальн|наименьш)[а-я]+ температур"
            r"|самая низкая температур"
        ),
    ),
    (
        "temperature",
        _pattern(
            r"気温|气温|氣溫|温度|溫度|何度|多少度|几度|幾度|暑|寒|冷|熱い|热|暖か|температур"
            r"|градус|холодн|жарк|тепло|мороз|기온|온도"
        ),
    ),
)

# --- statistics ---------------------------------------------------------------------------------------

HIGHS = _pattern(
    r"\b(?:max(?:imum|imal\w*|ima)?|maximum-?\w*|maxima[ls]\w*|hochst\w*|highest|peak|(?<!how )highs?"
    r"|mas altas?"
    r"|plus (?:haute|elevee)s?|massim[ae]|piu alt[ae]|mais altas?)\b"
)
LOWS = _pattern(
    r"\b(?:min(?:imum|imal\w*|ima)?|minimum-?\w*|minima[ls]\w*|lowest|(?<!how )lows?|niedrigst\w*|tiefst\w*"
    r"|mas bajas?|plus basses?|minim[ae]|piu bass[ae]|mais baixas?)\b"
)
"""Beside a temperature, the day's highest or lowest is meant."""
GETS = (
    (
        "max",
        _pattern(
            r"\bhow (?:hot|warm) (?:will|does|did|is|might|could) (?:it|the weather) (?:going to )?(?:get"
            r"|become)\b"
        ),
    ),
    (
        "min",
        _pattern(
            r"\bhow (?:cold|cool|chilly) (?:will|does|did|is|might|could) (?:it"
            r"|the weather) (?:going to )?(?:get|become)\b"
        ),
    ),
)

STATS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "stdev",
        _pattern(
            r"\b(?:standard deviation|std\.? dev\w*|stdev|stddev|standardabweichung"
            r"|desviacion (?:estandar|tipica)|ecart[ -]type|deviazione standard|desvio padrao)\b"
        ),
    ),
    (
        "volatility",
        _pattern(
            r"\b(?:volatil\w*|fluctuat\w*|variability|how (?:much )?(?:variable|changeable)"
            r"|schwank\w*|fluctuacion\w*|fluttuazion\w*)\b"
        ),
    ),
    (
        "anomalies",
        _pattern(
            r"\b(?:anomal\w*|outliers?|unusual(?:ly)?|abnormal\w*|ausreisser|atipic\w*"
            r"|ungewohnlich\w*)\b"
        ),
    ),
    ("median", _pattern(r"\b(?:median(?:e|a|o|s)?|medianwert|mediantemperatur\w*)\b")),
    (
        "mean",
        _pattern(
            r"\b(?:average[ds]?|avg|mean|on average|typical(?:ly)?|durchschnitt\w*|im schnitt"
            r"|mittlere\w*|mittelwert|promedio|media(?! (?:hora|noche|manana))|medio|moyenne|moyen"
            r"|mittel)\b"
        ),
    ),
    (
        "max",
        _pattern(
            r"\b(?:max(?:imum|imal\w*|ima)?|maximum-?\w*|hochst\w*|highest|hottest|warmest|windiest"
            r"|wettest|rainiest|snowiest|sunniest|cloudiest|strongest|heaviest|peak|daily high"
            r"|(?<!how )highs?"
            r"|warmst\w+|heissest\w+|mas alta|mas caluros\w|plus (?:haute"
            r"|elevee|chaude)|le plus chaud|maximale|massim[ae]|piu alt[ae]|mais alta)\b"
        ),
    ),
    (
        "min",
        _pattern(
            r"\b(?:min(?:imum|imal\w*|ima)?|lowest|coldest|coolest|driest|daily low|(?<!how )lows?"
            r"|weakest|lightest|niedrigst\w*|tiefst\w*|kaltest\w+|mas baja|mas fri\w|plus (?:basse|froide)"
            r"|le plus froid|minim[ae]|minimale|piu bass[ae]|mais baixa|calmest)\b"
        ),
    ),
)
NOT_A_STAT = _pattern(
    r"\bmax\w* (?:and|or) min\w*|\bmin\w* (?:and|or) max\w*|\b(?:high|hott|warm)est and (?:low|cold"
    r"|cool)est\b"
    r"|\bhighs? and lows?\b|\blows? and highs?\b|\bhigh (?:and|or) low\b|\bhigh (?:wind|winds"
    r"|humidity|pressure|uv|chance|chances|probability)\b|\blow (?:pressure|chance|wind)\b"
)

STATS_SCRIPT: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("stdev", _pattern(r"標準偏差|标准差|標準差|стандартн[а-я]+ отклонени")),
    ("volatility", _pattern(r"変動|波动|волатильн")),
    ("anomalies", _pattern(r"異常|异常|аномал")),
    ("median", _pattern(r"中央値|中位数|медиан")),
    ("mean", _pattern(r"平均|средн")),
    ("max", _pattern(r"最高|一番暑|最热|максимальн|самая высокая")),
    ("min", _pattern(r"最低|一番寒|最冷|минимальн|самая низкая")),
)

# --- units --------------------------------------------------------------------------------------------

_DEGREES = r"(?:degrees? |deg |grados? |grad |degres? |gradi |graus? )"
_IN = r"(?:(?:in|en|em|auf|using|und|and) )?"
UNITS: Mapping[str, re.Pattern[str]] = {
    # One of each kind may be said: "in celsius and km/h".
    "fahrenheit": _pattern(
        rf"\b{_IN}{_DEGREES}?(?:fahrenheits?|farenheit|farenheight)(?: degrees)?\b"
        rf"|\b(?:in |en )?{_DEGREES}f\b|\bin f$|(?<!\bd) f$|\b(?:in )?imperial(?: units?)?$"
    ),
    "celsius": _pattern(
        rf"\b{_IN}{_DEGREES}?(?:celsius|celcius|centigrade|centigrados)(?: degrees)?\b"
        rf"|\b(?:in |en )?{_DEGREES}c\b|\bin c$|(?<!\bd) c$|\b(?:in )?metric(?: units?)?$"
    ),
    "kelvin": _pattern(rf"\b{_IN}{_DEGREES}?kelvin\b"),
    "kmh": _pattern(
        rf"\b{_IN}(?:km h|kmh|kph|km/h|kilomet(?:er|re)s? (?:per|an) hour|kilometer pro stunde)\b"
    ),
    "mph": _pattern(rf"\b{_IN}(?:mph|mp h|miles (?:per|an) hour|meilen pro stunde|millas por hora)\b"),
    "ms": _pattern(
        rf"\b{_IN}(?:m s|m/s|mps|met(?:er|re)s? (?:per|a) second|meter pro sekunde|metros por segundo"
        r"|metres par seconde)(?!\w)"
    ),
    "kn": _pattern(
        rf"\b{_IN}(?:knots?|kts?|kn|knoten|noeuds?|nudos?|nodi|nos)$|\b{_IN}(?:knots?|knoten|noeuds?|nudos?)\b"
    ),
    "bft": _pattern(rf"\b{_IN}(?:beaufort|bft)\b"),
    "mm": _pattern(rf"\b{_IN}(?:mm|millimet(?:er|re)s?|milimetros)\b"),
    "inch": _pattern(rf"\b{_IN}(?:inch|inches|zoll|pulgadas|pouces)\b"),
}
"""Units that figures may be asked in, on the joined words."""
UNIT_SCRIPT = _pattern(r"(摂氏|摄氏|攝氏|цельси)|(華氏|华氏|фаренгейт)")

# --- traps --------------------------------------------------------------------------------------------

_EXPLAINS = (
    EXPLAINS.replace(r"|should|", "|")
    .replace(r"|app|apps|", "|")
    .replace(r"|meaning of|mean|means|", r"|meaning of|means|")
)
_TRAPS = (
    r"(?:does|do|did) (?:\w+ ){1,6}mean|under the weather|weather (?:underground|systems?|patterns?"
    r"|balloons?|vanes?|channel|girl|man|apps?|api|stations?|stripping|modification|proof|resistant"
    r"|delays?|permitting|models?|derivatives?|insurance|satellites?|prediction|forecasting"
    r"|the storm|together|widget|website|site|presenter|forecaster|reporter|anchor|manipulation"
    r"|warfare|phenomen\w+|instruments?)|fair weather|on (?:our|my|your|his|her|their|the|anyone"
    r"|someone) parade|parade|(?:body|oven|cooking|baking|boiling|melting|freezing|water|room|core"
    r"|surface|storage|serving|brewing|fridge|cpu|gpu|color|colour|engine|critical|internal|meat"
    r"|absolute|ideal|optimal|safe|sea|planet|global) (?:point )?temperatures?|temperature (?:that )?(?:a"
    r"|an|the|can) (?:humans?|persons?|people|animals?|dogs?|cats?|plants?|fish)"
    r"|(?:have|has|need|needs|got) to be|temperature (?:scale"
    r"|sensor|unit|control|regulation|coefficient)|temperature (?:of|to|for|should) (?:the |a |an "
    r"|my |your )?(?:sun|water|oven|chicken|beef|steak|pork|cook|bake|human|body|dogs?|cats?|babies"
    r"|baby|fever|server|fridge|freezer|wine|beer|tea|lava|fire|space|iron|steel|gold"
    r"|air conditioner|room|house|llm|model|gpt|sampling)|(?:of|on"
    r"|in) (?:the )?(?:surface of )?(?:the )?(?:sun|mars|venus|moon|jupiter|saturn|neptune|uranus"
    r"|pluto|titan)\b|\b(?:planet|space weather|outer space|jupiter|universe|sales|revenue|budget"
    r"|demand|economic|economy|earnings|gdp|inflation|stocks?|market|profit|rainforest|acid rain"
    r"|purple rain|november rain|coffee|election|unemployment|housing|interest rate|bitcoin|btc"
    r"|crypto|ethereum|price|prices|exchange rate)\b|tempest|analogy|metaphor|idiom|proverb|mood"
    r"|affects?|rain man|rain (?:dance|barrel|gutters?)|snow (?:white|leopard|crash|den|flake|globe"
    r"|plow|tires?|cones?)|jon snow|edward snowden|it rains (?:it )?pours?|what is (?:weather|rain"
    r"|snow|humidity|temperature|a forecast|weather forecasting|wind|precipitation|sunshine|sunset"
    r"|sunrise|dew point|air quality|an umbrella)$|climate change|greenhouse|rain cats|make it rain"
    r"|wind (?:turbines?|farms?|energy|power|instruments?|tunnel|waker)|cloud (?:computing|storage"
    r"|service|provider|hosting|nine|9)|in the cloud|on cloud|hot (?:dogs?|chocolate|sauce|wheels"
    r"|take|topic|pot|tub|springs?|yoga)|cold (?:war|case|brew|calls?|email|plunge|fusion|medicine"
    r"|play)|the common cold|(?:have|got|catch|caught|cure|treat|with|getting) a cold"
    r"|cool (?:things|places|stuff|names?|facts?|ideas?)|dry (?:cleaners?|cleaning|ice|january|run)"
    r"|high (?:school|score|tide|court)|low (?:carb|fat|tide)|baby showers?|bridal showers?"
    r"|take a shower|shower (?:head|gel|curtain)|umbrella (?:academy|corporation|company|stand"
    r"|term)|who (?:is|was|sang|wrote|sings|made|invented|plays|played)|sunrise movement"
    r"|sunset (?:boulevard|strip)|before (?:sunrise|sunset)|twilight saga|winds? of (?:change"
    r"|winter)|gone with the wind|kill|lyrics|invest|diamonds?|meteors?\b|record (?:high|low"
    r"|temperature|snowfall|rainfall)|ever recorded|all time|(?:hottest|coldest|wettest|windiest"
    r"|sunniest|rainiest|snowiest) (?:place|city|country|planet|continent|state|town|desert|capital"
    r"|part|month|year|season)|(?:best|nicest|worst) (?:weather|climate)"
    r"|weather (?:\w+ ){0,2}?(?:the )?(?:best|nicest|worst)|best time (?:of|to|for)"
    r"|(?:mejor|peor) (?:tiempo|clima)|(?:beste|bestes|besten|schonste|schonstes) wetter"
    r"|meilleure? (?:temps|meteo|climat)|miglior (?:tempo|clima)|melhor (?:tempo|clima)"
    r"|how (?:do|does|would|can|should|to) (?:\w+ )?(?:say|spell|pronounce|write|translate)|translat\w{1,5}"
    r"|words? for|(?:sun|moon|rising|ascendant|mercury|venus|mars|jupiter|saturn) (?:sign )?in (?:aries"
    r"|taurus|gemini|cancer|leo|virgo|libra|scorpio|sagittarius|capricorn|aquarius|pisces)"
    r"|weather[- ]?(?:beaten|proof\w*|resistant)|brain ?storm\w*"
)
TRAPS = _pattern(rf"{_EXPLAINS}|\b(?:{_TRAPS})(?!\w)")
"""Also the wordings for records and for the hottest place on earth: no day's figures answer them."""

GENERAL = _pattern(
    r"\b(?:in|for|during|on) (?:the )?(?:cold|hot|rainy|wet|bad|snowy|windy|freezing|warm|humid|dry"
    r"|good|nice|extreme|severe|stormy|sunny|winter|summer) (?:weather|days?|climates?"
    r"|temperatures?|conditions)\b"
)
"""Weather in general: a trap where neither a place nor a time is named."""

OUTDOORS = _pattern(
    r"\b(?:picnic|barbecue|bbq|hik(?:e|ing)|laundry|washing|beach|outdoors?|outside|bike|cycl(?:e"
    r"|ing)|run(?:ning)?|walk|golf|camping|sailing|ski(?:ing)?|surf(?:ing)?|open air|garden)\b"
)
SUITS = _pattern(
    r"\b(?:good|nice|great|decent|perfect|bad|too|ok|okay|safe) (?:\w+ )?(?:day|time|enough|weather"
    r"|for|to)\b|^(?:can|could|should) (?:i|we) (?:dry|hang|sit|eat|go|have|plan)\b|\b(?:beach"
    r"|picnic|bbq|barbecue|ski) (?:day|weather)\b"
)
"""Beside a place and a time, the two ask whether the weather suits."""

TRAPS_SCRIPT = _pattern(
    r"なぜ|とは(?!言)|仕組み|予報士|為什麼|为什么|原理|什么是|怎么形成|почему|объясни|что такое"
    r"|как образу|как работа|откуда бер|体温|水温|水の温度|температур[аыу] (?:тела|кипения"
    r"|плавления|воды)|歌|песн|стих"
)

# --- topics -------------------------------------------------------------------------------------------

_WHEN = (
    r"(?:today|tonight|tomorrow|now|outside|currently|yesterday|right now|this (?:morning|afternoon"
    r"|evening|week|weekend)|next (?:week|weekend|few days)|(?:on )?(?:mon|tues|wednes|thurs|fri"
    r"|satur|sun)day|last night|at the moment)"
)

TOPICS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "asks for the weather",
        _pattern(
            r"\b(?:weather|weater|wether|wheather|weahter|waether|weathr|wather|weatehr"
            r"|wetter(?!\w)|wettervorhersage\w*|wetterbericht\w*|wetteraussicht\w*|meteo|weer)\b"
        ),
    ),
    (
        "asks whether it rains, snows, is hot or cold",
        _pattern(
            r"\b(?:will|is|was|does|did|would|going to|may|might|should|if|could|has)(?: (?:it"
            r"|there|we|they))(?: \w+){0,4}? (?:rain|raining|rained|rainy|snow|snowed|snowing|snowy"
            r"|hail|storms?|thunderstorms?|showers|drizzle|(?:be )?(?:\w+ )?(?:sunny|cloudy|windy"
            r"|humid|foggy|stormy|icy|overcast|breezy|muggy))\b|\b(?:is|will|was"
            r"|does) it (?:going to )?(?:be |get )?(?:\w+ )?(?:hot|cold|warm|chilly|nice|cool"
            r"|freezing|dry|wet|muggy|mild)(?: \w+){0,3}? (?:today|tomorrow|tonight|outside|now|out"
            r"|this week|this weekend|in \w+)\b|\b(?:is|will) it (?:be |get )?(?:hot|cold|warm|chilly|wet"
            r"|dry|mild|muggy|nice"
            r"|freezing)$|\bhow (?:strong|bad|heavy|high|thick|deep|gusty) (?:is|was|will|are"
            r"|were) (?:the )?(?:winds?"
            r"|rain|snow|humidity|fog|storm|uv(?: index)?|gusts)\b|\bhow (?:hot|cold|warm|humid|windy"
            r"|sunny|cloudy|wet|chilly|cool"
            r"|rainy) (?:is|was|will|does|did) (?:it|the weather)\b|\b(?:chances?|probability"
            r"|likelihood|odds|risk) (?:of|for) (?:rain|raining|snow|showers|precipitation|a storm"
            r"|storms|thunderstorms|sunshine)\b|\b(?:need|bring|take|wear|carry|pack|grab"
            r"|want)(?: \w+){0,2}? (?:umbrella|umberella|umbrela|brolly|raincoat|sunscreen"
            r"|rain ?coat|rain ?jacket|sun ?cream)\b|\b(?:umbrella|raincoat|jacket|coat"
            r"|sweater) (?:weather|needed|required|necessary)\b|\b(?:need|wear|bring|take"
            r"|pack) (?:a |an |my |the )?(?:\w+ )?(?:jacket|coat|sweater|boots|hoodie"
            r"|gloves)\b.{0,40}\b(?:today|tomorrow|tonight|outside|in)\b"
        ),
    ),
    (
        "asks what it is like outside",
        _pattern(r"\b(?:what|how) (?:is|was|will) it (?:be )?(?:like |looking )?(?:out|outside|outdoors)\b"),
    ),
    (
        "asks when the sun rises or sets",
        _pattern(
            r"\b(?:when|what time|at what time|wann|a que hora|a quelle heure"
            r"|a che ora)(?: \w+){0,4}? (?:sunrise|sunset|sun (?:rise|set|come up|go down|goes down"
            r"|comes up|rises|sets)|dawn|dusk|get dark)\b"
        ),
    ),
    (
        "pregunta por el tiempo",
        _pattern(
            r"\b(?:clima (?:en|de|em|para|hoy|hoje|hara|hace|manana)|(?:el|o|que|hace|hara|mal"
            r"|buen) (?:buen |mal )?tiempo (?!es oro|vuela|pasa|cura|perdido|libre|se|tarda|dura"
            r"|que|toma|leva|demora|real)|tiempo (?:en|hoy|manana|para|em|no|na|hoje|amanha|hace"
            r"|hara|hizo|a) \w+|tiempo (?:hace|hara|hizo|hay|va)|clima (?:hace|hara|hay|tiene)"
            r"|(?:como|que tal)(?: \w+){0,2}? (?:tiempo|clima)|tempo (?:a|em|no|na|fa|fara|faceva"
            r"|hoje|amanha|domani|oggi|para)|ha (?:llovido|nevado)|(?:va a|vai|va) (?:llover|nevar|chover"
            r"|hacer (?:frio"
            r"|calor|sol|viento))|ira a llover|llovera|llueve|llovio|lloviendo|choveu|nevou|nevara|nieva"
            r"|nevando"
            r"|pronostico|(?:hace|hara|hacer|hizo|haciendo|faz|fara|fazer|faire"
            r"|fait) (?:\w+ ){0,2}?(?:frio|calor|sol|viento|chaud|froid|beau"
            r"|mauvais|frais|fresco|vento)"
            r"|temperatura (?:en|em|a|hay|hace|hara|hoy|de hoy|actual|hoje|oggi|media|maxima|minima"
            r"|promedio)|(?:llevar|necesito|necesitare|coger)(?: \w+){0,2}? (?:paraguas|abrigo"
            r"|chaqueta))\b"
        ),
    ),
    (
        "fragt nach dem Wetter",
        _pattern(
            r"\b(?:regnet|regnen|geregnet|schneit|schneien|geschneit|wie (?:warm|kalt|heiss|windig"
            r"|sonnig|feucht) (?:ist|wird|war)|temperatur(?:en)? (?:in|heute|morgen|von)"
            r"|wie stark (?:weht|ist|war|wird|blast) der wind|regenschirm|regenwahrscheinlichkeit"
            r"|(?:wie viel|wieviel) grad|(?:wird|ist"
            r"|war) es (?:\w+ ){0,4}?(?:warm|kalt|heiss|nass|trocken|sonnig|windig))\b"
        ),
    ),
    (
        "demande la meteo",
        _pattern(
            r"\b(?:quel temps|le temps (?:a|au|en|qu'|demain|aujourd'hui|prevu|pour)|temps (?:fait"
            r"|fera|fera-t-il|fait-il|qu'|prevu|qu' il)|pleuvoir|pleut|pleuvra|pleut-il"
            r"|pleuvra-t-il|neiger\w*|neige-t-il|(?:il|qu' il) (?:neige|gele|vente|a (?:plu|neige))"
            r"|a-t-il (?:plu|neige|gele)|il fera|fera-t-il|fait-il|il fait (?:chaud|froid"
            r"|beau|combien)|previsions|parapluie|temperature (?:a|au|en|de|fait-il|moyenne"
            r"|maximale|minimale))\b"
        ),
    ),
    (
        "chiede il tempo, pergunta o tempo",
        _pattern(
            r"\b(?:che tempo|com' e il tempo|come (?:e|sara) il tempo|il tempo (?:a|in|domani|oggi)"
            r"|piove|piovera|nevica|nevichera|previsioni|ombrello|fa (?:freddo|caldo)"
            r"|fara (?:freddo|caldo)|chovera|chovendo|chove|previsao|guarda-chuva|como (?:esta"
            r"|vai estar) o tempo|faz (?:frio|calor|sol))\b"
        ),
    ),
)

CLEAR = _pattern(
    r"\b(?:what (?:to|should i|do i|shall i) wear|(?:how|what) (?:to|should i|do i) dress"
    r"|was (?:soll|sollte|muss|kann) ich (?:\w+ ){0,5}?anziehen|que (?:ropa )?me pongo|que ropa (?:llevo"
    r"|llevar|ponerme)"
    r"|comment (?:m' habiller|dois-je m' habiller|s' habiller)|cosa (?:mi metto|indosso|indossare)"
    r"|que roupa"
    r"|feels like|gewitter|windig|how is the air|air like|freeze|thunder|lightning|heat|forecasts?"
    r"|outlook|temperatures?|temps?|\w{0,20}temperatur\w*|temperatura|humidity|wind|winds|windy"
    r"|wind ?speed|rain|raining|rainy|rained|rainfall|snow|snowing|snowed|snowy|snowfall"
    r"|uv(?: index)?|air quality|aqi|pollen|sunrise|sunset|precipitation|visibility|dew point"
    r"|storms?|thunderstorms?|hail|showers|drizzle|sunny|sunshine|cloudy|clouds|cloud cover"
    r"|overcast|foggy|fog|humid|muggy|chilly|stormy|breezy|degrees|umbrella|raincoat|sunscreen"
    r"|heat ?wave|wind ?chill|frost|hottest|coldest|warmest|wettest|windiest|rainiest|sonnenaufgang"
    r"|sonnenuntergang|sonnig|regen|schnee|sturm|luftfeuchtigkeit|bewolkt|grad|regenschirm|amanecer"
    r"|anochecer|atardecer|puesta de(?:l)? sol|salida del sol|amanece|anochece|lluvia|nieve|viento"
    r"|humedad|nublado|soleado|grados|paraguas|clima|tiempo|pronostico|coucher d[ue] soleil"
    r"|lever d[ue] soleil|pluie|neige|vent|humidite|nuageux|ensoleille|degres|alba|tramonto|pioggia"
    r"|umidita|vento|gradi|chuva|umidade|graus|nascer do sol|por do sol|calidad del aire"
    r"|luftqualitat|qualite de l' air|luz solar|sun|sol|soleil|sole|sonne|degrees)\b"
)
VAGUE = _pattern(
    r"\b(?:hot|hotter|cold|colder|warm|warmer|cool|cooler|freezing|mild|dry|wet|nice out|high|highs"
    r"|low|lows|jacket|coat|sweater|shorts|hoodie|kalt|warm|heiss|frio|calor|chaud|froid|caldo"
    r"|freddo|quente|dawn|dusk|daylight|jacke|abrigo)\b"
)
FRAME = _pattern(
    r"\b(?:it|is|are|was|will|does|did|outside|out|outdoors|how|weather|today|tonight|tomorrow|be"
    r"|brauche|brauchen|necesito|necesitare|llevo|besoin|faut-il|serve|preciso|ist|wird|war|va|vai|esta|est"
    r"|es|il|wie|hace|hara|fait-il|fera-t-il|need|wear|bring|s'|fa|fara|faz|fara)\b"
)

TOPIC_SCRIPT = _pattern(
    r"天気(?!予報士)|气象|気温|雨が?(?:降|ふ)|雪が?(?:降|ふ)|降水|天気予報|天气|天氣|气温|氣溫|下雨"
    r"|下雪|会不会(?:下)?雨|带伞|帶傘|傘(?:が|は|を)|погод|дожд[ья]?(?![а-я])|дождь|дождлив"
    r"|снег(?:\s|$|[,?])|снегопад|температур[аы]? (?:в|на|сейчас|завтра|сегодня)|прогноз погоды"
    r"|날씨|الطقس|मौसम|日の出|日出(?:时间|時間|是)|日没|日の入り|日落|湿度|風速|风速|紫外線|紫外线"
    r"|空气质量|восход солнца|закат солнца|влажность (?:в|воздуха)|средн[а-я]+ температур"
)
CLEAR_SCRIPT = _pattern(
    r"温度(?!は何)|溫度|雨|雪|何度(?!も)|多少度|几度|暑い|寒い|暖かい|冷吗|热吗|冷不冷|热不热|晴れ"
    r"|曇り|風が|风大|холодно|жарко|тепло|зонт|градус|ветер|ветрено|солнечно|облачно|восход|закат"
    r"|снег|осадк|мороз|температур|влажн"
)

PAST = _pattern(
    r"\b(?:was|were|did|rained|snowed|had|been|fue|hizo|hubo|llovio|nevo|estuvo|estaba|hacia|war"
    r"|waren|hatte|gab|geregnet|geschneit|etait|a-t-il|faisait|faisait-il|fut|plu|neige-t-il|faceva"
    r"|era|piovuto|nevicato|foi|choveu|fez|estava)\b"
)
PAST_SCRIPT = _pattern(r"でした|ました|だった|かった|昨|下了|上周|先週|был[аои]?\b|шел|прошл")

# --- words that say nothing more ------------------------------------------------------------------

FILL = frozenset(word_list(_DATA["fill"]))
"""Function words and small talk of six languages, and words for a report or a measurement."""

ASKS_FIRST = frozenset(word_list(_DATA["asks_first"]))
"""Words that a question or a request begins with, after a greeting."""

TELLS = frozenset(
    word_list(
        """
        is are was were will am be been being has have had looks seems feels i we he she they love hate
        rained snowed froze like ist war wird waren hat es esta fue hace estaba est etait fait sera era foi
        faz
        """
    )
)
"""Words that make a text without a question word a sentence that tells."""

OPENERS = frozenset(
    word_list(
        """
        hey hi hello yo hiya ok okay well um uh hmm so and but please thanks sorry quick question hola
        oye buenas hallo moin bonjour salut ciao oi ola y und et e also now right just btw alexa siri
        """
    )
)

UNREAD_TIME = frozenset(word_list(_DATA["unread_time"]))
"""Left over, they name a time that was not understood: an answer for today would be another question's."""

NOT_A_NAME = frozenset(word_list(_DATA["not_a_name"]))
"""What may stand after "in" and is no place."""

"""The words of a question about coins: the closed vocabulary and the cutting of a sentence. Pure.

Rules of this file:
- Case is kept beside the lower form, for capitals may show a ticker (SOL); Latin accents are gone before.
- ``PHRASES`` gives words a part: how much, price, market cap, a polite filler, a currency … One table; adding
  a wording or a language is adding words to a row.
- It knows words, not questions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from rapidfuzz.distance import OSA

from adapters.coins.aliases import COINS, CURRENCIES, EVERYDAY

WORDS_MAX = 60
DATE_MARK = "\ue000"
"""Stands in a sentence for the time that was taken out of it."""

_QUOTES = str.maketrans({"’": "'", "‘": "'", "´": "'", "`": "'", "“": '"', "”": '"', "\u00a0": " "})


def plain(text: str) -> str:
    """``text`` without Latin accents and curly quotes, its case kept; other scripts stay as they are."""
    out: list[str] = []
    for char in unicodedata.normalize("NFC", text.translate(_QUOTES)):
        code = ord(char)
        if char == "ß":
            out.append("ss")
        elif 0xC0 <= code <= 0x24F or 0x1E00 <= code <= 0x1EFF:
            out.append(unicodedata.normalize("NFD", char)[0])
        elif 0xFF01 <= code <= 0xFF5E:
            out.append(chr(code - 0xFEE0))
        elif not 0x300 <= code <= 0x36F:
            out.append(char)
    return "".join(out)


# --- cutting ------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+,\d{1,2}(?!\d)|\d+\.\d+|\d+|\.\d+)[kmb]?(?![^\W_]))"
    r"|(?P<ticker>\$[a-z][a-z0-9]{0,19}(?![^\W_]))"
    r"|(?P<word>[^\W_]+(?:'[^\W_]{1,3}(?![^\W_]))?)"
    r"|(?P<sign>[$€£¥₹₩₽₴₺₪₫₦%&])"
    r"|(?P<mark>\ue000)"
    r"|(?P<space>\s+)"
    r"|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_IGNORED = frozenset("¿¡,.:()[]'\"-–—/~’")


@dataclass(frozen=True, slots=True)
class Token:
    """``joined`` is the ``/`` or ``-`` that ties it to the word before without a blank; ``split`` says
    that a comma stands before it."""

    text: str
    low: str
    kind: str
    joined: str = ""
    split: bool = False


def tokens_of(sentence: str) -> list[Token] | None:
    """The words, or None when something in it is neither word nor harmless punctuation, or it is too long."""
    out: list[Token] = []
    gap = " "
    for match in _TOKEN.finditer(sentence):
        kind = match.lastgroup or "other"
        piece = match.group()
        if kind == "space":
            gap += " "
            continue
        if kind == "other":
            if piece not in _IGNORED and unicodedata.category(piece) not in ("So", "Sk", "Mn", "Cf"):
                return None
            gap += piece
            continue
        if kind == "number" and gap.endswith(("-", "–")) and gap != "-":
            return None
        joined = gap if gap in ("/", "-") else ""
        if out and out[-1].low in ("how", "so") and one_apart(piece.lower(), "much"):
            piece = "much"
        for index, (low, text) in enumerate(_expanded(piece)):
            out.append(Token(text, low, kind, joined if index == 0 else "", "," in gap and index == 0))
        gap = ""
        if len(out) > WORDS_MAX:
            return None
    return out


_SUFFIXES = {"'s": "is", "'re": "are", "'d": "would", "'m": "am", "'ll": "will", "'ve": "have"}
_IS_AFTER = frozenset(("what", "how", "where", "that", "who", "it"))
_BARE = {
    "whats": ("what", "is"),
    "wats": ("what", "is"),
    "wat": ("what",),
    "hows": ("how", "is"),
    "wheres": ("where", "is"),
    "whts": ("what", "is"),
    "pls": ("please",),
    "plz": ("please",),
    "plss": ("please",),
    "plzz": ("please",),
    "u": ("you",),
    "r": ("are",),
    "ur": ("your",),
    "teh": ("the",),
    "gimme": ("give", "me"),
    "lemme": ("let", "me"),
    "wanna": ("want", "to"),
    "im": ("i", "am"),
    "muhc": ("much",),
}


def _expanded(piece: str) -> Iterator[tuple[str, str]]:
    low = piece.lower()
    if low in _BARE:
        yield from ((word, word) for word in _BARE[low])
        return
    base, mark, tail = low.partition("'")
    if mark and (mark + tail) in _SUFFIXES:
        yield base, piece[: len(base)]
        if tail != "s" or base in _IS_AFTER:
            yield _SUFFIXES[mark + tail], tail
        return
    if mark and base in ("l", "d", "dell", "del", "s", "quel", "qu"):
        yield base, piece[: len(base)]
        yield tail, piece[len(base) + 1 :]
        return
    yield low, piece


def one_apart(a: str, b: str) -> bool:
    """Whether one added, missing, wrong or swapped letter lies between them."""
    return OSA.distance(a, b, score_cutoff=1) == 1


def key_of(phrase: str) -> tuple[str, ...]:
    """A phrase as the tuple of lower words by which the tables are asked."""
    return tuple(token.low for token in tokens_of(plain(phrase)) or ())


# --- vocabulary ---------------------------------------------------------------------------------------

# kind | value | phrases. A later row wins over an earlier one for the same phrase.
_ROWS = """
fill||what;which;where;is;are;be;the;an;for;on;me;please;kindly;tell;give;show;get;find;check;fetch;look
fill||display;say;i;we;want;need;hey;hi;hello;ok;okay;so;well;yo;thanks;thank;you;can;could;would;do;does
fill||just;exactly;exact;roughly;approximately;market;each;per;single;whole;full;convert;conversion
fill||calculate;equal;equals;equivalent;quick;my;l;d;est;es;ist;o;gib;mir;dame;dime;question;coingecko;from
fill||les;with;am;by;exchange;quickly;precise;actual;that;de;del;du;des;der;die;das;von;da;di;il;le;la;el;un
fill||una
fill||une;ein;eine;einen;e;dem;den;lo;los;las;al;bitte;por favor;porfa;per favore;s'il vous plait
fill||s'il te plait;svp;stp;dimmi;sag;dis;moi;me dice;me dices;puedes decirme;puoi dirmi;pode me dizer
fill||peux tu me dire;kannst du mir sagen;sagen;hola;hallo;bonjour;salut;ciao;ola;oye;moin;servus;mal;denn
fill||kostenlos;eigentlich;do you know;to know;want to know;need to know;like to know;would like
fill||i would like;let me know;hi there;hey there;hello there;i was wondering;wondering
fill||according to coingecko;good morning;good evening;good afternoon;do me a favor;up to date;thank you
fill||any idea;got any idea;do you happen to know;happen to know;you know;mind telling me;got a;have a
fill||quick question;real quick;real fast;bro;dude;man;mate;buddy;guys;folks;sir;hmm;um;uh;er;btw;ey;ayo;sup
fill||anyone know;does anyone know;anybody know;i wonder;curious;just curious;according to;got;binance
fill||coinbase;kraken;asking for a friend;asap;thx;ty;cheers;lol;haha;really;actually;basically
fill||i was asking for;wie ist;cual es;quel est;quelle est;wie hoch ist;was ist;qual e;quanto e;cual era
fill||quel etait;wie war;wie hoch war;information;info;details;on the price;tell me about;can i get
fill||can i have;may i;may i know;may i have;give us;us;there;hear;see;lookup;pull;pull up;look up;up;still
fill||already;yet;even;then
fill||they;those;own;i own;we own;i hold
fill|how|how big is;how large is;how high is;how high was;how low is;how high are
fill|a|a;an
fill|of|of
at||at
now||now;right now;current;currently;today;at the moment;at this moment;live;latest;real time;realtime;spot
now||these days;as of now;as of today;present;presently;this moment;right this moment;this minute;at present
now||this very moment;rn;atm;as we speak;at the minute;hoy;heute;ahora;aktueller;aktuelle;aktuellen;aktuell
now||derzeit;gerade;jetzt;actual;actuel;actuelle;actuellement;maintenant;aujourd'hui;hoje;agora;oggi
now||ahora mismo;en ce moment;momentan;zurzeit;zur zeit;im moment;adesso;ora;attuale;attualmente
now||en este momento;atualmente;atual;neste momento;todays;nowadays;this morning;this afternoon;this evening
now||tonight;this instant;up to the minute;so far today;gerade eben;im augenblick;heutige;heutiger
now||actualmente;al momento;en directo;en direct;this second;2day
past||was;were;did;had;been;war;waren;kostete;era;fue;etait;costaba;valia;coutait;valait;costava;valeva
aux||has;have;during;within
aux|over|over
how||how;wie
how_much||how much is it worth;how much is that worth;how much are they worth;how much are those worth
how_much||how valuable is;how valuable are;how much money is;how much cash is
how_much||how much is;how much are;how much does;how much do;how much did;how much was;how much were
how_much||how much for;how much would;how mutch is;how many dollars is;cuanto vale;cuanto cuesta
how_much||quanto costa;quanto vale;combien coute;combien vaut;wie viel kostet;was kostet;cuanto costaba
how_much||cuanto valia;cuanto costo;quanto custa;quanto custava;wie viel kostete;was kostete;wieviel kostet
how_much||cuanto esta;a cuanto esta;a cuanto estaba;wie steht;wie steht es um;wie steht's um;quanto esta
how_much||combien coutait;combien est;combien valait;wieviel ist;wie viel ist;cuanto es;wie teuer ist
how_much||wie teuer war;wieviel kostete;wo steht;a combien est;a como esta;a quanto sta;a quanto esta
how_much||quanto sta;a cuanto anda;combien pour;cuanto por;wieviel wert ist;wie viel wert ist;quanto valgono
how_much||cuanto valen;cuanto cuestan;combien coutent;was kosten;how expensive is;how expensive are
how_much||quanto costava;quanto valeva
how_much||est a combien;est a combien le;esta a cuanto;e a quanto;ist wie viel wert
how_much||how expensive was;how pricey is;a cuanto cotiza;a combien s'echange;wieviel kosten;wie viel kosten
how_much||wie viel sind;wieviel sind;cuanto son;combien font;quanto fa;cuantos;cuantas
quantity||how much
doing||doing;going;faring;holding up;looking;getting on
price|price|price;prices;rate;rates;market price;priced at;exchange rate;market rate;trading at;trade at
price|price|trades at;trading for;trade for;trades for;traded for;going for;go for;goes for;selling for
price|price|sell for;sells for;trading price;unit price;pricing;traded at;trading;price tag;sitting at;quote
price|price|quotes;quotation;going rate;preco;precio actual;going price;ticker;precio;preis;kurs;prix;cours
price|price|prezzo;cotizacion;cotacao;quotazione;precios;preise;tasso;standing at;went for;sold for;cotiza
price|price|cotiza a;cotation;kostet;notiert;steht bei;steht;price level;price point;price right;hovering at
price|price|hovering around;spot price;have to pay for;need to pay for;to pay for;would i pay for
price|price|do i pay for;pay to get;set me back;prece;pric;priec;preiss;cuesta;coute;costa;custa
price|value|is it worth;is that worth;are those worth;are they worth;is this worth
price|value|current value;dollar value;market value;vale;valeur;valor;valore;value;valued at;values;vaut
price|value|wert;wert ist;worth;worth more;worth most;worth of
price|cost|cost;costs;it cost to buy;cost to buy;it cost to get;priced;how much to buy
cap||market cap;marketcap;market caps;market capitalization;market capitalisation;mcap;mkt cap
cap||capitalization;capitalisation;capitalizacion de mercado;capitalizacion bursatil;capitalizacion
cap||marktkapitalisierung;capitalisation boursiere;capitalisation de marche;capitalizzazione
cap||capitalizzazione di mercato;capitalizacao;capitalizacao de mercado;valor de mercado;valore di mercato
cap||marketcaps;cap
vol||volume;volumes;trading volume;trade volume;traded volume;volumen;handelsvolumen;volumen de negociacion
vol||volume d'echange;volume des echanges;volume di scambio;volume de negociacao;volumen de comercio
vol||turnover
chg||change;changes;changed;price change;up or down;moved;move;price movement;movement;veranderung;cambio
chg||variation;variacion;variazione;variacao;up or down in price;moving;percent change;percentage change
chg||cambiado;verandert;evolue;movimiento
move||evolution;evolucion;entwicklung;andamento;evoluzione
pct||%;percent;percentage;prozent;por ciento;pour cent
24h||24h;24hr;24hrs;24 h;24 hr;24 hrs;24 hour;24 hours;last 24 hours;daily;past 24 hours;last day;past day
24h||24hour;24hours;1d;last 24h;past 24h;1 day;last 24 hrs;past 24 hrs;last 24hrs;past 24hrs;intraday
24h|7d|7d;7 d;7 day;7 days;last 7 days;past 7 days;last week;past week;this week;weekly;7 tage;letzten 7 tage
24h|7d|letzten 7 tagen;letzte woche;diese woche;esta semana;ultimos 7 dias;cette semaine;7 derniers jours
24h|30d|30d;30 d;30 day;30 days;last 30 days;past 30 days;last month;past month;this month;monthly;30 tage
24h|30d|letzten 30 tagen;diesen monat;este mes;ultimos 30 dias;ce mois;30 derniers jours
24h|1y|1y;1 year;1yr;past year;this year;yearly;12 months;last 12 months;dieses jahr;este ano;cette annee
fig|ath|ath;aths;all time high;all time highs;alltime high;all time record;highest price ever
fig|ath|highest ever price;peak
fig|ath|price record;record price;record high;peak price;highest ever;allzeithoch;rekordhoch;maximo historico
fig|ath|record historico;plus haut historique;plus haut de tous les temps;massimo storico;maxima historica
fig|atl|atl;all time low;all time lows;alltime low;lowest price ever;lowest ever price;record low;lowest ever
fig|atl|allzeittief;rekordtief;minimo historico;plus bas historique;minimo storico;minima historica
fig|high_24h|24h high;24 hour high;daily high;high today;todays high;high of the day;tageshoch
fig|low_24h|24h low;24 hour low;daily low;low today;todays low;low of the day;tagestief
fig|fdv|fdv;fully diluted valuation;fully diluted value;fully diluted market cap;fully diluted mcap
fig|fdv|fully diluted marketcap;fully diluted
fig|circulating_supply|circulating supply;circulation supply;circ supply;supply;supply in circulation
fig|circulating_supply|in circulation
fig|circulating_supply|umlaufmenge;im umlauf;in umlauf;suministro circulante;en circulacion
fig|circulating_supply|offre en circulation
fig|total_supply|total supply;gesamtmenge;suministro total;offre totale
fig|max_supply|max supply;maximum supply;maximal supply;supply cap;supply limit;hard cap;maximale menge
fig|max_supply|suministro maximo;offre maximale
fig|rank|rank of;ranking of;rank by market cap;market cap rank;crypto rank;coin rank;rang von
fig|dominance|dominance;market dominance;dominanz;marktdominanz;dominancia;dominanza
fig|dominance|share of the crypto market
fig|peg|peg;dollar peg;usd peg;euro peg;pegged;depeg;depegged;depegging;depegs
fig|total_market_cap|total crypto market cap;total cryptocurrency market cap;crypto market cap;crypto mcap
fig|total_market_cap|cryptocurrency market cap;total crypto market;how big is the crypto market
fig|total_market_cap|whole crypto market
fig|total_market_cap|size of the crypto market;crypto market size;total market cap of crypto;total crypto mcap
fig|total_market_cap|total market cap of all cryptocurrencies;market cap of all cryptocurrencies
fig|total_market_cap|crypto total market cap
fig|total_market_cap|market cap of crypto;market cap of the crypto market
fig|total_market_cap|marktkapitalisierung aller kryptowahrungen
fig|total_market_cap|capitalizacion total de las criptomonedas;capitalisation totale des cryptomonnaies
fig|total_volume|total crypto volume;crypto trading volume;crypto market volume;total crypto trading volume
mover|gainers|gainer;gainers;winners;winner;best performers;best performer;best performing;top performing
mover|gainers|up the most;gained the most;gaining the most;risen the most;rose the most;went up the most
mover|gainers|pumping
mover|gainers|gewinner;am meisten gestiegen;am starksten gestiegen;ganadoras;ganadores;mas suben;mas subieron
mover|gainers|mas han subido;plus fortes hausses;plus grosses hausses;montent le plus;ont le plus monte
mover|losers|loser;losers;worst performers;worst performer;worst performing;down the most;lost the most
mover|losers|losing the most;fallen the most;fell the most;dropped the most;went down the most;dumping
mover|losers|verlierer
mover|losers|am meisten gefallen;am starksten gefallen;perdedoras;perdedores;mas bajan;mas bajaron
mover|losers|mas han bajado
mover|losers|plus fortes baisses;plus grosses baisses;baissent le plus;ont le plus baisse
mover|trending|trending;trendy;hot;hottest;most searched;most popular;en tendencia;tendencias;im trend
mover|trending|tendance
mover|trending|tendances;populaires;mas populares;mas buscadas;beliebtesten;meistgesuchten
24h||twenty four hours;ultimas 24 horas;24 horas;24 stunden;letzten 24 stunden;24 heures;dernieres 24 heures
24h||ultime 24 ore;24 ore;24-hour;24 std;24std;on the day
move||rise;rose;risen;rising;fall;fell;fallen;falling;gain;gained;gains;drop;dropped;dropping;increase
move||increased;decrease;decreased;performance;perform;performed;performing;rise or fall;go up or down
move||gone up or down;go up;went up;gone up;going up;go down;went down;gone down;going down;lost;lose;losing
move||jumped;climbed;slipped;dipped;gestiegen;gefallen;subido;bajado;monte;baisse;salito;sceso;down;pump
move||dump;pumped;dumped
fill||welche;bei;among;bei den;unter den;entre;parmi;sind;son;sont;in the market;out of all;auf dem markt
top||plus grosses;plus importantes;mas importantes;mas valiosas;mayores;maiores;most valuable
top||top;biggest;largest;leading;highest;grossten;mas grandes;plus grandes;principales;maiores
list|rank|rank
list||list;name;names;ranked;ranking;rankings;sorted;ordered;their
ctx|coin|coin;token
ctx|coins|coins;tokens
ctx|kinds|altcoins;memecoins;meme coins;stablecoins;stable coins;alt coins;defi coins;privacy coins
ctx|crypto|crypto;cryptocurrency;altcoin;memecoin;meme coin;stablecoin;crypto coin;crypto token
ctx|crypto|crypto currency;digital currency;krypto;cripto
ctx|cryptos|cryptos;cryptocurrencies;crypto coins;crypto tokens;crypto currencies;criptomonedas
ctx|cryptos|kryptowahrungen;cryptomonnaies;criptovalute;criptomoedas;kryptos
and||and;&;or;plus;und;y;et;ed;oder;ou;compared to;compared with;as well as;both;compare;comparison of
and||vergleiche
link||in;into;to;denominated in;expressed in;in terms of;en;auf;nach;em;contre;gegen;a;zu;in units of
link|vs|vs;against;versus
number|0.5|half a;half an;half of a;half;one half;medio;mezzo;ein halber;ein halbes;meio;un demi
number|0.25|quarter of a;a quarter of a;a quarter;quarter
number|1|ein einzelner
number|100|a hundred;one hundred;cien;cent;hundert;cento;cem
number|1000|a thousand;one thousand;mil;mille;tausend
number|1000000|a million;one million;un millon;eine million
times|1000|thousand
times|1000000|million;millions;millones;millionen
times|1000000000|billion;billions
"""
_NUMBER_WORDS = {
    name: str(number)
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
        start=1,
    )
} | {
    "fifteen": "15", "twenty": "20", "fifty": "50", "hundred": "100",
    "dos": "2", "deux": "2", "zwei": "2", "due": "2", "dois": "2",
    "tres": "3", "trois": "3", "drei": "3", "tre": "3",
    "cuatro": "4", "quatre": "4", "vier": "4", "quattro": "4",
    "cinco": "5", "cinq": "5", "funf": "5", "cinque": "5",
    "diez": "10", "dix": "10", "zehn": "10", "dieci": "10", "dez": "10",
}  # fmt: skip


def _phrases() -> dict[tuple[str, ...], tuple[str, str]]:
    table: dict[tuple[str, ...], tuple[str, str]] = {}
    for row in _ROWS.strip().splitlines():
        kind, value, phrases = row.split("|")
        for phrase in phrases.split(";"):
            table[key_of(phrase)] = (kind, value)
    table[("a",)] = ("fill", "a")
    for word, number in _NUMBER_WORDS.items():
        table[(word,)] = ("number", number)
    for code, names in CURRENCIES.items():
        for name in names:
            table[key_of(name)] = ("currency", code)
    for code, names in CURRENCIES.items():
        for key in map(key_of, names):  # dollars canadian
            table.setdefault((key[-1], *key[:-1]), ("currency", code))
    return table


def _coin_words() -> dict[tuple[str, ...], tuple[str, str]]:
    table: dict[tuple[str, ...], tuple[str, str]] = {}
    for coin in COINS:
        for alias in (*coin.names, *coin.symbols):
            table.setdefault(key_of(alias), (coin.id, alias))
        for alias in coin.names:
            if len(alias) >= 5 and alias.isalpha() and alias not in EVERYDAY and not alias.endswith("s"):
                table.setdefault((alias + "s",), (coin.id, alias))
        for alias in coin.symbols:
            if len(alias) >= 3 and alias not in EVERYDAY and not alias.endswith("s"):
                table.setdefault((alias + "s",), (coin.id, alias))
    table.setdefault(("dogecoins",), ("dogecoin", "dogecoin"))
    table.setdefault(("ethers",), ("ethereum", "ether"))
    return table


PHRASES = _phrases()
"""Words to (kind, value)."""
COIN_WORDS = _coin_words()
"""Words to (id, alias)."""
PHRASE_WORDS_MAX = max(len(key) for key in (*PHRASES, *COIN_WORDS))
FIAT = frozenset(CURRENCIES) | {"try"}
MONEY = "|".join(
    sorted(
        (re.escape(name) for names in CURRENCIES.values() for name in names if name.isalpha()),
        key=len,
        reverse=True,
    )
)
"""A pattern for the name of a currency."""

# Names that "token" or "coin" follow without making them a cryptocurrency, and shares with a $ before them.
_OTHER_NAMES = """
    access api auth authentication jwt session security csrf bearer refresh subway bus metro train tram
    arcade game gaming casino laundry input output llm gpt openai claude anthropic gemini mistral model word
    per million thousand this that these those any some every each another other which what whose first last
    next new old rare ancient roman greek gold golden silver copper bronze platinum penny dollar euro
    quarter dime nickel cent commemorative collector collectors lucky chocolate best worst cheapest cheap
    good bad my your his her our their its no average total non fungible nft physical vintage antique slot
    vending toll parking car wash push device unit test id oauth aapl tsla nvda msft googl goog amzn meta
    nflx amd intc spy qqq gme amc pltr coin mstr hood baba nio dis ba jpm bac wmt ko pep pfe xom t f ge gm
    uber abnb pypl sq shop crm orcl ibm csco adbe avgo qcom voo vti
"""
NAMED_ENDINGS = ("coin", "token")
"""A name that ends so says that it is a coin's (zorgcoin)."""
NOT_A_COIN_NAME = frozenset(_OTHER_NAMES.split())
_NO_TICKERS = """
    oil crude brent wti lng lpg wheat corn coffee cocoa sugar palladium copper uranium lithium apple tesla
    nvidia microsoft google alphabet amazon netflix facebook intel dow nasdaq dax ftse nikkei stoxx nifty
    sensex ipo etf gdp cpi ppi vat mri gpu cpu ram ssd hdd usb led oled lcd suv bmw vw dvd vip nba nfl nhl
    mlb ufc mba phd sms sim aws dhl ups ikea lego kfc psp xbox cbd thc pvc all not asap milk bread gas water
    path home user lbs kilo people stock stocks shares market markets everything abc xyz
"""
NOT_A_TICKER = frozenset(_NO_TICKERS.split())
"""What trades besides, and what else is written in capitals beside a price."""

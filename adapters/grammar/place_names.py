"""What people call places, as data: countries in several languages, regions, short names, guarded words.

It promises canonical English names on the right of every row. It knows nothing of coordinates, which
``places`` takes from the gazetteer. All keys are folded: lower case, no accents, blanks for hyphens.
"""

from __future__ import annotations

from collections.abc import Mapping

from node.language.reading import word_list

RENAMED: Mapping[str, str] = {
    "New York City": "New York",
    "Frankfurt am Main": "Frankfurt",
    "Köln": "Cologne",
    "Genève": "Geneva",
    "Sevilla": "Seville",
    "Gent": "Ghent",
    "Brugge": "Bruges",
    "Luzern": "Lucerne",
    "Québec": "Quebec City",
    "Santiago de Querétaro": "Queretaro",
    "León de los Aldama": "Leon",
    "Acapulco de Juárez": "Acapulco",
    "Xalapa de Enríquez": "Xalapa",
    "Århus": "Aarhus",
    "Firenze": "Florence",
    "Washington": "Washington, D.C.",
    "Palma": "Palma",
    "Nizhniy Novgorod": "Nizhny Novgorod",
    "Rostov-na-Donu": "Rostov-on-Don",
    "Hannover": "Hanover",
    "Ródos": "Rhodes",
    "Irákleion": "Heraklion",
    "Makkah": "Mecca",
    "Ulan Bator": "Ulaanbaatar",
    "Nay Pyi Taw": "Naypyidaw",
    "Port-Vila": "Port Vila",
    "Nara-shi": "Nara",
}
"""GeoNames name -> how an English writer calls it, for the largest town of that name."""

SHORT: Mapping[str, str] = {
    "nyc": "new york city",
    "new york new york": "new york city",
    "sf": "san francisco",
    "san fran": "san francisco",
    "frisco": "san francisco",
    "philly": "philadelphia",
    "vegas": "las vegas",
    "nola": "new orleans",
    "cdmx": "mexico city",
    "ciudad de mexico": "mexico city",
    "bcn": "barcelona",
    "kl": "kuala lumpur",
    "rio": "rio de janeiro",
    "saigon": "ho chi minh city",
    "bombay": "mumbai",
    "calcutta": "kolkata",
    "madras": "chennai",
    "bangalore": "bengaluru",
    "peking": "beijing",
    "dc": "washington",
    "d c": "washington",
    "washington dc": "washington",
    "washington d c": "washington",
    "the big apple": "new york city",
    "big apple": "new york city",
    "st pete": "saint petersburg",
    "joburg": "johannesburg",
    "jozi": "johannesburg",
    "constantinople": "istanbul",
    "kiev": "kyiv",
    "quebec city": "quebec",
    "hcmc": "ho chi minh city",
    "blr": "bengaluru",
    "la haya": "the hague",
    "den haag": "the hague",
    "hague": "the hague",
    "tel aviv yafo": "tel aviv",
}

PICKY: Mapping[str, str] = {"la": "los angeles", "us": "united states", "in": "", "or": "", "me": ""}
"""Short names that are mostly other words: only directly after a preposition or article, at the end of the
phrase. An empty value: never alone."""

# A town's English name and country, then names that the gazetteer's alternate names lack or give to another.
EXONYMS = """
rome|IT|rom|羅馬
corfu|GR|korfu|corfou
rhodes|GR|rodas|rodi|rhodos
florence|IT|florencia
venice|IT|威尼斯|ベネチア|ヴェネツィア|ヴェネチア|венеция
mantua|IT|mantova
mecca|SA|mekka|la meca|la mecque|麦加|メッカ
the hague|NL|haia|la haye|l aia|den haag|la haya|海牙|ハーグ
panama city|PA|cidade do panama|ciudad de panama|巴拿马城
mexico city|MX|mexico df|mexico d f
geneva|CH|ジュネーブ|ジュネーヴ|日内瓦
frankfurt am main|DE|フランクフルト
busan|KR|プサン|釜山
new york city|US|纽约|紐約市
seattle|US|西雅图
washington|US|华盛顿|华府
dallas|US|达拉斯
vancouver|CA|温哥华
ottawa|CA|渥太华
milan|IT|米兰
vienna|AT|维也纳
kyiv|UA|基辅|キーウ
hanoi|VN|河内
auckland|NZ|奥克兰
cape town|ZA|开普敦
lima|PE|利马
lijiang|CN|丽江
taipei|TW|台北
rostov on don|RU|ростов на дону|ростове на дону|ростове-на-дону|ростов-на-дону
"""

# Islands and stretches of country that are no first-level division: country, name, the town that stands for
# it (an English name), further names.
AREAS = """
ES|Tenerife|santa cruz de tenerife|teneriffa|teneriffe|тенерифе|テネリフェ
ES|Gran Canaria|las palmas de gran canaria|grande canarie
ES|Lanzarote|arrecife
ES|Fuerteventura|puerto del rosario
ES|Mallorca|palma|majorca|majorque|maiorca|马略卡|マヨルカ島|мальорка
ES|Menorca|mao|minorca|minorque
ES|Costa del Sol|malaga
ES|Costa Brava|girona
US|Maui|kahului|マウイ島
US|Oahu|honolulu|オアフ島
US|Big Island|hilo|the big island
US|Lake Tahoe|south lake tahoe|tahoe
US|Bay Area|san francisco|the bay area|sf bay area
US|Cape Cod|barnstable|cape cod
US|Florida Keys|key west|the florida keys|the keys
US|Napa Valley|napa
US|Silicon Valley|san jose
US|Long Island|hempstead
GB|Cornwall|truro|cornouailles
GB|Devon|exeter
GB|Yorkshire|york
GB|Lake District|kendal|the lake district
GB|Isle of Wight|newport|the isle of wight
GB|Scottish Highlands|inverness|the scottish highlands|the highlands
GB|Cotswolds|cirencester|the cotswolds
FI|Lapland|rovaniemi|lappland|laponie|laponia|lapponia|лапландия
FR|French Riviera|nice|the french riviera|cote d azur|the cote d azur
FR|Camargue|arles|the camargue
IT|Amalfi Coast|salerno|the amalfi coast|costiera amalfitana
IT|Dolomites|bolzano|the dolomites|dolomiten|dolomiti|dolomitas
IT|South Tyrol|bolzano|sudtirol|alto adige
AT|Tyrol|innsbruck|tirol
AT|Carinthia|klagenfurt am worthersee|karnten
AT|Styria|graz|steiermark
AT|Vorarlberg|dornbirn
CH|Ticino|lugano|tessin
PT|Algarve|faro|the algarve
DE|Black Forest|freiburg|the black forest|schwarzwald|foret noire|selva negra
DE|Ruhr|essen|ruhrgebiet|the ruhr
ID|Lombok|mataram
RU|Siberia|novosibirsk|sibirien|siberie|сибирь
CN|Hainan|haikou|海南|海南岛
CN|Sichuan|chengdu|四川
CN|Yunnan|kunming|云南
CN|Guangdong|guangzhou|广东
CN|Tibet|lhasa|xizang|西藏|チベット|тибет
CN|Xinjiang|urumqi|新疆
JP|Kyushu|fukuoka|九州
JP|Shikoku|matsuyama|四国
KR|Jeju Island|jeju city|済州島|济州岛
MX|Yucatan|merida|yucatan peninsula
MX|Riviera Maya|playa del carmen
"""

SIMPLIFIED = (
    "東並義烏喬習鄉買龜亞倉侖儀倫偉來傑兒兌內蘭關興茲岡軍農凱別則劍務勞勢區華盧衛厲廈縣參雙發葉吳呂員營園圍國圖圓"
    "聖場壩塢墊堯壘夢奧婁孫學寧寶實將爾爺島嶺崗崑峽帶廣慶庫應龐張彌徹懷戶撫掛揚數齋無舊晉曉條楊棗棟檳櫚樂橋樺"
    "榮權歐欽歸歲歷畢漢湯溝滄澤濟瀏渾溫灣濕滿濱灘濰瀋瀘瀨沖燈靈爛燒熱愛狹獨瑪環瓊瓏異當盤鹽蓋盞磯禮種積窯筆築"
    "籠篤紅級紐約納線紹絨給統綏維綿緬綠繩羅聯聶肅臘臨節蘆蕪蘇莊荊薩萬蓮萊藍補裡見觀詩語許諸諾謝調豐貝貢費賀資賈"
    "賓賴賽贛趙車軒輔遼達遷邁運連遜遠鄒鄭鄧鄔鄲鈴銀銅錢錦錫鎮鐵長門開間闍陽陰陸隨雞雲霧靜韋韓頂順須頓頭顏飯飾館"
    "饒馬駒騷驪魯鳥鳳鴉鴨鴻鵝鶴鷹鷄麗麥黃齊龍臺個勝啟單堅橫獅總蘿裏讓貴陝顧頗壯夾寢寬嚴擴樹灤煙瑤產訥賢輝辦飛駐",
    "东并义乌乔习乡买龟亚仓仑仪伦伟来杰儿兑内兰关兴兹冈军农凯别则剑务劳势区华卢卫厉厦县参双发叶吴吕员营园围国图圆"
    "圣场坝坞垫尧垒梦奥娄孙学宁宝实将尔爷岛岭岗昆峡带广庆库应庞张弥彻怀户抚挂扬数斋无旧晋晓条杨枣栋槟榈乐桥桦"
    "荣权欧钦归岁历毕汉汤沟沧泽济浏浑温湾湿满滨滩潍沈泸濑冲灯灵烂烧热爱狭独玛环琼珑异当盘盐盖盏矶礼种积窑笔筑"
    "笼笃红级纽约纳线绍绒给统绥维绵缅绿绳罗联聂肃腊临节芦芜苏庄荆萨万莲莱蓝补里见观诗语许诸诺谢调丰贝贡费贺资贾"
    "宾赖赛赣赵车轩辅辽达迁迈运连逊远邹郑邓邬郸铃银铜钱锦锡镇铁长门开间阇阳阴陆随鸡云雾静韦韩顶顺须顿头颜饭饰馆"
    "饶马驹骚骊鲁鸟凤鸦鸭鸿鹅鹤鹰鸡丽麦黄齐龙台个胜启单坚横狮总萝里让贵陕顾颇壮夹寝宽严扩树滦烟瑶产讷贤辉办飞驻",
)
"""Traditional characters of place names, and the simplified ones that they are read as."""

# The country's ISO code, then its names beside the English one of the gazetteer.
COUNTRIES = """
AE|united arab emirates|uae|emirates|emiratos arabes unidos|vereinigte arabische emirate
AE|emirats arabes unis|emirati arabi
AR|argentina|argentinien|argentine|аргентина|阿根廷|アルゼンチン
AT|austria|osterreich|autriche|австрия|奥地利|オーストリア
AU|australia|australien|australie|aussie|oz|австралия|澳大利亚|オーストラリア
BE|belgium|belgica|belgien|belgique|belgio|бельгия|比利时|ベルギー
BG|bulgaria|bulgarien|bulgarie|болгария|保加利亚|ブルガリア
BR|brazil|brasil|brasilien|bresil|brasile|бразилия|巴西|ブラジル
CA|canada|kanada|канада|加拿大|カナダ
CH|switzerland|suiza|schweiz|suisse|svizzera|suica|швейцария|瑞士|スイス
CL|chile|chili|cile|чили|智利|チリ
CN|china|chine|cina|kina|prc|китай|中国|中國
CO|colombia|kolumbien|colombie|колумбия|哥伦比亚|コロンビア
CR|costa rica
CU|cuba|kuba|куба|古巴|キューバ
CZ|czechia|czech republic|republica checa|chequia|tschechien|republique tcheque|tchequie|cechia
CZ|чехия|捷克|チェコ
DE|germany|alemania|deutschland|allemagne|germania|alemanha|германия|德国|ドイツ
DK|denmark|dinamarca|danemark|danimarca|danmark|дания|丹麦|デンマーク
DO|dominican republic|republica dominicana
EE|estonia|estland|estonie|эстония
EG|egypt|egipto|agypten|egypte|egitto|egito|египет|埃及|エジプト
ES|spain|espana|spanien|espagne|spagna|espanha|испания|西班牙|スペイン
FI|finland|finlandia|finnland|finlande|финляндия|芬兰|フィンランド
FR|france|francia|frankreich|franca|франция|法国|フランス
GB|united kingdom|uk|u k|great britain|britain|gb|reino unido|gran bretana|inghilterra
GB|vereinigtes konigreich|grossbritannien|royaume uni|grande bretagne|regno unito|gra bretanha
GB|великобритания|英国|イギリス
GR|greece|grecia|griechenland|grece|греция|希腊|ギリシャ
HR|croatia|croacia|kroatien|croatie|croazia|хорватия|クロアチア
HU|hungary|hungria|ungarn|hongrie|ungheria|венгрия|匈牙利|ハンガリー
ID|indonesia|indonesien|indonesie|индонезия|印度尼西亚|印尼|インドネシア
IE|ireland|irlanda|irland|irlande|ирландия|爱尔兰|アイルランド
IL|israel|израиль|以色列|イスラエル
IN|india|indien|inde|индия|印度|インド
IR|iran|иран|伊朗|イラン
IQ|iraq|irak|ирак|伊拉克|イラク
IS|iceland|islandia|island|islande|islanda|исландия|冰岛|アイスランド
IT|italy|italia|italien|italie|италия|意大利|イタリア
JP|japan|japon|giappone|japao|япония|日本
KE|kenya|kenia|кения|肯尼亚|ケニア
KR|south korea|korea|corea del sur|corea|sudkorea|coree du sud|coree|corea del sud|coreia do sul
KR|южная корея|корея|韩国|韓国|大韩民国|한국
KP|north korea|corea del norte|nordkorea|coree du nord|северная корея|朝鲜|北朝鮮
KZ|kazakhstan|kasachstan|казахстан|哈萨克斯坦
LT|lithuania|lituania|litauen|lituanie|литва
LV|latvia|letonia|lettland|lettonie|латвия
MA|morocco|marruecos|marokko|maroc|marocco|марокко|摩洛哥|モロッコ
MX|mexico|mejico|mexiko|mexique|messico|мексика|墨西哥|メキシコ
MY|malaysia|malasia|malaisie|малайзия|马来西亚|マレーシア
NG|nigeria|нигерия|尼日利亚|ナイジェリア
NL|the netherlands|netherlands|holland|paises bajos|holanda|niederlande|niederlanden|pays bas
NL|paesi bassi|olanda|нидерланды|голландия|荷兰|オランダ
NO|norway|noruega|norwegen|norvege|norvegia|норвегия|挪威|ノルウェー
NZ|new zealand|nz|nueva zelanda|neuseeland|nouvelle zelande|nuova zelanda|nova zelandia
NZ|новая зеландия|新西兰|ニュージーランド
PE|peru|perou|перу|秘鲁|ペルー
PH|philippines|the philippines|filipinas|philippinen|filippine|филиппины|菲律宾|フィリピン
PK|pakistan|пакистан|巴基斯坦|パキスタン
PL|poland|polonia|polen|pologne|польша|波兰|ポーランド
PT|portugal|portogallo|португалия|葡萄牙|ポルトガル
RO|romania|rumania|rumanien|roumanie|румыния|罗马尼亚|ルーマニア
RS|serbia|serbien|serbie|сербия
RU|russia|rusia|russland|russie|россия|俄罗斯|ロシア
SA|saudi arabia|ksa|arabia saudi|arabia saudita|saudi arabien|arabie saoudite|саудовская аравия
SA|沙特阿拉伯|サウジアラビア
SE|sweden|suecia|schweden|suede|svezia|швеция|瑞典|スウェーデン
SG|singapore|singapur|singapour|сингапур|新加坡|シンガポール
SK|slovakia|eslovaquia|slowakei|slovaquie|словакия
SI|slovenia|eslovenia|slowenien|slovenie|словения
TH|thailand|tailandia|thailande|таиланд|泰国|タイ王国
TR|turkey|turkiye|turquia|turkei|turquie|turchia|турция|土耳其|トルコ
TW|taiwan|taiwan roc|тайвань|台湾|臺灣
UA|ukraine|ucrania|ucraina|украина|乌克兰|ウクライナ
US|united states|united states of america|usa|u s|u s a|the states|america|estados unidos|eeuu|ee uu
US|vereinigte staaten|etats unis|stati uniti|eua|сша|америка|美国|美國|アメリカ|米国
UY|uruguay
VE|venezuela
VN|vietnam|viet nam|вьетнам|越南|ベトナム
ZA|south africa|sudafrica|sudafrika|afrique du sud|africa do sul|юар|南非|南アフリカ
CD|democratic republic of the congo|dr congo|drc|congo
CI|ivory coast|cote d ivoire
CV|cabo verde|cape verde
BA|bosnia and herzegovina|bosnia
MM|myanmar|burma
KR|republic of korea
TT|trinidad and tobago|trinidad
PS|palestinian territory|palestine
MK|north macedonia|macedonia
SZ|eswatini|swaziland
HK|hong kong|hongkong|hong kong sar|香港|гонконг
MO|macao|macau|澳门|マカオ
"""

# Country, GeoNames code of the first-level division, canonical name, further names and abbreviations.
STATES_ELSEWHERE = {
    "CA": ("kalifornien", "californie"),
    "FL": ("floride",),
    "GA": ("georgie",),
    "HI": ("hawai",),
    "LA": ("luisiana", "louisiane"),
    "NC": ("nordkarolina", "carolina del norte", "caroline du nord"),
    "ND": ("norddakota", "dakota del norte", "dakota du nord"),
    "NM": ("neumexiko", "nuevo mexico", "nouveau mexique"),
    "PA": ("pensilvania", "pennsylvanie"),
    "SC": ("sudkarolina", "carolina del sur", "caroline du sud"),
    "SD": ("suddakota", "dakota del sur", "dakota du sud"),
    "TX": ("tejas",),
    "VA": ("virginie",),
    "WV": ("westvirginia", "virginia occidental", "virginie occidentale"),
}
"""States of the US as other languages call them; their English names are the gazetteer's."""

REGIONS = """
GB|ENG|England|inglaterra|angleterre|англия|英格兰|イングランド
GB|SCT|Scotland|escocia|schottland|ecosse|scozia|шотландия|苏格兰|スコットランド
GB|WLS|Wales|gales|pays de galles|galles
GB|NIR|Northern Ireland
CA|01|Alberta|ab
CA|02|British Columbia|bc
CA|03|Manitoba|mb
CA|04|New Brunswick|nb
CA|05|Newfoundland and Labrador|newfoundland|nl
CA|07|Nova Scotia|ns
CA|08|Ontario|on|ont
CA|09|Prince Edward Island|pei
CA|10|Quebec|qc
CA|11|Saskatchewan|sk
CA|12|Yukon|yt
CA|13|Northwest Territories
CA|14|Nunavut
AU|01|Australian Capital Territory|act
AU|02|New South Wales|nsw
AU|03|Northern Territory
AU|04|Queensland|qld
AU|05|South Australia
AU|06|Tasmania|tas
AU|07|Victoria|vic
AU|08|Western Australia|wa
DE|01|Baden-Wurttemberg|baden wuerttemberg
DE|02|Bavaria|bayern|baviera|baviere
DE|05|Hesse|hessen
DE|06|Lower Saxony|niedersachsen
DE|07|North Rhine-Westphalia|nordrhein westfalen|nrw
DE|08|Rhineland-Palatinate|rheinland pfalz
DE|09|Saarland
DE|10|Schleswig-Holstein
DE|11|Brandenburg
DE|12|Mecklenburg-Vorpommern
DE|13|Saxony|sachsen
DE|14|Saxony-Anhalt|sachsen anhalt
DE|15|Thuringia|thuringen
ES|51|Andalusia|andalucia|andalusien|andalousie
ES|52|Aragon
ES|53|Canary Islands|canarias|islas canarias|kanaren|canaries|the canaries
ES|07|Balearic Islands|baleares|islas baleares|balearen
ES|56|Catalonia|cataluna|catalunya|katalonien|catalogne
ES|58|Galicia
ES|34|Asturias
ES|39|Cantabria
ES|57|Extremadura
ES|32|Navarre|navarra
ES|59|Basque Country|pais vasco|euskadi|baskenland
IT|16|Tuscany|toscana|toskana|toscane
IT|15|Sicily|sicilia|sizilien|sicile
IT|14|Sardinia|cerdena|sardegna|sardinien|sardaigne
IT|09|Lombardy|lombardia|lombardei
IT|20|Veneto
IT|13|Apulia|puglia
IT|18|Umbria|ombrie
IT|08|Liguria|ligurie|ligurien
IT|12|Piedmont|piemonte|piemont
IT|03|Calabria
IT|04|Campania
IT|05|Emilia-Romagna|emilia romagna
IT|01|Abruzzo
FR|53|Brittany|bretagne|bretana
FR|28|Normandy|normandie|normandia
FR|93|Provence|provence alpes cote d azur
FR|94|Corsica|corse|corcega|korsika
FR|44|Alsace|grand est
IN|16|Maharashtra
IN|13|Kerala
IN|19|Karnataka
IN|25|Tamil Nadu
IN|09|Gujarat
IN|28|West Bengal
IN|36|Uttar Pradesh
IN|24|Rajasthan
IN|33|Goa
IN|23|Punjab
IN|11|Himachal Pradesh
BR|05|Bahia
ID|02|Bali
GR|ESYE43|Crete|kreta|creta
PT|10|Madeira
PT|23|Azores|azoren|acores
JP|12|Hokkaido|北海道
JP|47|Okinawa|沖縄
"""

POSTAL_WORDS = frozenset(word_list("in or me ok hi oh id la de co al as so us mi on"))
"""Postal codes that are words as well: believed only as the last word after a town of that state."""

BETTER_KNOWN: Mapping[str, str] = {"valencia": "ES", "athlone": "IE", "middelburg": "NL"}
"""Names whose best known town is not the one that size and names in other languages would choose."""

LEADING = frozenset(
    word_list("in at for near around over within inside across en em im nach bei beim aux dans fur sobre par")
)
"""Words after which even an everyday word may be a place."""

LEADING_WEAKLY = frozenset(
    word_list(
        "a au para pour per no na nos nas of de di do da del von desde aus from to between entre zwischen "
        "tra fra and vs versus than y e et und or oder o ou about is"
    )
)
"""Words after which a town is likely, but an everyday word is not."""

PREPOSITIONS = LEADING | LEADING_WEAKLY | frozenset(word_list("with by on bis hacia sur chez um as"))

DROPPED = frozenset(
    word_list(
        "in at for near around over within inside across en em a aux au nach bei beim im dans fur of de di "
        "do da del von para pour na no"
    )
)
"""Prepositions that go with the place when it is taken out of the words."""

ARTICLES = frozenset(word_list("the el la los las der die das den dem le les il lo"))
BEFORE_NAME = frozenset(word_list("downtown central greater metro metropolitan city town nearby sunny rainy"))

NEVER = frozenset(
    word_list(
        """
        a an the and or but if so then of to me my mine you your we our us i he she it they them
        this that these those here there where what when which who how why is are was were be been
        do does did has have had can could will would shall should may might must not no yes ok okay
        please thanks hello hi hey any some all more most much many few very just only also too now
        today tonight tomorrow yesterday morning afternoon evening night noon midnight day days week
        weeks weekend month months year years hour hours minute minutes second seconds time times
        date dates clock oclock am pm utc gmt monday tuesday wednesday thursday friday saturday
        sunday mon tue tues wed thu thur thurs fri sat sun january february march april june july
        august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
        spring summer autumn fall winter easter christmas general total fact english spanish german
        french italian portuguese celsius fahrenheit degrees euro euros dollar dollars pound pounds
        yen bed home house work office school town city village area region place country world
        outside inside car bus train half quarter advance particular order need needs want like say
        says same see seen over name tell know think look show give get go goes come bar hit pace
        set one two three four five six seven eight nine ten first last next coming past long
        temperature weather rain snow wind humidity forecast umbrella sunny cloudy jacket warm cold
        hot que cual como donde cuando quien por si un una unos unas mi tu su es son fue sera esta
        este esto hay hoy manana ayer noche tarde dia dias semana mes ano anos hora horas tiempo
        clima lluvia llover lloveria llueve lunes martes miercoles jueves viernes sabado domingo
        enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre wer
        wie wo wann warum ist sind wird war ein eine einen einem einer heute morgen gestern abend
        nacht tag tage woche wochen monat jahr jahre stunde stunden uhr uhrzeit wetter regen schnee
        regnet montag dienstag mittwoch donnerstag freitag samstag sonntag sonnabend januar februar
        marz mai juni juli oktober dezember gerade jetzt bald nachste nachsten letzte letzten diese
        diesen quoi qui ou quel quelle quand comment est sont fait fera il elle aujourd hui
        aujourd'hui demain hier soir matin nuit jour jours semaine mois heure heures temps meteo
        pluie pleuvoir neige lundi mardi mercredi jeudi vendredi samedi dimanche janvier fevrier
        mars avril juin juillet aout septembre octobre novembre decembre che cosa dove chi oggi
        domani ieri notte giorno giorni settimana ora ore tempo pioggia lunedi martedi mercoledi
        giovedi venerdi sabato domenica gennaio febbraio aprile maggio giugno luglio settembre
        ottobre onde hoje amanha ontem noite chuva agora segunda terca quarta quinta sexta janeiro
        fevereiro marco maio junho julho setembro outubro novembro dezembro mas muy sehr mehr viel
        viele molto mucho mucha
        """
    )
)
"""Never a place on their own: words of time, of weather, and the little words of six languages."""

GUARDED = frozenset(
    word_list(
        """
        aalen abu acre agar airport alameda albi allen alliance along alot amber amul angers ash
        asker baden baha bake baker bank banning barking bath batman battle bay baza beach bear beer
        begun bend bender benin best bexley biden bilbo bo bone boom bottrop boulder bow bras brick
        bridge bunde burke bury bush butterfly buy caller cantonment carmel cars carson carter cat
        centennial central chad chair cheddar chia chin clay coin colon columbine coma conception
        conda converse cook cowell crewe cruz crystal deal dean deli delta die dire diss dole
        douglas dover downtown drama drug dual duke eagle eden elbow elda enterprise erode evergreen
        eye fate fatwa federal feng fisher fleet flora ford forest fountain franca ganja gap garland
        gay genes gilbert gold golden goto grand grays green grenade hagen hamm hang hart hem hill
        hire ho hof holiday holland hook horn howard hub hull human hunter hurricane independence
        inter irving island jam jordan jupiter kai kamen kennedy kent king lacrosse lady lake
        lakeside lancing leer lend lens liberal liberty lice lids lilo lime limerick linden linen
        lion logos loja lone loren love luck lugo lure male man manage manga mango manly marion
        market marks martin mascot mason mata medina mentor mercury metro mile mim minden minster
        mission mobile mocha mons mont moor mountain mula neptune nice nixon normal norman
        obama od officer oliva opera opportunity oral orange osuna pa panda papaya para paradise
        park parks parla pau peer pen perm perry pest pets pinto plaque plum po police poole pop
        port potter prince prosper punch queen rapid reading real republic rest retreat reus rich
        river roles rom roses roth royal rugby rung saga sagar sake sale salem salt san sandwich savage
        save se seaside sedan semi sens sete shaping shields shoreline side siegen sim sine singen
        soda sole solo soul sour split spoken stains street sue sulphur summit sunrise sunset
        superior surprise tall tampon tank tape taylor temple than thane thorn tire toro torrent
        tour tours troy trump turbo turkey turn tyre uelzen union united university uptown valence
        valley venus vera vernier vif villa vine vise vitoria wa walker walnut ware warren wayne
        wean weasel wedding wells werne wesel wheeling whitney woking worms ye yoga young ze
        """
    )
)
"""Everyday words that are towns too: only after a preposition or with a region or country."""

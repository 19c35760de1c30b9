"""Names, birth dates and addresses that people tell of themselves, in the languages that ``statements`` does
not read, and in shapes of English that need no verb.

Pure. A name counts after the words by which a language introduces its speaker; a birth date beside a word of
birth where somebody speaks of themselves; a street with its number where somebody lives, moves or has things
sent. What is translated or quoted is spoken about, not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from node.privacy import likely
from node.privacy.text import Text, by_first_letter


def _folded(*words: str) -> str:
    """Alternatives, as folded texts show them."""
    return "|".join(re.escape(Text.of(word).lower) for word in words)


def _words(shown: str) -> tuple[str, ...]:
    """Words, each folded alone: letters of one alphabet among those of another are folded to theirs."""
    return tuple(Text.of(word).lower for word in shown.split())


_HITS_MAX = 32
_CAP = r"[^\W\d_a-zß-öø-ÿ][^\W\d_][\w'-]{0,24}"
_TITLE = r"(?:(?:Dr|Prof|Mrs?|Ms|Mx|Miss|Herr|Frau|Mme|Sig|Don|Doña|Rev|Fr|Sr|Sra)\.? )"
_PART = (
    r"(?:(?:van|von|de|del|da|di|la|le|el|al|bin|ibn|der|den|dos|du|zu|ten|ter|af|av|Ní|Ó|Mc|Mac|[A-Z]\.) )"
)
_FULL = rf"{_TITLE}?{_CAP} {_PART}{{0,2}}{_CAP}(?:[ -]{_CAP}){{0,2}}"

_PHRASES = (
    "jag heter|mitt namn är|jeg hedder|jeg heter|mit navn er|mitt navn er|eg heiter|ég heiti|"
    "nafn mitt er|minun nimeni on|mun nimi on|nimeni on|mina olen|minu nimi on|nazywam się|"
    "mam na imię|moje imię to|jmenuji se|jmenuju se|mé jméno je|volám sa|moje meno je|zovem se|"
    "moje ime je|ime mi je|imenujem se|меня зовут|мое имя|моё имя|моя фамилия|мене звати|мене звуть|"
    "моє ім'я|мое ім'я|моє прізвище|казвам се|името ми е|зовем се|моје име је|ме викаат|мяне завуць|"
    "a nevem|engem|mă numesc|ma numesc|mă cheamă|ma cheama|numele meu este|numele meu e|benim adım|"
    "adım|ismim|mənim adım|με λενε|με λεω|το ονομα μου ειναι|ονομαζομαι|λεγομαι|קוראים לי|שמי הוא|"
    "שמי|השם שלי|أنا اسمي|انا اسمي|اسمي هو|اسمي|أدعى|اسم من|نام من|من اسمم|mani sauc|mano vardas|"
    "mano vardas yra|nga quhem|më quajnë|quhem|unë quhem|emri im është|em dic|el meu nom és|chámome|"
    "nire izena|fy enw i yw|fy enw i ydy|is mise|nama saya|nama aku|nama ku|perkenalkan saya|"
    "perkenalkan, saya|saya bernama|tôi tên là|tên tôi là|mình tên là|em tên là|ang pangalan ko ay|"
    "jina langu ni|naitwa|igama lami ngu|mia nomo estas|my naam is|ek is|mein name lautet|"
    "men ismim|менің атым|чуе ме"
)
_FOLDED = [Text.of(phrase).lower for phrase in _PHRASES.split("|")]
_FIRST_WORDS = frozenset(word for phrase in _FOLDED for word in re.findall(r"[^\W\d_]+", phrase)[:1])
_INTRODUCES = re.compile(
    rf"(?<![^\W_])(?:{by_first_letter('|'.join(_FOLDED))})"
    r"[ :,-]{1,3}\"?(?P<name>[^\W\d_][\w'-]{1,24})(?P<next> [^\W\d_][\w'-]{1,24})?"
)
_UNSPACED = re.compile(
    "(?:"
    + _folded(
        *("私の名前は", "僕の名前は", "俺の名前は", "名前は", "私、", "申します", "といいます", "と言います"),
        *("我叫", "我的名字是", "我的名字叫", "我姓", "我的全名", "本人姓名", "我是叫"),
        *("제 이름은", "내 이름은", "저의 이름은", "라고 합니다", "라고 해요", "이라고 합니다", "성함은"),
        *("मेरा नाम", "मेरा पूरा नाम", "আমার নাম", "माझे नाव", "મારું નામ", "ਮੇਰਾ ਨਾਮ", "میرا نام", "என் பெயர்"),
        *("నా పేరు", "ನನ್ನ ಹೆಸರು", "എന്റെ പേര്", "ผมชื่อ", "ฉันชื่อ", "ดิฉันชื่อ", "หนูชื่อ", "ชื่อของฉัน", "မိမိအမည်"),
    )
    + ")(?P<after>.{0,12})"
)
_EASTERN_NAME = re.compile(
    "(?:我是|我叫|本人)(?!高中|高[一二三级]|金融|金牛|石油|白领|陆军|方向|江[西苏]|马来|何|万|白羊"
    "|程序|武汉|贵州)["
    "王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何高林罗羅郑鄭梁谢謝宋唐许許韩"
    "韓冯馮邓鄧曹彭曾肖田董潘袁蔡蒋蔣余于杜叶葉程魏苏蘇吕呂丁任沈姚卢盧姜崔钟鍾谭譚陆"
    "陸汪范金石廖贾賈夏韦韋方白邹鄒孟熊秦邱江尹薛闫段雷侯龙龍陶黎贺賀顾顧毛郝龚龔邵万"
    "萬钱錢严嚴覃武戴莫孔向汤湯"
    "]"
    "[\u4e00-\u9fff]{1,2}(?:[,.，。!！ ]|$)"
    "|(?:나는|저는|내가|제가|전) (?!한국|이탈|주부|공무|직장|남자|선생|기술|천주|채식|임산|구직"
    "|신입|전문|변호|신혼|연구|유학"
    "|조선|노인|성인|서울|강사|문과|이과|공대|차주|고등|정신|백수|우울|비건|노동|지방|은행|장애"
    "|전업|석사|박사)["
    "김이박최정강조윤장임한오서신권황안송전홍유고문양손배백허남심노하곽성차주우구민진"
    "지엄채원천방공현함변염여추도소석선설마길연위표명기반라왕금옥육인맹제모"
    "]"
    "[가-힣]{2}(?:이?라고|입니다|이에요|예요|이야)"
)
_ASKED = re.compile(
    _folded(
        *("何", "什么", "什麼", "뭐", "무엇", "क्या", "อะไร", "吗", "嗎", "कैसे", "谁", "誰", "怎么", "怎麼")
    )
    + r"|\?|^[\s.,!。、」』\"')]*$"
)
_TALKED_ABOUT = re.compile(
    r"(?<![^\W_])(?:säger|säga|sier|siger|sige|sanotaan|sanoa|mówi|říká|říct|mondják|spune|spun"
    r"|dico|translat\w*|mean\w*|say|says|said|pronounc\w*|grammar|phrase|sentence|lyrics|song|film"
    r"|movie|novel"
    r"|перевод\w*|перевести|переведи\w*|означает|сказать|фраза|фильм\w*|песн\w*|роман\w*|книг\w*"
    r"|tłumacz\w*|powiedzieć"
    r"|znaczy|film\w*|přelož\w*|znamená|betyr|betyder|oversætte?|översätt\w*|oversett|käännä"
    r"|tarkoittaa|fordít\w*"
    r"|jelent|traduc\w*|înseamnă|çevir\w*|demek|anlam\w*|μεταφρα\w*|σημαινει|מתרגמים|תרגם|ترجم\w*"
    r"|يعني|artinya"
    r"|terjemah\w*|dịch|nghĩa)(?![^\W_])|翻訳|翻译|翻譯|意味|意思|英語で|日语|韩语|怎么说|怎麼說"
    r"|번역|무슨 뜻|뜻이|영어로 어떻게|歌詞|映画|电影|歌词"
)
_NO_NAME = frozenset(
    _words(
        "как как-то не и в на это что кто так просто иначе як не nie jak na się to i co czy w jest"
        " tak tylko"
        " ikke inte på som att og och bara ei se ne jak je na hur hvordan miten nasıl ne değil çok"
        " ve τι και δεν πως"
        " מה איך לא ما كيف هو في لا apa siapa yang gì là tidak bukan ce cum nu și hogy mi az nem on ja että"
        " the a an not so and what how que qui com non e o kaip ne kā sik si pa ku cila si"
    )
)

_ENGLISH_NAME = re.compile(
    rf"(?:^|[.!?,\n] ?|\b(?:hi|hello|hey|morning|afternoon|evening|there|all|folks|greetings|hiya"
    rf"|dear \w+),? )"
    rf"(?P<here>(?-i:{_FULL})) (?:here|speaking|again|writing|on the line)\b"
    rf"|\b(?:the|my|me) names? ?(?:is|'s|are)? (?P<names>(?-i:{_FULL}))(?=[,.;!\n]| and | from )"
    rf"|\b(?:remember me|guess who|it's me|its me|me again|it is me|this is me|who am i|sincerely"
    rf" yours)[?.!:, -]{{1,3}}"
    rf"(?P<remember>(?-i:{_FULL}))"
    rf"|(?P<that>(?-i:{_FULL}))\b[^?!\n]{{0,48}}?\b(?:that's|that is|thats) (?:me|us|my (?:full "
    rf"|real |legal |whole )?name)\b"
    rf"|\b(?:onto|on|in|for|to|from) my (?:[\w-]{{1,16}} ){{0,2}}(?:card|badge|passport|licen[cs]e"
    rf"|diploma|door|visa|ticket"
    rf"|id|degree|certificate|nameplate|birth certificate|profile|letterhead|cv"
    rf"|resume)\b[^.?!\n]{{0,24}}\"(?P<on>(?-i:{_FULL}))\""
    rf"|\"(?P<quoted>(?-i:{_FULL}))\" (?:onto|on|in|for|to) my (?:[\w-]{{1,16}} ){{0,2}}(?:card"
    rf"|badge|passport|licen[cs]e|diploma"
    rf"|door|visa|ticket|id|degree|certificate|nameplate|profile|cv|resume)\b"
    rf"|(?:(?:presented|prepared|submitted|requested|written|performed|talk|slides|report|thesis"
    rf"|poem|application) (?:by|of)"
    rf"|speaker|presenter|applicant|requester|sender|from|to)[: ]"
    rf" ?(?P<by>(?-i:{_FULL}))\b[^\n]{{0,90}}?\bmy (?:name|talk|thesis|report|slides|poem)\b"
    rf"|\bmy (?:full |real |legal |whole |own |maiden |married |birth )?name\?? ?[:(,.-]{{0,2}}"
    rf" ?\"?(?P<mine>(?-i:{_FULL}))",
    re.IGNORECASE,
)
_SMALL_NAME = re.compile(
    r"(?:\b(?:i'?m|i am|my name'?s|my name is|the name'?s|name'?s|it's|this is|call me) "
    r"|\bmy (?:full |real |legal )?name\? )(?P<first>[^\W\d_]{2,16}) (?P<last>[^\W\d_]{2,18}(?:["
    r" -][^\W\d_]{3,18})?)"
    r"(?=,| and | here\b| from |[.!\n]|$)"
)
_FIELDS = re.compile(
    rf"(?:^|[\n,;{{(] ?)\"?(?:first|given|vor|pr[ée]|nome|nombre|forename)[ _-]?(?:names?|name"
    rf"|nom)?\"? ?[:=] ?\"?(?-i:{_CAP})\"?"
    rf"\s{{0,2}}[,;\n]\s{{0,2}}\"?(?:last|family|sur|nach|cognome|apellidos?|nom|second)["
    rf" _-]?(?:names?|name)?\"? ?[:=] ?\"?(?-i:{_CAP})",
    re.IGNORECASE,
)
_FI_NAME = re.compile(
    rf"\b(?:[Hh]ei|[Mm]oi|[Tt]erve|[Hh]uomenta|[Pp]äivää|[Oo]len|[Mm]inä olen)[!,. ]{{1,2}}(?:olen "
    rf"|minä olen )?(?P<name>{_FULL})"
)

_DATE = (
    r"(?:(?:19[2-9]\d|20[012]\d)[-./ ]{1,2}\d{1,2}[-./ ]{1,2}\d{1,2}|\d{1,2}[-./ ]{1,2}\d{1,2}[-./"
    r" ]{1,2}(?:19[2-9]\d|20[012]\d|\d\d)"
    r"|\d{1,2}(?:st|nd|rd|th|er|\.|º|ого|-го)? ?(?:of |de |d')?[^\W\d_]{3,12}\.?,? ?(?:de |of |del"
    r" )?'?(?:19[2-9]\d|20[012]\d|'?\d\d)"
    r"|[^\W\d_]{3,10}\.? (?:the )?\d{1,2}(?:st|nd|rd|th)?,? (?:19[2-9]\d|20[012]\d)"
    r"|(?:19[2-9]\d|20[012]\d) ?[年년] ?\d{1,2} ?[月월] ?\d{1,2} ?[日일号]?"
    r"|'\d\d,? (?:on )?(?:the )?[\w-]{3,16} of [^\W\d_]{3,10}|(?:the )?[\w-]{2,16}"
    r" \(?[^\W\d_]{3,10} (?:19[2-9]\d|20[012]\d)\)?"
    r"|(?:19[2-9]\d|20[012]\d)\. ?(?:\d{1,2}\.|[^\W\d_]{3,12}) ?\d{1,2})(?!\d)"
)
_BORN_FAR = _folded(
    *("生まれ", "出生", "生日", "誕生日", "生年月日", "태어났", "생일", "생년월일", "जन्म", "เกิด", "년생")
)
_BORN_SELF = re.compile(
    # words that say both that somebody was born and that they speak of themselves
    rf"(?:(?<![^\W_])(?:doğum (?:tarihim|günüm)|doğdum|doğumluyum|syntymäaikani|syntymäpäiväni"
    rf"|synnyin|olen syntynyt"
    rf"|urodziłem się|urodziłam się|jestem z|urodzon[aey]|narodil[a]? jsem se|narozen[aý]? jsem"
    rf"|jsem narozen\w*"
    rf"|narodil[a]? som sa|rođen[a]? sam|rodil[a]? sem se|m-am născut|sunt născut[aă]?|születtem"
    rf"|születésnapom"
    rf"|я родил(?:ся|ась)|родил(?:ся|ась)|мой день рождения|моя дата рождения|дата рождения:|я"
    rf" народи(?:вся|лася)"
    rf"|роден[а]? съм|рођен[а]? сам|γεννηθηκα|γεννημεν[ηο]ς?|נולדתי|ولدت|مواليد|تاريخ ميلادي|lahir"
    rf"|tanggal lahir saya"
    rf"|sinh ngày|sinh năm|jag är född|född|född den|är född|jeg er født|født|fødselsdag"
    rf"|födelsedag\w*|fæddur|fædd"
    rf"|narozen[aý]?|nar\.|narozeniny|datum narození|născut[aă]?|urodziny|urodziny mam|data"
    rf" urodzenia|syntynyt|rojen[a]?"
    rf"|yob|dob|birthday|b-?day|turned \d\d|turn \d\d|turning \d\d)(?![^\W_])"
    rf"|{_BORN_FAR})"
)
_ANY_DATE = re.compile(_DATE)
_BORN_EN = re.compile(
    r"(?<![^\W_])(?:the day (?:i was|of my) b\w+|i was born|born|my birth\w*|date of birth"
    r"|birthdate)(?![^\W_])"
)
_OWN = re.compile(
    r"(?<![^\W_])(?:i|i'm|i've|my|me|myself|mine|jag|mig|min|mitt|jeg|meg|mit|mám|jsem|můj|moje|mi"
    r"|mam|jestem|mój"
    r"|minun|olen|saan|benim|ben|я|мне|мой|моя|у меня|ми|аз|jag|jeg|nekem|vagyok|sunt|am|eu|saya"
    r"|tôi|eg|får|kan)(?![^\W_])"
    r"|私|僕|俺|我|저|제|나는|내|मैं|मेरा|ผม|ฉน|אני|أنا|انا|çok|\w(?:ım|im|um|üm)(?![^\W_])"
)
_THIRD = re.compile(
    rf"(?:{_CAP} {_CAP}|{_CAP}'s)[ ,(]{{1,2}}(?:\w{{1,8}} ){{0,2}}$|(?<![^\W_])(?:he|she|they|who"
    rf"|er|sie|il|elle|hon|han"
    r"|hun|ona|он|она) (?:\w+ ){0,2}$"
)
_NAMED = re.compile(rf"{_CAP} {_CAP}")
_FIELD = re.compile(
    rf"(?:^|[.,;:(\n?!] ?|\bw/ ?)(?:birth ?day|b-?day|birth ?date|date of birth|dob|d\.o\.b\.?|yob"
    rf"|born|b\.|geb\.?|geboren"
    r"|née?(?: le)?|nacid[oa](?: el)?|fecha (?:de )?nacimiento|nat[oa](?: il)?|nascid[oa](?: em)?"
    r"|född|født|narozen[aý]?"
    rf"|urodzon[ya]|syntynyt|doğum tarihi|rođen[a]?)(?: \([^()\n]{{2,12}}\))?[ :?=,-]{{1,3}}(?:on "
    rf"|the |am |le |el |den )?"
    rf"(?:{_DATE}|(?:19[3-9]\d|20[012]\d),? month \d)"
)
_WHO = re.compile(
    r"(?<![^\W_])(?:who|died|dies|singer|actor|actress|poet|painter|composer|president|king|queen"
    r"|which (?:star|celebrity"
    r"|singer|actor|player)|celebrit\w+|famous|gestorben|wer|qui|quién|murió|mort)(?![^\W_])|†"
)

_HOUSE = r"\d{1,4}(?: ?[A-Za-zА-я](?![^\W_]))?(?:[/-]\d{1,4})?"
_STREETS = re.compile(
    r"(?:"
    # Polish, Czech, Slovak, Croatian, Slovene
    rf"(?<![^\W_])(?:ul|al|os|pl|ulic[yaei]|aleja|alei|osiedl[eu]|nábřeží|náměstí|nám|trg|trgu"
    rf"|cesta|cesti)\.? "
    rf"(?:[^\W\d_][\w.'-]{{1,24}} ){{1,4}}(?:č\. ?|nr\.? ?|br\.? ?)?{_HOUSE}"
    # Hungarian, Romanian, Turkish
    rf"|(?<![^\W_])[^\W\d_]{{2,24}}(?: [^\W\d_]{{2,16}})? (?:utca|út|útja|tér|tere|körút|krt\.?|u\."
    rf"|sétány|köz|fasor) {_HOUSE}"
    rf"|(?<![^\W_])(?:str|strada|bd|bulevardul|bld|aleea|șos|șoseaua|calea|splaiul)\.?"
    rf" (?:[^\W\d_][\w.'-]{{1,24}},? ){{1,4}}nr\.? ?{_HOUSE}"
    r"|(?<![^\W_])[^\W\d_]{2,24} (?:mah|mahallesi|sok|sokak|sokağı|sk|cad|cadde|caddesi|cd|bulvarı"
    r"|blv)\.?,? ?"
    rf"(?:[^\n.?!]{{0,40}}?)(?:no|numara|d)\.?:? ?{_HOUSE}"
    # Russian, Ukrainian, Bulgarian, Serbian
    r"|(?<![^\W_])(?:ул|улиц[аеыу]|пр-т|просп|проспект[еа]?|пр|пер|переул\w+|бул|бульвар[еа]?|шоссе"
    r"|наб|набережн\w+|пл"
    rf"|площад\w|вул|вулиц[яію]|пров|жк|ж\.к|бл|мкр)\.? (?:[^\W\d_][\w.'-]{{1,24}},?"
    rf" ){{1,4}}(?:д(?:ом)?\.? ?|буд\.? ?|№ ?|бр\. ?)?{_HOUSE}"
    # Greek, Hebrew, Arabic
    rf"|(?<![^\W_])(?:οδος|οδο|οδου|λεωφορος|λεωφ\.?) (?:[^\W\d_][\w.'-]{{1,24}} ){{1,3}}{_HOUSE}"
    rf"|(?<![^\W_])(?:רחוב|רח'|שדרות|שד') (?:[^\W\d_][\w.'\"-]{{1,24}} ){{1,3}}{_HOUSE}"
    rf"|(?<![^\W_])(?:شارع|حي|طريق) [^\d\n?!]{{2,40}}?\d{{1,5}}"
    # Indonesian, Vietnamese, Indian
    rf"|(?<![^\W_])(?:jl|jln|jalan|gang|gg)\.? (?:[^\W\d_][\w.'-]{{1,24}} ){{1,4}}(?:no\.? ?|blok"
    rf" \w{{1,3}} ?){_HOUSE}"
    rf"|(?<![^\W_])(?:số|so) {_HOUSE},? (?:ngõ \d+,? )?(?:đường|phố|ngõ|hẻm)"
    # English roads that have a number; named houses behind a number
    r"|(?<![^\W_])\d{1,6},? (?:[nsew]\.? |north |south |east |west )?(?:county|state|farm|ranch"
    r"|forest|fire|old|township|cr|co)"
    r"[ .]{1,2}(?:road|rd|route|rte|hwy|highway|line|to market)(?: [nsew])? ?\d{1,5}"
    r"|(?<![^\W_])\d{1,6} (?:highway|hwy|route|rte|us|fm|sr|cr|rr) ?-?\d{1,5}(?![^\W_])"
    r")(?!\d|[.,:]\d|-\w)",
    re.IGNORECASE,
)
_EASTERN = re.compile(  # Japan, China, Korea
    r"(?:[都道府県市区郡町村][^\s\d。、?!]{1,16}? ?\d{1,4}(?: ?(?:丁目|番地?|号|-) ?\d{1,4}){1,3}"
    r"|[路街道巷弄村里院][^\s\d。、?!]{0,6} ?\d{1,5} ?[号號弄]"
    r"|[가-힣]{1,10}(?:로|길)(?: ?\d{1,3} ?[가-힣]?길)? ?\d{1,4}(?:-\d{1,4})?(?=[ ,가-힣]|$)"
    r"|[가-힣]{1,8}[동면읍] ?\d{1,4}(?:-\d{1,4}|번지)"
    r")(?!\d|[.,:]\d|-\w)"
)
_FLAT = re.compile(
    r"(?<![^\W_])(?:flat|plot|house|door|h|d|shop|quarter)[ .]{0,2}(?:no|number|#)?["
    r" .:]{0,3}[a-z]?-?\d{1,4}"
)
_INDIAN = frozenset(_words("nagar colony sector layout vihar enclave phase marg society puram block"))
_INDIAN_END = re.compile(
    r"[^\n?!]{2,60}?\b(?:nagar|colony|sector|layout|vihar|enclave|phase|marg|society|puram|block)\b"
)
_LIVES = re.compile(
    r"(?<![^\W_])(?:i|i'm|my|our|we|me|us|mieszkam\w*|mój|moje|moim|nasz\w*|przeprowadz\w+"
    r"|dostaw\w+|adres\w*|zameldow\w+"
    r"|bydlím\w*|bývám\w*|bydliště|adres[ao]u?|stěhuj\w+|doruč\w+|stanujem|živim|adresa|lakom"
    r"|címem\w*|lakcím\w*|költöz\w+"
    r"|locuiesc|stau|adresa|domiciliul|livra\w+|oturuyor\w*|yaşıyor\w*|adresim\w*|evim\w*|taşın\w*"
    r"|ikamet\w*|kargo\w*"
    r"|bor|bodde|flytt\w*|jag|vår|vårt|min|mitt|adress\w*|hemma|jeg|vi|vores|mit|adresse\w*|bopæl"
    r"|hjemme|asun|asumme|asuu"
    r"|osoitteessa|osoitteeni|osoite|muutta\w*|muutan|kotiosoite|kirjoilla|kodin|koti\w*|elan"
    r"|aadress|minu|dzīvoju|gyvenu"
    r"|woon\w*|wij|ons|mijn|ik|wohn\w*|mein\w*|wir|unser\w*|ich|bei uns"
    r"|живу|живем|живём|проживаю|мой|моя|мне|нам|наш\w*|адрес\w*|прописан\w*|прописк\w*|переезж\w+"
    r"|доставк\w+|мешкаю|живемо"
    r"|живея|адресът|живим|μενω|μενουμε|σπιτι|διευθυνση|גר|גרה|גרים|כתובת\w*|אני|أسكن|اسكن|عنواني"
    r"|منزلي|بيتي|أعيش"
    r"|saya|alamat\w*|rumah\w*|tinggal|kami|tôi|nhà|địa chỉ|live|living|moved?|moving|bought"
    r"|rent\w*|delivered|ship)(?![^\W_])"
    r"|住んで|住み|住所|自宅|実家|引っ越|引越|届け|私|うち|我家|我住|住在|家住|地址|寄到|送到|租"
    r"|살고|살아|살|집|주소|이사|배송|우리"
)


def find(read: Text) -> str | None:
    """``self_statement``, ``address`` or None."""
    if _tells_name(read):
        return "self_statement"
    if read.has_digit:
        if _tells_birth(read):
            return "self_statement"
        if _tells_street(read):
            return "address"
    return None


def _tells_name(read: Text) -> bool:
    lower = read.lower
    if (not lower.isascii() or not _FIRST_WORDS.isdisjoint(read.words)) and (
        _TALKED_ABOUT.search(lower) is None
    ):
        for count, found in enumerate(_INTRODUCES.finditer(lower)):
            shown = read.text[found.start("name") : found.end("name")]
            if count >= _HITS_MAX or (
                found["name"] not in _NO_NAME and (not shown[0].islower() or found["next"] is not None)
            ):
                return True
        if not lower.isascii():
            if _EASTERN_NAME.search(lower) is not None:
                return True
            for count, found in enumerate(_UNSPACED.finditer(lower)):
                if count >= _HITS_MAX or _is_said(read, found):
                    return True
    if not _FIELD_WORDS.isdisjoint(read.words) and _FIELDS.search(read.text) is not None:
        return True
    if not _EN_WORDS.isdisjoint(read.words):
        hinted = any(hint in lower for hint in _EN_HINTS) or ('"' in lower and " my " in lower)
        for count, found in enumerate(_ENGLISH_NAME.finditer(read.text) if hinted else ()):
            name = next(filter(None, found.groups()))
            if count >= _HITS_MAX or _is_name(name):
                return True
        for count, found in enumerate(_SMALL_NAME.finditer(lower)):
            words = [found["first"], *re.split("[ -]", found["last"])][:2]
            shown = read.text[found.start("first") : found.end("last")]
            if count >= _HITS_MAX or (shown.islower() and all(map(_is_rare, words))):
                return True
    if "olen" in lower:
        return any(_is_name(found["name"]) for found in _FI_NAME.finditer(read.text))
    return False


_FIELD_WORDS = frozenset(_words("first given vorname prénom prenom nome nombre forename firstname"))
_EN_HINTS = (
    *(" here", "speaking", "again", "writing", "on the line", "name", "remember me", "guess who"),
    *("it's me", "its me", "it is me", "this is me", "that's ", "thats ", "that is ", "my talk", "my report"),
    *("my thesis", "my slides", "my poem", "who am i", "sincerely yours"),
)
_EN_WORDS = frozenset(
    ["here", "speaking", "again", "name", "names", "me", "my", "us", "i", "im", "am", "who"]
)


def _is_said(read: Text, found: re.Match[str]) -> bool:
    """Whether a name stands behind the words, or before those of Japanese and Korean that close it."""
    if found[0].startswith(_CLOSING):
        return found.start() >= 2 and read.text[found.start() - 1].isalpha()
    after = found["after"]
    return _ASKED.search(after) is None and any(map(str.isalpha, after[:3]))


_CLOSING = _words("申します といいます と言います 라고 이라고")


def _is_rare(word: str) -> bool:
    return word not in likely.packaged().words and _COMMON_END.search(word) is None and len(word) > 2


_COMMON_END = re.compile(
    r"(?:ing|ed|ly|able|ful|less|ish|ous|ive|ion|ment|ness|ist|ism|ity|ics|ers|ies|ant|ent|ese|ian"
    r"|ian|ic|al|ary)$"
)


def _is_name(shown: str) -> bool:
    """Whether capital words hold at least one that is no everyday word, and none that names no person."""
    words = [word.lower().strip(".") for word in re.split("[ -]", shown)]
    return _NO_PERSON.isdisjoint(words) and any(map(_is_rare, words))


_NO_PERSON = frozenset(
    _words(
        "google windows microsoft excel python java linux amazon apple facebook city county"
        " university street"
        " company bank ltd inc gmbh united kingdom states republic north south east west new saint san los"
        " monday tuesday wednesday thursday friday saturday sunday january february march april june july"
        " august september october november december english french german spanish italian american british"
        " what why how when where which who can could should is are do does please thanks thank"
        " hello hi dear"
        " the my your our class iron general limited office adobe premium visa master"
    )
)


_BIRTH_HINTS = _words(
    "birth born bday b-day dob d.o.b yob b. geb né nac nat nasc föd fød fæd naroz nar. născut"
    " szület urodz syn doğ"
    " ro rođ род народ γενν נולד ولد مواليد ميلاد lahir sinh turn jestem 生 태어 생일 년생 जन म เกด"
    " 日 rojen"
)


def _tells_birth(read: Text) -> bool:
    lower = read.lower
    if not any(hint in lower for hint in _BIRTH_HINTS):
        return False
    if _FIELD.search(lower) is not None and _WHO.search(lower) is None and _NAMED.search(read.text) is None:
        return True
    for expression in (_BORN_SELF, _BORN_EN):
        for count, found in enumerate(expression.finditer(lower)):
            if count >= _HITS_MAX:
                return False
            start, end = max(0, found.start() - 48), found.end() + 48
            near = lower[start:end]
            if _ANY_DATE.search(near) is None:
                continue
            if _THIRD.search(read.text[max(0, found.start() - 40) : found.start()]) is not None:
                continue
            own = _OWN.search(lower[max(0, start - 60) : end + 90]) is not None
            if own and _TALKED_ABOUT.search(near) is None:
                return True
    return False


_STREET_ENDS = _words(
    "vägen gatan stigen gränden gränd backen torget väg gata vejen gade gaden stræde allé parken"
    " bakken vænget toften"
    " veien vegen gaten gate vei katu kuja polku raitti rinne kaari puistotie tie penger puiestee"
    " tänav maantee iela"
    " gatvė straat laan weg dreef plantsoen gasse straße strasse"
)
_AFTER_STREET = re.compile(
    r"(?<=[^\W\d_][^\W\d_][^\W\d_][^\W\d_]) \d{1,4} ?(?:[a-z](?![^\W_]))?(?!\d|[.,:]\d|-\w)"
)
_STREET_WORDS = frozenset(
    _words(
        "ul al os pl ulica ulicy ulice ulici aleja alei osiedle osiedlu nábřeží náměstí nám trg"
        " trgu cesta cesti utca út"
        " útja tér tere körút krt u sétány köz fasor str strada bd bulevardul bld aleea șos șoseaua"
        " calea splaiul mah"
        " mahallesi sok sokak sokağı sk cad cadde caddesi cd bulvarı blv jl jln jalan gang gg flat"
        " plot house door h d shop"
        " quarter county state farm ranch forest fire old township cr co highway hwy route rte us"
        " fm sr rr οδος οδο οδου"
        " λεωφορος số so"
    )
)


def _places(read: Text) -> Iterator[tuple[int, int]]:
    """Where a street with its number stands."""
    lower = read.lower
    for found in _AFTER_STREET.finditer(lower):
        if lower.endswith(_STREET_ENDS, max(0, found.start() - 30), found.start()):
            yield found.span()
    if not _STREET_WORDS.isdisjoint(read.words) or _FAR.search(lower) is not None:
        for found in _STREETS.finditer(read.text):
            yield found.span()
    if not lower.isascii() and _EAST.search(lower) is not None:
        for found in _EASTERN.finditer(read.text):
            yield found.span()
    if not _INDIAN.isdisjoint(read.words):
        for found in islice(_FLAT.finditer(lower), _HITS_MAX):
            if (whole := _INDIAN_END.match(lower, found.end())) is not None:
                yield found.start(), whole.end()


_FAR = re.compile("[\u0370-\u06ff]")
_EAST = re.compile("[\u3400-\u9fff\uac00-\ud7af]")


def _tells_street(read: Text) -> bool:
    for count, (start, end) in enumerate(_places(read)):
        if count >= _HITS_MAX:
            return True
        near = read.lower[max(0, start - 60) : end + 60]
        if _LIVES.search(near) is not None and _OF_NOTE.search(near) is None:
            return True
    return False


_OF_NOTE = re.compile(
    r"(?<![^\W_])(?:museum\w*|muzeu\w*|музе\w*|palace|palota|zámek|hotel|restaurant\w*|ravintola"
    r"|opening|embassy"
    r"|ambasad\w*|posolstvo|посольств\w*|büyükelçili\w*|headquarters|főváros|centrum|stadion\w*"
    r"|university)(?![^\W_])"
    r"|美術館|博物館|博物馆|大使館|大使馆|박물관|ホテル|本社|駅"
)

"""The beginnings by which people tell their name, home, birth date, employer, accounts, health and legal
matters, language by language.

Pure tables. Each phrase is a set of first words and an expression for what follows them, so that a text's
words are looked up once and only what may begin a statement is read further. Expressions ignore case but
where ``(?-i:…)`` asks for a capital letter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DATE = (
    r"(?:\d{1,4}(?:st|nd|rd|th|er|\.)? ?(?:of |de )?(?:[./ -]|(?:jan|feb|fév|mar|mär|apr|avr|abr"
    r"|ma[iy]|jun|jui|jul|aug|aoû|ago|sep|oc?k?t|nov|de[czc]|dic|déc|ene|gen|mag|giu|"
    r"lug|set|ott)[a-zéûä]{0,7}\.?)|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? "
    r"\d|1[89]\d\d|20[012]\d)"
)
_C = r"(?=(?-i:[A-ZÀ-ÖØ-ÞŁŚŽŠČ]))"  # a capital letter follows
_DC = r"(?=\d|(?-i:[A-ZÀ-ÖØ-ÞŁŚŽŠČ]))"
_BROAD = (
    r"(?!europe|asia|africa|america|germany\b|france\b|spain\b|italy\b|england\b|scotland\b"
    r"|ireland\b|portugal\b"
    r"|belgium\b|austria\b|switzerland\b|sweden\b|norway\b|denmark\b|finland\b|poland\b|canada\b"
    r"|australia\b|india\b"
    r"|japan\b|china\b|brazil\b|mexico\b|greece\b|turkey\b|california\b|texas\b|florida\b|the \b"
    r"|a\b|an\b|my\b|this\b|that\b|fear|peace|harmony|what|where"
    r"|which|it\b|them\b|zone\b|hardiness)"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """``first``: the words it begins with; ``rest``: what follows them; ``kind``: what it tells. ``name``:
    the rest is a statement only if a name's first letters follow (see ``statements``)."""

    kind: str
    first: tuple[str, ...]
    rest: re.Pattern[str]


def _all(kind: str, *pairs: tuple[str, str]) -> tuple[Phrase, ...]:
    return tuple(Phrase(kind, tuple(first.split()), re.compile(rest, re.IGNORECASE)) for first, rest in pairs)


# A name follows, however it is written.
NAMES = _all(
    "name",
    (
        "my our",
        (
            r" (?:(?:full|first|last|real|legal|given|middle|birth|maiden|family|nick|complete|married"
            r"|actual|own|christian|official|preferred|true|pen) ?){0,2}(?:sur|nick)?names? ?(?:is|'s|s"
            r"|was|are|:|=)(?: actually| really| now| also)? ?"
        ),
    ),
    ("name", r"(?:'s| is) (?=(?-i:[A-Z]))"),
    ("my our", r" (?:[\w-]+(?:'s|s')? ){0,3}(?:sur|nick)?names?\b[^.?!\n]{0,48}? (?:is|are|was|:) " + _C),
    ("my our", r" na(?:m|em) is "),
    ("mein meine meinem unser unsere", r" [^.?!\n]{0,32}?name (?:ist|lautet|:) " + _C + r"| \w+ heißt " + _C),
    (
        "mon ma notre",
        r" [^.?!\n]{0,32}?(?:nom|prénom)\b[^.?!\n]{0,16}? (?:est|:|c'est) " + _C + r"| \w+ s'appelle " + _C,
    ),
    (
        "mi nuestra nuestro",
        r" [^.?!\n]{0,32}?(?:nombre|apellido)\b[^.?!\n]{0,16}? (?:es|:) " + _C + r"| \w+ se llama " + _C,
    ),
    ("address refer register sign put", r" (?:to )?(?:me|it|this|the \w+|off|down)? ?(?:as|with) " + _C),
    ("je", r" m'app?ell?e? (?!comment\b)"),
    ("llámame llamame llamarme llamadme llámenme", r" " + _C),
    ("appelle appelez", r"-moi " + _C),
    ("m", r"'appeler " + _C),
    ("nenn nenne nennt nennen", r" (?:sie )?mich " + _C),
    ("mich", r" (?:nennen (?:alle|die \w+)? ?)?" + _C),
    ("me", r" (?:conocen como|puedes llamar|pueden llamar|puede llamar|chamar de) | ?\(" + _C),
    ("we", r"(?: are|'re) (?:the )?(?=(?-i:[A-Z][a-z]+ and [A-Z]))"),
    ("says reads shows states", r" (?=(?-i:[A-Z][a-z]+ [A-Z][a-z]+))"),
    (
        "i im",
        r"(?:'m| am|'ve been)? (?:also |better |mostly |generally )?known (?:to [\w ]{2,24}? )?as"
        r" (?=(?-i:[A-Z]))",
    ),
    ("registered listed booked signed", r"(?: to [\w ]{2,24}?)? as (?=(?-i:[A-Z]))"),
    (
        "my",
        r" (?:last |first |family |full |maiden )names?,? " + _C + r"| name,? (?=(?-i:[A-Z][a-z]+ [A-Z]))",
    ),
    ("ich", r" heise "),
    ("his her their", r" (?:full |first |last |real )?(?:name|surname) (?:is|was) (?=(?-i:[A-Z]))"),
    ("calls called", r" me (?=(?-i:[A-Z]))"),
    (
        "introduce présente presento vorstellen",
        (
            r"(?: myself| moi)?(?: as)? ?[:,.-]? ?(?:i am |i'm |my name is |ich bin |je suis |soy "
            r")?(?=(?-i:[A-Z]))"
        ),
    ),
    (
        "under in unter auf au a",
        r" (?:the |den |dem |le |el )?(?:name|namen|nom|nombre) (?:of |de |d')?(?=(?-i:[A-Z]))",
    ),
    ("i ich yo je moi", r", (?=(?-i:[A-Z][\w'-]+ (?:[a-z]{2,3} )?[A-Z][\w'-]+,))"),
    ("hier", r" (?:schreibt|ist) (?:die |der |wieder )?(?=(?-i:[A-Z]))"),
    ("ici", r" (?=(?-i:[A-Z]))"),
    ("te le les", r" (?:escribe|habla) (?=(?-i:[A-Z]))"),
    ("signed firmado signé unterzeichnet gezeichnet gez", r"\.? ?[:,]? ?(?:by )?(?=(?-i:[A-Z]))"),
    ("holder kontoinhaber inhaber titulaire titular", r" ?(?:is|ist|est|es|:)? ?:? ?(?=(?-i:[A-Z]))"),
    (
        "i",
        (
            r"(?: am|'m|m) (?:called|named|known as) |'?(?: was| have been|'ve been) (?:christened"
            r"|baptised|baptized|named) | go by (?:the name (?:of )?)?(?!the\b|a\b|an\b|my\b|bus\b"
            r"|train\b|car\b|foot\b|plane\b)"
        ),
    ),
    (
        "people friends everyone everybody they you please just folks colleagues mates",
        (
            r"(?: can| may| all| usually| mostly| just| should| still){0,2} (?:call|know|named?|called) "
            r"me (?:as )?(?!back|any|whatever|old\b|names|at\b|on\b|when|if\b|tomorrow|later|now|a\b"
            r"|an\b|the\b|crazy)"
        ),
    ),
    ("call", r" me " + _C),
    ("ich", r" hei(?:ß|ss)e | nenne mich | werde (?=\w+ genannt)| bin (?:der|die) " + _C),
    (
        "mein",
        (
            r" (?:voller |vollständiger |ganzer |richtiger |echter |bürgerlicher )?(?:vor|nach|familien"
            r"|spitz|geburts|mädchen)?name (?:ist|lautet|war)|meiner name ist"
        ),
    ),
    ("man alle freunde", r" nenn(?:t|en) mich "),
    ("je", r" m'appelle | me (?:nomme|prénomme) "),
    ("mon", r" (?:nom|prénom)(?: complet| de famille| d'usage| de jeune fille)? (?:est|c'est|:) ?"),
    ("on", r" m'appelle "),
    ("moi", r",? c'est " + _C),
    ("me", r" llamo | dicen | chamo | llaman "),
    (
        "mi",
        r" nombre(?: completo| real| de pila| y apellidos?)? ?(?:es|:) ?| apellidos? (?:es|son"
        r"|:) ?| chiamo (?!fuori|in causa|fuor)",
    ),
    ("mis", r" apellidos son "),
    ("il", r" mio (?:nome|cognome)(?: completo)? è "),
    ("meu", r" nome(?: completo)? é "),
    ("chamo", r"-me "),
    ("ik", r" heet "),
    ("mijn", r" (?:volledige )?naam is "),
    ("jag", r" heter "),
    ("jeg", r" (?:hedder|heter) "),
    ("nazywam", r" się "),
)

_LIVE = (
    r"(?:live|reside|stay|dwell|lodge|rent|am living|'m living|am staying|'m staying|am residing|am "
    r"based|'m based|am located)"
)
HOMES = _all(
    "home",
    (
        "i we",
        rf"(?: currently| still| now)? ?{_LIVE}d?(?: right)? (?:at|opposite|behind|next to) "
        r"(?!peace|home\b|night|the moment|the same|an?\b|what|which|my\b|this\b|that\b)",
    ),
    (
        "i we",
        (
            rf"(?: currently| still| now| both| actually| presently| also)? ?{_LIVE}d?(?: right| just| "
            rf"alone| together| now| currently| here| a flat| a room| an apartment| a house)? (?:at|on"
            rf"|near|by|opposite|behind|next to|off|around) {_BROAD}(?=[^?.!]*(?-i:[A-Z])|\d)"
        ),
    ),
    (
        "i we",
        (
            rf"(?: currently| still| now| both| actually| presently| also)? ?{_LIVE}d?(?: right| just| "
            rf"alone| together| now| currently)? in (?:the (?=(?-i:[A-Z])(?!US|UK|U\.S|USA|EU|United"
            rf"|North|South|East|West|Netherlands|Philippines|Bay))|{_BROAD})(?:{_DC}|\w+(?:,| \d| "
            rf"street| road))"
        ),
    ),
    (
        "my our",
        (
            r" (?:\w+ ){0,2}(?:address|residence|domicile|apartment|flat|house|home|place|postcode|zip "
            r"?code|zip|postal code|street)(?: address| number)? ?(?:is|'s|:|=|was)(?: now| currently| "
            r"still| at| in| on| located at)* ?(?!not\b|too\b|so\b|very\b|dynamic|static|public|private"
            r"|wrong|invalid)(?=[^?.]{0,40}\d|(?-i:[A-Z]))"
        ),
    ),
    (
        "my our",
        (
            r" (?:new |old |current |home )?(?:house|home|apartment|flat|place|address) (?:at|on|,|-) "
            r"?(?=\d|(?-i:[A-Z]))"
        ),
    ),
    (
        "i we",
        (
            r"(?:'ve| have)?(?: just| recently)? (?:moved|relocated|moving)(?: house| from \w+)? "
            r"(?:in)?to (?:a (?:flat|house|apartment) (?:at|in|on) )?"
        )
        + _DC,
    ),
    ("i", r" grew up (?:in|on|at) " + _C),
    ("i i", r"(?: am|'m|m) (?:originally )?from " + _C),
    (
        "ship deliver send mail post bring",
        (
            r"(?: it| them| this| the \w+| my \w+| everything){0,2} to (?:me at |my (?:home|house"
            r"|address|place) ?(?:at|in|:|,) ?|us at |our \w+ at )"
        ),
    ),
    (
        "home shipping delivery billing postal mailing residential street wohn liefer",
        r"(?:adresse|anschrift| address) ?[:=] ?(?=\d|(?-i:[A-Z]))",
    ),
    (
        "address adresse anschrift dirección direccion domicilio indirizzo endereço",
        r" ?[:=](?! ?(?:0x|\d{1,3}\.\d)) ?(?=[^\n]{0,40}\d)",
    ),
    (
        "ich wir",
        (
            r" (?:wohne|lebe|wohnen|leben|residiere|bin wohnhaft|bin gemeldet|wohn)(?: (?:derzeit|jetzt"
            r"|aktuell|momentan|noch|zurzeit|gerade|seit \w+|hier)){0,2} (?:in|im|an|am|auf|bei|unter|zu"
            r"|nahe|neben)(?: der| dem| den)? (?!einem\b|einer\b|meinem\b|meiner\b|deutschland"
            r"|österreich|europa|schweiz|süd|nord)"
        ),
    ),
    (
        "ich",
        r" komme (?:ursprünglich )?aus "
        + _C
        + r"| bin (?:[^.?!]{0,20})nach [^.?!]{2,30}gezogen| ziehe (?:\w+ )?nach "
        + _C,
    ),
    (
        "meine",
        (
            r" (?:\w+ )?(?:adresse|anschrift|postleitzahl|plz|wohnung|straße|wohnadresse|heimatadresse"
            r"|postanschrift|lieferadresse)(?: ist| lautet|:| befindet sich) ?(?!nicht|falsch)"
        ),
    ),
    ("wohnhaft", r" (?:in|an|am)\b"),
    (
        "j je",
        (
            r"['’]? ?(?:habite|vis|réside|demeure|loge)(?: actuellement| maintenant| toujours| "
            r"désormais)? (?:(?:à|au|en|aux|dans|sur|rue|avenue|chez|près|\d)(?! un\b| une\b| ville| "
            r"france\b| europe\b)|(?-i:[A-Z]))"
        ),
    ),
    ("j", r"['’]ai (?:déménagé|emménagé) (?:à|au|en|dans)"),
    ("nous", r" (?:habitons|vivons|logeons) (?:à|au|en|\d|rue|dans la rue)"),
    (
        "mon ma notre",
        (
            r" (?:adresse|domicile|code postal|appartement|maison|rue)(?: \w+)? ?(?:est|:|se trouve|se "
            r"situe) ?(?!pas)"
        ),
    ),
    ("je", r" viens (?:de|d')(?: la)? ?" + _C + r"| suis domiciliée? "),
    (
        "vivo resido habito vivimos moro abito abitiamo moramos",
        (
            r"(?: actualmente| ahora| atualmente)? (?:en|con|cerca|por|em|na|no|nas|nos|a|in)(?: el| la| "
            r"los)? (?!un\b|una\b|españa\b|méxico\b|europa\b|italia\b|brasil\b)"
        )
        + r"(?:"
        + _DC
        + r"|calle|avenida|plaza|rua|via)",
    ),
    (
        "mi nuestra",
        (
            r" (?:dirección|domicilio|casa|código postal|piso)(?: \w+)? ?(?:es|está en|está|:|queda en) "
            r"?(?!no\b|muy)"
        ),
    ),
    ("soy", r" (?:de|del) " + _C),
    ("me", r" (?:mudé|he mudado|acabo de mudar) a\b"),
    ("il", r" mio indirizzo(?: \w+)? è"),
    ("meu minha", r" (?:endereço|morada|casa)(?: \w+)? (?:é|fica)"),
    ("ik", r" woon (?:in|op|aan)\b(?! nederland\b| belgië\b| een\b| de stad\b)"),
    ("mijn", r" adres is"),
)

_BIRTHDAY = (
    r" (?:\w+ )?(?:birthday|b-?day|birth ?date|birth ?year|year of birth|date of birth|d\.?o\.?b"
    r"|geburtstag|geburtsdatum|anniversaire|date de naissance|cumpleaños|fecha de nacimiento"
    r"|compleanno|data di nascita|aniversário|"
    r"data de nascimento|verjaardag|geboortedatum)(?: is| was| ist| est| es| è| é| falls|:|=| tombe| "
    r"cae)?(?:'s)?(?: on| am| le| el| the| in| il| der| coming up| next week| today){0,3}[ :]{1,2}" + DATE
)
BORN = _all(
    "birth",
    (
        "born geboren né née nacido nacida nato nata nascido nascida",
        rf"(?:\(e\))?,?(?: on| am| in| le| en| el| il| em| the| im){{0,2}} ?:? ?(?:the )?{DATE}",
    ),
    ("birthday bday", rf" ?(?:is|:|=|on|is on)? ?(?:the )?{DATE}"),
)
"""Told of the speaker where the text says "I" or "my" as well."""

_FORM = (
    r"birth ?day|b-?day|birth ?date|date of birth|d\.?o\.?b|geburtstag|geburtsdatum|anniversaire|date de "
    r"naissance|cumpleaños|fecha de nacimiento|compleanno|aniversário"
)
NEAR_BIRTH = re.compile(
    rf"\b(?:{_FORM})\b[^?!\n]{{0,32}}?\b{DATE}|{DATE}[^?!\n]{{0,24}}\b(?:is|was|ist|est|es|was|as|:"
    rf"|=|\() ?(?:my |mein |mon |ma |mi |the )?(?:{_FORM})\b"
    r"|\b(?:jahrgang|cumplo (?:años|\d+)|ich bin jahrgang|born in|born on|geboren am|geboren im|né "
    r"en|née en|né le|née le|nací|nacida? (?:en|el)) ?(?:the |el |le |en |im )?'?\d\d"
    r"|\bborn (?:on |in )?(?:the )?(?!in\b|on\b)\w+ (?:of )?(?:january|february|march|april|may|june"
    r"|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
"""A birth date near the word for it, told of the speaker where the text says "I" or "my" as well."""

BIRTHS = _all(
    "birth",
    (
        "i we he she",
        (
            rf"(?: was|'m| am| were) born (?:(?:\w+ ){{0,3}}(?:on|in|at) )?(?:the )?(?:{DATE}|\w+ "
            rf"(?:hospital|clinic)|(?=(?-i:[A-Z])))"
        ),
    ),
    (
        "i",
        (
            rf"(?:'ll| will| am| just|'m)? ?(?:turn(?:ed|ing)?|be) \d{{1,3}}(?: years old)?,? (?:on|in"
            rf"|this|next) (?:the )?(?:{DATE}|\w+)"
        ),
    ),
    ("geburtstag", rf" (?:habe|hab|feiere) ich (?:am |im )?{DATE}"),
    ("born", rf" (?:on |in )?(?:the )?{DATE}[^?!\n]{{0,30}}\b(?:i|my|me)\b"),
    ("my our his her their mein meine meinen mon ma mi meu minha mijn sa son su", _BIRTHDAY),
    ("mio minha", _BIRTHDAY),
    (
        (
            "dob birthdate geburtsdatum geb geboren born geboortedatum nacimiento nascita nascimento "
            "naissance birth"
        ),
        rf"\.?(?: am)? ?[:=(] ?{DATE}",
    ),
    ("date", rf" of birth ?(?:is |of |was |: ?|= ?)?{DATE}"),
    ("dob", rf" ?(?:is |of |was )?{DATE}"),
    ("d", rf"\.o\.b\.? ?:? ?{DATE}"),
    ("ich", rf" (?:bin|wurde)\b[^?!\n]{{0,40}}?geboren| habe (?:am |im )?{DATE}"),
    ("geboren", r" (?:wurde|bin) ich"),
    ("nací", r" (?:el|en)\b[^.?!\n]{0,12}(?:\d|(?-i:[A-Z]))"),
    ("je", r" suis née? (?:le|en|à|au)\b"),
    ("sono", r" nat[oa] (?:il|a|nel)\b"),
    ("nasci", r" (?:em|a|no)\b"),
    ("ik", r" ben geboren (?:op|in)\b"),
)

_NO_EMPLOYER = (
    r"(?!home\b|night\b|a\b|an\b|all\b|least|first|once|the same|the moment|any|it\b|me\b|them\b"
    r"|what|which|some|people|others|my(?:self)?\b|free|money|hours|weeks|months|years|\d|most|"
    r"different|several|small|large|python|excel|pandas|react|data|files|numbers|arrays|lists|json"
    r"|git|docker|sql|this|that|these|those|both|exams?|tests?|java|wood|clay|kids|children)"
)
EMPLOYERS = _all(
    "employer",
    (
        "i we",
        (
            r"(?: currently| now| used to| have|'ve| still| also| just){0,2} (?:work(?:ed|ing)?|am "
            r"employed|was employed|been employed|been working|intern(?:ed)?|volunteer(?:ed)?|teach"
            r"|study|studied|started|start)(?: working)?(?: full[ -]time| part[ -]time)?(?: as (?:an? "
            r"|the )?[\w -]{2,40}?)? (?:at|for|with) (?:the )?"
        )
        + _NO_EMPLOYER
        + r"(?=[^?.!,]{0,30}(?-i:[A-Z])|\w+ (?:hospital|school|bank|university|police|council|clinic|post))",
    ),
    (
        "i",
        (
            r"(?: am|'m|m|'ve been| have been| was) (?:currently |now )?(?:employed|working|interning"
            r"|an? [\w -]{2,40}?|the [\w -]{2,40}?|head [\w ]{2,30}?|[\w-]+ (?:engineer|manager|director"
            r"|officer)) (?:at|by|for|with) (?=(?:the )?(?-i:[A-Z]))"
        ),
    ),
    (
        "i",
        (
            r"(?: am|'m|m| was) (?:the |an? )?(?:\w+ )?(?:ceo|cfo|cto|coo|founder|co-founder|owner"
            r"|director|head|president|manager|chair\w*|principal|dean|secretary) (?:of|at) (?:the "
            r")?(?:[\w ]{2,20} at )?"
        )
        + _C,
    ),
    ("ich", r" bin (?:\w+ \w+ )?bei (?:der |dem |den )?[^.?!]{2,30} (?:angestellt|beschäftigt|tätig)"),
    (
        "my our",
        (
            r" (?:current |former |new |old |previous |last )?(?:employer|boss|company|workplace|job"
            r"|firm|work)(?:'s name)?(?: is| was|:|,)(?: called| named| at| with| with the)? ?(?!not\b"
            r"|too\b|so\b|very\b|a\b|an\b|the best|asking|refusing)(?=(?:the )?(?-i:[A-Z\"]))|(?: "
            r"employer| company) (?=(?-i:[A-Z]))"
        ),
    ),
    ("employer arbeitgeber employeur empleador", r" ?: ?(?=\w)"),
    (
        "ich",
        (
            r" (?:arbeite|arbeitete|bin (?:angestellt|beschäftigt|tätig)|jobbe|studiere|unterrichte|bin "
            r"[\w-]+)(?: (?:derzeit|jetzt|seit \w+(?: \w+)?|als [\w-]+)){0,2} (?:bei|beim|für (?:die|das"
            r"|den)?|im|in der|an der) ?(?!einem\b|einer\b|mir\b|home|zu hause|nacht|schlechtem)"
        )
        + _C,
    ),
    ("mein meine unser unsere", r" (?:arbeitgeber|chef|betrieb|firma|arbeitsplatz) (?:ist|heißt)"),
    (
        "je",
        (
            r" (?:travaille|bosse|suis (?:employée?|salariée?|[\wéè]+(?: [\wéè]+)?))(?: comme [\w "
            r"]{2,24}?| actuellement)? (?:chez|pour|à la|à l'|au sein de|à|au) (?!la maison|domicile"
            r"|un\b|une\b|distance|temps)"
        )
        + _C,
    ),
    ("mon ma", r" (?:employeur|patron|entreprise|société|boîte) (?:est|s'appelle)"),
    (
        "trabajo trabajé estoy soy",
        (
            r"(?: empleado| empleada)?(?: actualmente| como [\w ]{2,24}?| de [\w ]{2,20}?| [\w]+)? (?:en"
            r"|para|con) (?:el |la |los )?(?!casa\b|un\b|una\b)"
        )
        + _C,
    ),
    ("mi", r" (?:empleador|empresa|jefe|jefa)(?: actual)? (?:es|se llama)"),
    ("lavoro", r" (?:presso|per|in|alla|da) " + _C),
    ("trabalho", r" (?:na|no|em|para) (?:o |a )?" + _C),
    ("ik", r" werk (?:bij|voor)\b"),
)

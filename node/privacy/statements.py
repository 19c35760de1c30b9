"""What people say about themselves: names, homes, birth dates, employers, accounts, health and legal matters.

Pure. The possessive alone says nothing: "How do I sort my list?" is a knowledge question. A statement has a
form ("my name is …", "I live at …", "born on …"; ``phrases``) or tells a fact of an account, of health or of
the law (``matters``). What stands in quotation marks beside words of translation, grammar, songs and films
is spoken about, not said.
"""

from __future__ import annotations

import re

from node.privacy import matters
from node.privacy.phrases import BIRTHS, BORN, EMPLOYERS, HOMES, NAMES, NEAR_BIRTH, Phrase
from node.privacy.text import Text

_SPEAKS = frozenset(
    # English
    [
        "i",
        "im",
        "my",
        "mine",
        "me",
        "we",
        "our",
        "ours",
        "us",
        "myself",
        "ich",
        "mein",
        "meine",
        "meinem",
        "meinen",
        "meiner",
        "meines",
        "mir",
        "mich",
        "wir",
        "unser",
        "unsere",
        "unserem",
        "unserer",
        "uns",
        "wohnhaft",
        "je",
        "j",
        "moi",
        "mon",
        "ma",
        "mes",
        "nous",
        "notre",
        "nos",
        "on",
        "née",
        "né",
        "yo",
        "mi",
        "mis",
        "me",
        "nos",
        "nuestro",
        "nuestra",
        "soy",
        "vivo",
        "resido",
        "nací",
        "trabajo",
        "trabajé",
        "nacida",
        "nacido",
        "tengo",
        "habla",
        "aquí",
        "mio",
        "mia",
        "miei",
        "sono",
        "abito",
        "abitiamo",
        "eu",
        "meu",
        "minha",
        "chamo",
        "sou",
        "moro",
        "moramos",
        "nasci",
        "lavoro",
        "trabalho",
        "ik",
        "mijn",
        "dit",
        "jag",
        "jeg",
        "nazywam",
        "lg",
        "vg",
        "mfg",
        "br",
        "hugs",
        "warmly",
        "warmest",
        "respectfully",
        "bisous",
        "abrazo",
        "abrazos",
        "his",
        "her",
        "their",
        "calls",
        "called",
        "introduce",
        "présente",
        "presento",
        "vorstellen",
        "under",
        "holder",
        "firmado",
        "signé",
        "unterzeichnet",
        "titulaire",
        "titular",
        "inhaber",
        "kontoinhaber",
        "birthday",
        "bday",
        "geburtstag",
        "ici",
        "te",
        "le",
        "les",
        "namen",
        "name",
        "surname",
        "nombre",
        "nom",
        "nome",
        "cognome",
        "naam",
        "nachname",
        "vorname",
        "apellidos",
        "prénom",
        "dob",
        "born",
        "birth",
        "geburtsdatum",
        "geboren",
        "geb",
        "naissance",
        "nacimiento",
        "regards",
        "sincerely",
        "cheers",
        "yours",
        "best",
        "grüßen",
        "grüsse",
        "grüße",
        "gruß",
        "gruss",
        "cordialement",
        "saludos",
        "saludo",
        "atentamente",
        "thanks",
        "thank",
        "signed",
        "love",
        "wishes",
        "here",
        "speaking",
        "hier",
        "this",
        "it's",
        "ship",
        "deliver",
        "send",
        "mail",
        "post",
        "bring",
        "shipping",
        "delivery",
        "billing",
        "postal",
        "mailing",
        "residential",
        "street",
        "wohnadresse",
        "lieferadresse",
        "address",
        "adresse",
        "anschrift",
        "dirección",
        "domicilio",
        "indirizzo",
        "endereço",
        "employer",
        "arbeitgeber",
        "employeur",
        "empleador",
        "cardholder",
        "patient",
        "passenger",
        "recipient",
        "call",
        "people",
        "friends",
        "everyone",
        "everybody",
        "they",
        "you",
        "folks",
        "man",
        "alle",
        "amitiés",
        "date",
        "d",
    ]
)

_CAP = r"[^\W\d_a-zß-öø-ÿ][\w'’-]{1,24}"
_FULL = (
    rf"(?:[A-Z]\. ?){{0,3}}{_CAP}(?: (?:van|von|de|del|da|di|la|le|el|bin|al|der|den|dos|du|zu"
    rf"|[A-Z]\.))*(?: {_CAP}){{1,3}}"
)
_ANY = r"[^\W\d_][\w'’.-]{0,24}"

_NOT_NAME = re.compile(
    r"(?:\?|!|\"|'?s? ?$|(?:in|on|at|not|no|so|a|an|the|my|your|too|very|also|wrong|misspelled"
    r"|spelled|spelt|pronounced|common|rare|unique|taken|already|showing|displayed|being|what|how"
    r"|why|when|who|"
    r"which|that|this|it|if|and|or|but|by|of|from|to|with|as|for|translated|said|written|used|mean"
    r"|means|changed|different|hard|difficult|important|nicht|falsch|auf|ein|eine|zu|der|die|das"
    r"|sehr|"
    r"en|pas|un|une|le|la|trop|mal|no|muy|el|una|schon|bereits|wie|was|comment|cómo|como|linked"
    r"|associated|listed|called|missing|invalid|incorrect|correct|still|there|here)\b)",
    re.IGNORECASE,
)
# Here only capital letters tell a name from a trade, a mood or a place.
_TITLE = (
    r"(?: (?:[Tt]he|[Dd]r\.?|[Mm]rs?\.?|[Mm]s\.?|[Hh]err|[Ff]rau|[Dd]er|[Dd]ie|[Mm]onsieur|[Mm]adame"
    r"|[Pp]rof\.?|[Pp]rofessor|[Dd]octor|[Dd]octeur|[Cc]aptain|(?:el|la) (?:señora?|doctora?)|señora?"
    r"|don|doña|el|la))?"
)
_PERSON = re.compile(
    rf"(?: am| AM|'m|m| is|'?s| bin| suis|'est| ben| sou| ist| spricht| sou [oa]){_TITLE} "
    rf"(?P<name>{_FULL}|{_CAP})"
)
_PERSON_ALONE = re.compile(rf":?{_TITLE} (?P<name>{_FULL}|{_CAP})")
_HERE = re.compile(
    rf"(?:^|[.!?,\n] ?|\b[Hh](?:i|ello|ey|allo|ola),? )(?P<name>{_FULL}|{_CAP}) (?:here|speaking"
    rf"|hier|am Apparat|à l'appareil|al habla)\b[,.! ]"
)
_SIGNED = re.compile(
    rf"(?:[Rr]egards|[Ss]incerely|[Cc]heers|[Yy]ours(?: truly| faithfully)?|[Bb]est(?: wishes)?|LG"
    rf"|VG|MfG|BR|[Hh]ugs|[Ww]arm(?:ly|est)|[Rr]espectfully|[Bb]isous|[Uu]n abrazo|[Aa]brazos"
    rf"|[Ss]igned|[Tt]hanks|[Tt]hank you|[Gg]r(?:ü|u|ue)(?:ß|ss)en?|[Gg]ru(?:ß|ss)|[Cc]ordialement"
    rf"|[Ss]aludos(?: cordiales)?|[Aa]tentamente|"
    rf"[Uu]n saludo|[Bb]ien à vous|[Aa]mitiés|[Cc]ordiali saluti|[Aa]tenciosamente|[Gg]roet(?:en)?"
    rf"|[Ll]ove)[,.!:]? ?\n? {{0,4}}-? ?(?P<name>{_FULL}|{_CAP})\s{{0,3}}(?:$|\n|\(|,|\.\s*$)"
)
_REVERSED = re.compile(
    rf"(?P<name>{_FULL}|{_CAP}),? ?[(–-]?(?:(?:is |ist |est |es )?(?:mein|my|mon|mi) (?:name|nom"
    rf"|nombre)\b|that'?s me\b|that would be me|das bin ich|c'est moi|soy yo)"
)
_LAST_LINE = re.compile(rf"\n\s{{0,4}}[-–—]{{0,2}} ?(?P<name>{_FULL}|{_CAP})\s{{0,3}}$")
_LABEL = re.compile(
    rf"(?:^|[\n;,.(|] ?)(?:(?:full|first|last|legal|patient|customer|client|applicant|guest"
    rf"|passenger|account|card ?holder|contact|employee|student|tenant|holder|sender|recipient) "
    rf"?(?:'s )?)?"
    rf"(?:name|surname|cardholder|patient|passenger|recipient|nom|prénom|nom et prénom|nombre|nombre "
    rf"y apellidos|apellidos|nachname|vorname|name des patienten|nome|cognome|naam) ?[:=] "
    rf"?(?P<name>{_ANY}(?:,? {_ANY}){{0,3}})",
    re.IGNORECASE,
)
_TITLED = re.compile(
    rf" (?:(?:\w+|ex|late|older|younger|best)[ -]){{0,2}}"
    rf"(?:wife|husband|spouse|partner|fiancée?|son|daughter|child|kid|baby|mother|mom|mum|father|dad"
    rf"|sister|brother|aunt|uncle|grandmother|grandma|grandfather|grandpa|cousin|nephew|niece|boss"
    rf"|colleague|coworker|co-worker|"
    rf"manager|neighbou?r|landlord|landlady|tenant|doctor|therapist|lawyer|teacher|friend|girlfriend"
    rf"|boyfriend|roommate|flatmate|client|patient|student|frau|mann|ehemann|ehefrau|sohn|tochter"
    rf"|mutter|vater|schwester|bruder|"
    rf"chefin?|kollegin?|nachbarin?|vermieterin?|freundin?|femme|mari|épouse|époux|fils|fille|mère"
    rf"|père|sœur|frère|voisine?|patronn?e?|collègue|amie?|esposa|esposo|mujer|marido|hij[oa]|madre"
    rf"|padre|herman[oa]|jef[ea]|vecin[oa]|amig[oa]|"
    rf"moglie|marito|figli[oa]|filh[oa]|vrouw|zoon|dochter),? (?:is |named |called |name is |namens "
    rf"|s'appelle |se llama |heißt |appelée? |llamad[oa] )?(?P<name>(?-i:{_CAP}))",
    re.IGNORECASE,
)
NO_NAMES = frozenset(
    [
        "a",
        "an",
        "and",
        "the",
        "not",
        "no",
        "so",
        "sorry",
        "sure",
        "fine",
        "ok",
        "okay",
        "here",
        "there",
        "just",
        "very",
        "new",
        "also",
        "ai",
        "asking",
        "looking",
        "trying",
        "using",
        "getting",
        "having",
        "wondering",
        "going",
        "working",
        "learning",
        "thinking",
        "interested",
        "curious",
        "aware",
        "happy",
        "glad",
        "afraid",
        "tired",
        "hungry",
        "sick",
        "american",
        "english",
        "british",
        "german",
        "french",
        "spanish",
        "italian",
        "dutch",
        "swiss",
        "swedish",
        "norwegian",
        "danish",
        "finnish",
        "polish",
        "russian",
        "ukrainian",
        "turkish",
        "greek",
        "chinese",
        "japanese",
        "korean",
        "indian",
        "pakistani",
        "brazilian",
        "mexican",
        "canadian",
        "australian",
        "irish",
        "scottish",
        "welsh",
        "portuguese",
        "austrian",
        "nederlander",
        "belg",
        "vlaming",
        "duitser",
        "brasileiro",
        "brasileira",
        "português",
        "portuguesa",
        "tedesco",
        "tedesca",
        "europeo",
        "europea",
        "belgian",
        "african",
        "asian",
        "european",
        "latino",
        "hispanic",
        "arab",
        "arabic",
        "persian",
        "iranian",
        "iraqi",
        "israeli",
        "egyptian",
        "nigerian",
        "kenyan",
        "vietnamese",
        "thai",
        "filipino",
        "indonesian",
        "malaysian",
        "argentinian",
        "colombian",
        "chilean",
        "peruvian",
        "cuban",
        "jamaican",
        "hungarian",
        "czech",
        "slovak",
        "romanian",
        "bulgarian",
        "serbian",
        "croatian",
        "albanian",
        "icelandic",
        "latin",
        "native",
        "black",
        "white",
        "gay",
        "lesbian",
        "bisexual",
        "trans",
        "queer",
        "straight",
        "christian",
        "muslim",
        "jewish",
        "catholic",
        "protestant",
        "orthodox",
        "hindu",
        "buddhist",
        "sikh",
        "atheist",
        "vegan",
        "vegetarian",
        "libertarian",
        "republican",
        "democrat",
        "conservative",
        "liberal",
        "mormon",
        "deutscher",
        "deutsche",
        "österreicher",
        "schweizer",
        "français",
        "française",
        "español",
        "española",
        "italiano",
        "italiana",
        "francés",
        "francesa",
        "alemán",
        "legend",
        "groot",
        "batman",
        "iron",
        "spider",
        "number",
        "sam",
        "spartacus",
        "malala",
        "what",
        "how",
        "why",
        "when",
        "where",
        "who",
        "which",
        "that",
        "this",
        "it",
        "is",
        "my",
        "your",
        "our",
        "his",
        "her",
        "their",
        "if",
        "then",
        "but",
        "or",
        "for",
        "from",
        "to",
        "in",
        "on",
        "at",
        "by",
        "with",
        "as",
        "of",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "python",
        "java",
        "javascript",
        "linux",
        "windows",
        "mac",
        "android",
        "ios",
        "excel",
        "google",
        "facebook",
        "github",
        "apple",
        "amazon",
        "microsoft",
        "docker",
        "kubernetes",
        "react",
        "rust",
        "go",
        "c",
        "sql",
        "html",
        "css",
        "php",
        "ruby",
        "kotlin",
        "swift",
        "git",
        "json",
        "i",
        "you",
        "he",
        "she",
        "we",
        "they",
        "me",
        "all",
        "any",
        "every",
        "many",
        "some",
        "most",
        "one",
        "two",
        "three",
        "true",
        "false",
        "none",
        "null",
        "yes",
        "always",
        "never",
        "ever",
        "both",
        "taurus",
        "aries",
        "gemini",
        "leo",
        "virgo",
        "libra",
        "scorpio",
        "sagittarius",
        "capricorn",
        "aquarius",
        "pisces",
        "dst",
        "utc",
        "gmt",
        "est",
        "pst",
        "cet",
        "usd",
        "eur",
        "btc",
        "eth",
        "gemma",
        "gpt",
        "claude",
        "llama",
        "chatgpt",
        "siri",
        "alexa",
        "copilot",
        "mistral",
        "qwen",
        "gemini",
        "intj",
        "intp",
        "entj",
        "entp",
        "infj",
        "infp",
        "enfj",
        "enfp",
        "istj",
        "isfj",
        "estj",
        "esfj",
        "istp",
        "isfp",
        "estp",
        "esfp",
        "adhd",
        "bmi",
        "rh",
        "type",
        "hiv",
        "covid",
    ]
)

_SPOKEN_ABOUT = frozenset(
    [
        "say",
        "says",
        "said",
        "saying",
        "translate",
        "translates",
        "translated",
        "translation",
        "mean",
        "means",
        "meaning",
        "meant",
        "spell",
        "spelled",
        "pronounce",
        "pronounced",
        "wrote",
        "written",
        "writes",
        "write",
        "sang",
        "sung",
        "sings",
        "song",
        "lyrics",
        "film",
        "movie",
        "book",
        "novel",
        "album",
        "series",
        "show",
        "episode",
        "directed",
        "director",
        "starred",
        "stars",
        "starring",
        "actor",
        "quote",
        "quoted",
        "line",
        "phrase",
        "sentence",
        "refer",
        "refers",
        "reference",
        "espressione",
        "gospel",
        "bible",
        "verse",
        "quotation",
        "expression",
        "expresión",
        "ausdruck",
        "grammar",
        "verb",
        "word",
        "words",
        "author",
        "title",
        "poem",
        "plays",
        "sagt",
        "sage",
        "sagen",
        "sagte",
        "bedeutet",
        "übersetze",
        "übersetzen",
        "übersetzt",
        "übersetzung",
        "lied",
        "satz",
        "dit",
        "dire",
        "signifie",
        "traduire",
        "traduction",
        "chanson",
        "decir",
        "dice",
        "significa",
        "traducir",
        "traduce",
        "traducción",
        "canción",
        "frase",
        "parse",
        "regex",
        "tokenize",
        "tokenizer",
        "string",
        "print",
        "printf",
        "prints",
        "input",
        "output",
        "code",
        "function",
        "program",
        "script",
        "example",
        "greeting",
        "call",
        "called",
    ]
)
_QUOTED = re.compile(r"\"[^\"\n]{1,120}\"|(?<!\w)'[^'\n]{2,120}'(?!\w)")
_TITLES = re.compile(
    r"\b(?:my name is (?:earl|khan|asher lev|joe|nobody|red|lucy barton|sara|rachel corrie|anna|legion"
    r"|alice|barbra|prince|human|jonas|mud|bruce|not susan)|call me (?:by your name|maybe|ishmael"
    r"|irresponsible)|my name is\W*$|"
    r"i am (?:legend|groot|sam|number four|iron man|malala|the walrus|a rock|not your negro|mother"
    r"|wrath|woman|that girl|cuba|setsuna|david|the night))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_STATEMENTS_MAX = 512


_SPEAKER = frozenset(
    [
        "i",
        "im",
        "my",
        "me",
        "we",
        "our",
        "ich",
        "mein",
        "meine",
        "meiner",
        "mich",
        "mir",
        "je",
        "j",
        "mon",
        "ma",
        "mes",
        "moi",
        "soy",
        "yo",
        "mi",
        "mis",
        "me",
        "sono",
        "io",
        "mio",
        "eu",
        "meu",
        "ik",
        "mijn",
    ]
)


_BIRTH_WORDS = frozenset(
    [
        "birthday",
        "bday",
        "birth",
        "birthdate",
        "dob",
        "geburtstag",
        "geburtsdatum",
        "anniversaire",
        "naissance",
        "cumpleaños",
        "nacimiento",
        "compleanno",
        "aniversário",
        "born",
        "geboren",
        "né",
        "née",
        "nací",
        "nacido",
        "nacida",
        "jahrgang",
        "cumplo",
    ]
)


_NEAR = (
    *(
        "birth",
        "bday",
        "b-day",
        "dob",
        "d.o.b",
        "gebor",
        "geburt",
        "anniv",
        "naissance",
        "cumple",
        "cumplo",
        "nac",
    ),
    *("complean", "anivers", "jahrgang", "born", "né"),
)


def _by_first(*phrases: Phrase) -> dict[str, tuple[Phrase, ...]]:
    found: dict[str, list[Phrase]] = {}
    for phrase in phrases:
        for word in phrase.first:
            found.setdefault(word, []).append(phrase)
    return {word: tuple(those) for word, those in found.items()}


_PHRASES = _by_first(*NAMES, *HOMES, *BIRTHS, *BORN, *EMPLOYERS)


def find(read: Text) -> str | None:
    """``self_statement`` or None."""
    if _TRIGGERS.isdisjoint(read.words):
        return None
    shown = _without_titles(read)
    if (
        not _BIRTH_WORDS.isdisjoint(shown.words)
        and not _SPEAKER.isdisjoint(shown.words)
        and any(NEAR_BIRTH.search(part.text) for part in shown.windows(_NEAR, 64, 112))
    ):
        return "self_statement"
    if (
        _begins(shown)
        or _introduces(shown)
        or _SMALL_NAME.search(shown.lower)
        or _SMALL_OTHER.search(shown.lower)
        or matters.states(shown)
    ):
        return "self_statement"
    return None


def _without_titles(read: Text) -> Text:
    """The text without what it only speaks about."""
    if _SPOKEN_ABOUT.isdisjoint(read.words):
        return read
    if _QUOTED.search(read.text) is None and _TITLES.search(read.text) is None:
        return read
    return Text.of(_QUOTED.sub("…", _TITLES.sub("…", read.text)))


def _begins(read: Text) -> bool:
    """Whether a statement begins at one of the words."""
    lower, text = read.lower, read.text
    for word in _WORD.finditer(lower):
        first = word[0]
        for phrase in _PHRASES.get(first, ()):
            found = phrase.rest.match(text, word.end())
            if found is None or (phrase.kind == "name" and not _is_name(read, found.end())):
                continue
            if phrase not in BORN or not _SPEAKER.isdisjoint(read.words):
                return True
        who = _WHO.get(first)
        if who is not None:
            found = who.match(text, word.end())
            if found is not None and _is_somebody(read, first, word.start(), found):
                return True
        if first in matters.OWN and matters.tells(read, word.start(), word.end()):
            return True
    return False


def _is_name(read: Text, start: int) -> bool:
    """Whether what follows can be a name: a capital letter, or a small one that begins no common word."""
    rest = read.text[start : start + 40].lstrip(" \"'*:,-(_")
    if not rest or not rest[0].isalpha():
        return False
    word = _WORD.match(rest)
    if rest[0].isupper() and word is not None and len(word[0]) > 1 and not word[0].isupper():
        return word[0].lower() not in _QUESTION_WORDS
    return _NOT_NAME.match(rest) is None


_QUESTION_WORDS = frozenset(
    [
        "what",
        "how",
        "why",
        "when",
        "who",
        "which",
        "and",
        "but",
        "or",
        "if",
        "is",
        "it",
        "not",
        "can",
        "please",
        "wie",
        "was",
        "warum",
        "comment",
        "pourquoi",
        "qué",
        "cómo",
    ]
)


_SELF = frozenset(["i", "im", "ich", "je", "soy", "sono", "eu", "sou", "ik", "habla", "speaking"])
_WHO = {
    **dict.fromkeys(["i", "it", "this", "ich", "je", "c", "hier", "eu", "ik", "dit"], _PERSON),
    **dict.fromkeys(["im", "ici", "soy", "aquí", "habla", "sono", "sou", "speaking"], _PERSON_ALONE),
    **dict.fromkeys(
        [
            "my",
            "our",
            "mein",
            "meine",
            "meinem",
            "meinen",
            "meiner",
            "meines",
            "unser",
            "unsere",
            "mon",
            "ma",
            "notre",
            "mi",
            "nuestro",
            "nuestra",
            "mio",
            "mia",
            "meu",
            "minha",
            "mijn",
        ],
        _TITLED,
    ),
}
_INTRODUCED: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (_HERE, frozenset(["here", "speaking", "hier", "apparat", "appareil", "habla"])),
    (
        _SIGNED,
        frozenset(
            [
                "regards",
                "sincerely",
                "cheers",
                "yours",
                "best",
                "wishes",
                "signed",
                "thanks",
                "thank",
                "grüßen",
                "grüsse",
                "grussen",
                "gruessen",
                "grüssen",
                "gruß",
                "gruss",
                "grüße",
                "lg",
                "vg",
                "mfg",
                "br",
                "hugs",
                "warmly",
                "warmest",
                "respectfully",
                "bisous",
                "abrazo",
                "abrazos",
                "cordialement",
                "saludos",
                "atentamente",
                "saludo",
                "bien",
                "amitiés",
                "cordiali",
                "atenciosamente",
                "groet",
                "groeten",
                "love",
            ]
        ),
    ),
    (_LAST_LINE, _SPEAKS),
    (_REVERSED, frozenset(["name", "nom", "nombre", "me", "moi", "yo", "ich"])),
    (
        _LABEL,
        frozenset(
            [
                "name",
                "surname",
                "cardholder",
                "patient",
                "passenger",
                "recipient",
                "nom",
                "prénom",
                "nombre",
                "apellidos",
                "nachname",
                "vorname",
                "nome",
                "cognome",
                "naam",
            ]
        ),
    ),
)


_TRIGGERS = frozenset().union(_SPEAKS, _PHRASES, _WHO, matters.OWN, *(words for _, words in _INTRODUCED))
"""Every rule needs one of them: a text without any need not be read further."""


def _introduces(read: Text) -> bool:
    """Names that only their place tells: signatures, labels, "… here"."""
    for expression, needed in _INTRODUCED:
        if needed.isdisjoint(read.words) or (
            expression is _LABEL and ":" not in read.text and "=" not in read.text
        ):
            continue
        for count, found in enumerate(expression.finditer(read.text)):
            if count >= _STATEMENTS_MAX:
                return True
            words = _WORD.findall(found["name"].lower())
            if not words or words[0] in NO_NAMES:
                continue
            if expression is _LABEL and _is_heading(found["name"]):
                continue
            if expression is not _LABEL or (
                words[0] not in _CODE_TYPES
                and len(found["name"]) > 2
                and any(map(str.isupper, found["name"]))
            ):
                return True
    return False


def _is_heading(shown: str) -> bool:
    """Whether capital and small words stand together as in a heading: "Build and test"."""
    words = [word for word in shown.split(",")[0].split() if word.lower() not in _PARTICLES]
    return shown[:1].isupper() and any(word[:1].islower() for word in words)


_PARTICLES = frozenset(
    ["van", "von", "de", "del", "da", "di", "la", "le", "der", "den", "dos", "du", "zu", "ten", "y", "e"]
)


def _is_somebody(read: Text, first: str, start: int, found: re.Match[str]) -> bool:
    """Whether the capitalised words after "I am", "this is" or "my wife" are a name."""
    name = found["name"]
    words = _WORD.findall(name.lower())
    if not words or (found.re is not _TITLED and name.isupper() and len(name) > 1 and len(words) == 1):
        return False
    if words[0] in NO_NAMES and (len(words) == 1 or words[0] not in _ALSO_NAMES or words[1] in NO_NAMES):
        return False
    if found.re is _TITLED or first in _SELF or (first == "hier" and "spricht" in found[0]):
        return True
    said = read.before(start, 32)
    if _PUBLIC_THIS.search(said):
        return False
    if _SPEAKING.match(read.lower, found.end()):
        return True
    if first not in ("this", "hier", "c", "dit"):
        return False
    begins = not said.strip() or said.rstrip().endswith((".", "!", ","))
    return _GREETING.search(said) is not None or (
        begins
        and len(words) > 1
        and re.match(r"[.,]|,? (?:and i|i |my |from)", read.after(found.end(), 8)) is not None
    )


_ALSO_NAMES = frozenset(
    [
        "sam",
        "christian",
        "german",
        "leo",
        "gemini",
        "april",
        "june",
        "august",
        "claude",
        "virgo",
        "black",
        "white",
        "french",
        "english",
        "welsh",
        "irish",
        "may",
        "ruby",
        "swift",
        "gay",
        "holland",
    ]
)
_GREETING = re.compile(
    r"(?:\b(?:hi|hello|hey|hallo|bonjour|hola|good \w+|guten \w+|dear [\w ]{2,20}|salut|servus|moin"
    r"|buenos \w+|buenas \w*)[ ,.!-]{1,3}|there[,.!] )$"
)


_CODE_TYPES = frozenset(
    [
        "str",
        "string",
        "int",
        "varchar",
        "text",
        "char",
        "name",
        "value",
        "required",
        "optional",
        "null",
        "none",
        "true",
        "false",
    ]
)
_SMALL_NAME = re.compile(
    r"\b(?:i am|i'm|im|this is|ich bin|je suis|soy) (?:james|john|robert|michael|mike|david|dave"
    r"|william|bill|richard|joseph|joe|thomas|tom|chris|charles|daniel|dan|matthew|matt|anthony|tony"
    r"|steven|steve|paul|andrew|"
    r"andy|joshua|josh|kevin|brian|george|tim|ron|jason|ryan|jacob|eric|nick|jonathan|larry|justin"
    r"|scott|brandon|ben|sam|greg|alex|patrick|jack|dennis|jerry|tyler|aaron|jose|juan|carlos|luis"
    r"|miguel|pedro|"
    r"antonio|manuel|javier|pablo|diego|mary|patricia|jennifer|jenny|linda|elizabeth|liz|barbara"
    r"|susan|jessica|jess|sarah|sara|karen|lisa|nancy|betty|sandra|ashley|emily|kim|michelle|amanda"
    r"|melissa|"
    r"deborah|stephanie|laura|rebecca|becky|sharon|cynthia|amy|angela|anna|emma|olivia|sophia|sophie"
    r"|mia|maria|marie|ana|carmen|lucia|elena|julia|julie|claire|camille|pierre|jean|luc|louis"
    r"|antoine|"
    r"nicolas|thierry|jürgen|hans|peter|klaus|stefan|markus|lukas|jonas|felix|max|moritz|jan|lena"
    r"|lea|hannah|katharina|sabine|petra|ahmed|ali|fatima|omar|yusuf|priya|raj|wei|li|hiroshi|yuki"
    r"|olga|ivan|"
    r"svetlana|dmitri|ingrid|lars|sven|giulia|marco|luca|giovanni|francesca)\b(?! (?:of arc|wick"
    r"|lennon|and the))"
)
_SMALL_OTHER = re.compile(
    r"\b(?:i am|i'm|im|ich bin|je suis|soy) (?!\w+(?:ing|ed|ly|able|ful|less|ish|ous|ive|ent|ant|ist"
    r"|er|or|an|ese|isch|ig|ien|ienne|eux|euse|iste|ado|ada|ista|ero|era|é|ée)\b)(?!(?:new|not|so"
    r"|here|sure|just|also|back|out|home|fine|ok|okay|sick|"
    r"from|in|on|at|a|an|the|all|very|too|still|now|done|lost|stuck|glad|sad|good|bad|free|late"
    r"|ready|only|more|less|really|neu|hier|nicht|auch|nur|aus|in|im|am|ein|eine|der|die|das|so|sehr"
    r"|krank|müde|fertig|raus|weg|pas|un|une|le|la|en|de|"
    r"à|au|très|ici|bien|seul|seule|malade|no|un|una|el|de|muy|nuevo|nueva)\b)[^\W\d_]{3,14}(?: "
    r"(?:and|und|et|y) (?:i|ich|je|yo|vivo|j)\b| from [a-z]|, \d\d\b| by the way| btw|,? (?:my"
    r"|mein\w*|mon|mi) \w+)"
)
_PUBLIC_THIS = re.compile(r"\b(?:what|who|why|how|which|if|that|whether|think|say|says)\b[^.?!]{0,30}$")
_SPEAKING = re.compile(
    r",? (?:here|speaking|calling|from|writing|again|am apparat|à l'appareil|al habla|at \w)\b"
)

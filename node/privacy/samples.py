"""What looks private and belongs to nobody: numbers that standards and handbooks print as samples, numbers of
public services, lines of films.

Pure. The lists are closed and their sources named; a sample that somebody calls their own stays private, and
so does one that stands alone with no word saying that it is a sample.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from node.privacy.text import Cluster, Text, by_first_letter

_MARKS_MAX = 64
_ALONE = 24
_NEAR = 240


def _words(shown: str) -> frozenset[str]:
    return frozenset(shown.split())


_CARDS = _words(
    # as the handbooks of Stripe, Adyen, PayPal, Braintree and Worldpay print them
    "4242424242424242 4111111111111111 4012888888881881 4222222222222 5555555555554444"
    " 5105105105105100 "
    "378282246310005 371449635398431 378734493671000 6011111111111117 6011000990139424 30569309025904 "
    "38520000023237 3530111333300000 3566002020360505 5200828282828210 2223003122003222"
    " 4917610000000000 "
    "4444333322221111 5454545454545454 4929000000006 4462030000000000 4000056655665556 5019717010103742"
)
_IBANS = _words(
    # the examples of SWIFT's IBAN registry, and of the handbooks that follow it
    "DE89370400440532013000 GB82WEST12345698765432 GB29NWBK60161331926819 GB33BUKB20201555555555 "
    "FR1420041010050500013M02606 FR7630006000011234567890189 NL91ABNA0417164300 CH9300762011623852957 "
    "ES9121000418450200051332 IT60X0542811101000000123456 BE68539007547034 AT611904300234573201 "
    "PL61109010140000071219812874 SE4550000000058398257466 NO9386011117947 DK5000400440116243 "
    "FI2112345600000785 IE29AIBK93115212345678 PT50000201231234567890154 LU280019400644750000 "
    "DE91100000000123456789 DE75512108001245126199 SA0380000000608010167519 TR330006100519786457841326 "
    "GR1601101250000000012300695 CZ6508000000192000145399 HU42117730161111101800000000 "
    "RO49AAAA1B31007593840000 BR1800360305000010009795493C1"
)
_NUMBER = re.compile(r"(?<![\w.])\d(?:[ .-]?\d){8,18}(?![\w]|[.-]\d)")
_ACCOUNT = re.compile(r"(?<![^\W_])[A-Za-z]{2}\d\d(?:[ -]?[A-Za-z0-9]{1,4}){3,8}(?![^\W_])")
_MAIL = re.compile(
    r"(?<![\w.+%:/-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){0,3}(?:example\.(?:com|org|net|edu)|test"
    r"|example|invalid"
    r"|localhost)(?![\w-]|\.\w)"
)
_FICTION_PHONE = re.compile(
    # 555-01xx of North America; Ofcom's numbers for drama
    r"(?<![\w.])(?:\+?1[ .-]?)?(?:\(?\d{3}\)?[ .-]{0,2})?555[ .-]?01\d\d(?!\d)"
    r"|(?<!\w)(?:\+44 ?(?:\(0\) ?)?|0)(?:7700 ?900|20 ?7946 ?0|1632 ?960|113 ?496 ?0|114 ?496 ?0"
    r"|117 ?496 ?0"
    r"|118 ?496 ?0|121 ?496 ?0|131 ?496 ?0|141 ?496 ?0|151 ?496 ?0|161 ?496 ?0|808 ?157 ?0|909 ?879 ?0"
    r"|3069 ?990) ?\d{3}(?!\d)"
)
_ALWAYS = re.compile(
    # numbers void because they were printed; never issued; constants of nature
    r"(?<![\w-])(?:078-?05-?1120|219-?09-?9999|457-?55-?5462|987-65-432\d|666-\d\d-\d{4})(?![\w-])"
    r"|(?<![\w.])(\d)\1{2}[ .-]?(?:\1{3}[ .-]?){1,3}\1{0,4}(?![\w]|[.-]\d)"
    r"|(?<![\w.:])\d{1,3}\.\d{2,12}e[+-]?\d{1,3}(?![\w.:])"
    r"|\b1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\b"
    r"|(?<![\w.])(?:9\.9\.9\.9|149\.112\.112\.1\d?\d?|208\.67\.22[02]\.22[02]|8\.8\.[48]\.[48]"
    r"|1\.[01]\.[01]\.1"
    r"|94\.140\.1[45]\.1[45])(?![\w:]|\.\d)"
    r"|(?<![\w.:-])(?i:00([:-])?11\2?22[.:-]?33\2?44[.:-]?55|aa([:-])bb\3cc\3dd\3ee\3ff)(?![\w:-])"
)
_SHOWN = re.compile(
    r"(?<![\w@./-])(?:"
    + by_first_letter(
        r"examples?|samples?|handbooks?|docs?|documentation|wikipedia|famous|classic|placeholders?|stripe"
        r"|paypal|adyen|braintree|demo|fake|dummy|sandbox|beispiel\w*|muster\w*|exemples?|ejemplos?"
        r"|esempi\w?"
        r"|exemplos?|voorbeeld\w*|eksempel\w*|przykład\w*|invented|reserved|advertis\w+|tutorials?"
        r"|templates?"
        r"|rfc|specification|test(?:s|ing)?|fiction\w*|films?|movies?|series|sitcoms?|drama|luhn|checksum"
        r"|check digits?|regex|validat\w+|mock|fixture|lorem|textbook|teach|exercise"
    )
    + r")(?![^\W_]|\.\w)"
)
_OWN = re.compile(
    r"(?<![^\W_])(?:"
    + by_first_letter(
        r"my|mine|our|ours|me|i|i'm|i've|we|us|her|his|their|mein\w{0,2}|unser\w{0,2}|ich|mir|mon"
        r"|ma|mes|notre"
        r"|je|moi|mi|mis|nuestr[oa]|yo|meu|minha|mio|mia|mijn|ons|ik|block|charge|bill|send"
    )
    + r")(?![^\W_])"
)

_PUBLIC = re.compile(
    r"(?<![^\W_])(?:"
    + by_first_letter(
        r"helplines?|help line|hotlines?|switchboard|press office|crisis|samaritans|emergency"
        r" (?:number|line)"
        r"|hmrc|irs|dvla|nhs|museums?|theatres?|theaters?|opera|box office|embass\w+|consulates?|polic\w+"
        r"|ministr\w+|white house|headquarters|head office|customer (?:service|care)s?|information line"
        r"|info ?line|phone number of|number of (?:the|which)|hotel \w+|city hall|town hall|tourist\w*"
        r"|university|libraries|library|airports?|railway|lost property|poison\w*|seelsorge|bürgertelefon"
        r"|behörden\w*|servicenummer|kundenservice|numéro vert|standard téléphonique|centralita"
        r"|atención al cliente|numero verde|series|sitcom|film|movie|song|episode|which (?:show|hotel)"
        r"|fictional|beach line|speaking clock|zeitansage|number for press"
    )
    + r")(?![^\W_])"
)
_CALLS_OWN = re.compile(
    r"(?<![^\W_])(?:my|mine|our|ours|me|i|i'm|we|us|mein\w{0,2}|unser\w{0,2}|ich|mich|mir|wir"
    r"|mon|ma|mes|notre|nos|je|moi|mi|mis|nuestr[oa]|yo|meu|minha|mio|mia|mijn|ons|ik)(?![^\W_])"
)

_SAID = (
    r"(?:(?:my|the) name(?:'s| is)|i am|i'm|call me|mein name ist|ich bin|ich heiße|je m'appelle|je suis"
    r"|mon nom est|me llamo|mi nombre es|soy|mi chiamo|il mio nome è|meu nome é|mijn naam is)"
)
_SAID_WORDS = _words("name am m call bin heiße heisse appelle suis nom llamo nombre soy chiamo nome naam")
_OF_FICTION = re.compile(
    r"(?<![^\W_])(?:"
    + by_first_letter(
        r"films?|movies?|series|seasons?|episodes?|novels?|sitcoms?|which (?:book|play|song|show|game)"
        r"|was first said|who (?:said|says)|first said|said by|quotes?|famous|catchphrase|museum"
        r"|characters?"
        r"|lyrics|musical|opening (?:line|words)|spielfilm|serien?|roman|zitat|geht auf|stammt (?:von|aus)"
        r"|romans?|réplique|película|serie|novela|frase de|libro|romanzo|filme|boek|anime|manga|opera"
        r"|comics?|cartoon|fairy tale|märchen|joke|witz|letters to him|riddle"
    )
    + r")(?![^\W_])"
)
_QUOTED_LINE = re.compile(rf"\"[^\"\n]{{0,60}}?(?<![^\W_]){_SAID}(?![^\W_])[^\"\n]{{0,160}}\"", re.IGNORECASE)
_BARE_LINE = re.compile(
    rf"(?<![^\W_]){_SAID} (?-i:[^\W\d_][\w'-]{{1,20}})(?: (?-i:[^\W\d_a-zß-ÿ][\w'-]{{1,20}})){{0,2}}",
    re.IGNORECASE,
)
_NAMED_LINE = re.compile(
    rf"(?<![^\W_]){_SAID} (?:bond\b|james bond|inigo montoya|earl\b|hase\b|sherlock holmes|forrest"
    rf" gump|khan\b"
    r"|maximus|legion\b|slim shady|luka\b|groot|iron man|batman|spartacus|ishmael|optimus prime"
    r"|tyler durden"
    r"|gandalf|barry allen|oliver queen|walter white|heisenberg|neo\b|elsa\b|dracula|zorro|don quijote"
    r"|don quixote|kunta kinte|harry potter|frodo|darth vader|captain jack sparrow|rick deckard|ozymandias"
    r"|jean valjean|monte cristo|max mustermann|erika mustermann|john doe|jane doe|mario rossi|juan pérez"
    r"|jean dupont|jan jansen|juan perez)",
    re.IGNORECASE,
)
_OTHERS_OWN = re.compile(r"(?<![^\W_])(?:my|our|mein\w{0,2}|mon|ma|mi|mio|mia|meu|minha|mijn)(?![^\W_])")


def bared(read: Text) -> Text:
    """The text without samples and lines of fiction; itself where it holds none."""
    text = read.text
    if read.has_digit or "@" in text or "aa" in read.lower:
        if len(text) > _ALONE:
            text = _ALWAYS.sub(_unless(read, _always_owned), text)
        shown = _SHOWN.search(read.lower) is not None
        if shown and text:
            sample = _unless(read, _sample_kept)
            text = _each(
                _ACCOUNT, text, sample, lambda found: any(map(_plain(found).upper().startswith, _IBANS))
            )
            text = _each(_NUMBER, text, sample, lambda found: _is_sample_card(_plain(found)))
            text = _MAIL.sub(sample, text)
            text = _FICTION_PHONE.sub(sample, text)
    if not _SAID_WORDS.isdisjoint(read.words):
        text = _without_lines(text)
    return read if text == read.text else Text(text, text.lower())


def is_public_line(read: Text, cluster: Cluster) -> bool:
    """Whether a telephone number is said to be a public service's, a sight's or a story's, nobody's own."""
    before, after = read.before(cluster.start, 110), read.after(cluster.end, 70)
    return (
        _PUBLIC.search(before + " # " + after) is not None
        and _CALLS_OWN.search(before + " # " + after) is None
    )


def _plain(shown: str) -> str:
    return re.sub(r"[ .-]", "", shown)


def _is_sample_card(digits: str) -> bool:
    return (
        digits in _CARDS
        or (len(digits) == 16 and digits.startswith("4000") and "0000" in digits[5:])
        or digits in "01234567890123"
    )


_Judge = Callable[[Text, "re.Match[str]"], bool]


def _unless(read: Text, kept: _Judge) -> Callable[[re.Match[str]], str]:
    """A replacement that leaves what ``kept`` says of; it looks at the words right beside the match, and
    leaves everything after ``_MARKS_MAX`` matches."""
    count = 0

    def replace(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return found[0] if count > _MARKS_MAX or kept(read, found) else "some"

    return replace


def _each(
    expression: re.Pattern[str],
    text: str,
    replace: Callable[[re.Match[str]], str],
    fits: Callable[[str], bool],
) -> str:
    return expression.sub(lambda found: replace(found) if fits(found[0]) else found[0], text)


def _always_owned(_: Text, found: re.Match[str]) -> bool:
    return _is_owned(found)


def _sample_kept(_: Text, found: re.Match[str]) -> bool:
    around = found.string[max(0, found.start() - _NEAR) : found.end() + _NEAR].lower()
    return _is_owned(found) or _SHOWN.search(around) is None


def _is_owned(found: re.Match[str]) -> bool:
    before = found.string[max(0, found.start() - 40) : found.start()].lower()
    after = found.string[found.end() : found.end() + 24].lower()
    return _OWN.search(before + " # " + after) is not None


def _without_lines(text: str) -> str:
    """The text without what a story's person says of themselves."""
    text = _NAMED_LINE.sub("some words", text)
    lower = text.lower()
    if _OF_FICTION.search(lower) is None:
        return text
    outside = _QUOTED_LINE.sub("some words", text)
    if outside != text:
        return outside if _OTHERS_OWN.search(outside.lower()) is None else text
    if "?" in text or " - " in text:
        bare = _BARE_LINE.sub("some words", text)
        if bare != text and _OTHERS_OWN.search(bare.lower()) is None:
            return bare
    return text

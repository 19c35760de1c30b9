"""Names that people give in other forms than "I am …": on documents and labels, in signatures with titles, in
reservations, to whoever takes a message, spelled out, or in small letters after words that leave no doubt.

Pure. A form that could also speak of a place or a work ("reservation for …") needs two words with capital
letters, none of them a word that begins no name. Texts about words, films and songs are left out.
"""

from __future__ import annotations

import re

from node.privacy.statements import NO_NAMES
from node.privacy.text import Text

_W = r"[A-ZÀ-ÖØ-ÞŁŚŽŠČĐ](?:[^\W\d_]|['-](?=[^\W\d_])){1,24}"
_TITLE = (
    r"(?:(?:Dr|Prof|Mrs?|Ms|Miss|Mx|Sir|Rev|Sr|Sra|Dott|Drs|Ing|Dipl\.-Ing|Herr|Frau|Mme|Mlle|Señora?"
    r"|Signora?"
    r"|Sig|Capt|Professor|Doctor|Don|Doña|Sra|Dona)\.? ){0,2}"
)
_PARTICLE = r"(?:van|von|de|del|della|da|di|la|le|der|den|dos|du|zu|ten|ter|bin|al|el|y|e|[A-Z]\.?) "
_TWO = rf"{_TITLE}(?:[A-Z]\. ?){{0,3}}(?P<name>{_W} (?:{_PARTICLE}){{0,3}}{_W}(?: {_W}){{0,2}})"
_ONE = rf"{_TITLE}(?:[A-Z]\. ?){{0,3}}(?P<name>{_W}(?: (?:{_PARTICLE}){{0,3}}{_W}){{0,3}})"
_END = r"(?=\s{0,3}(?:[\"'.,;:!?()\n]|$))"
_CLOSING = (
    r"(?:[Rr]egards|[Ww]ishes|[Ss]incerely|[Ff]aithfully|[Tt]ruly|[Yy]ours|[Cc]heers|[Rr]espectfully"
    r"|[Ss]igned"
    r"|[Gg]r(?:ü|u|ue)(?:ß|ss)en?|[Gg]ru(?:ß|ss)|[Hh]ochachtungsvoll|[Cc]ordialement|[Ss]alutations"
    r"|[Ss]aludos"
    r"|[Aa]tentamente|[Ss]aluti|[Aa]tenciosamente|[Cc]umprimentos|[Gg]roet(?:en|jes)?|[Hh]oogachtend)"
)

_FORMS: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = tuple(
    (frozenset(words.split()), re.compile(form))
    for words, form in (
        (
            "regards wishes sincerely faithfully truly yours cheers respectfully signed grüßen grüße grüssen "
            "gruß gruss grusse gruessen hochachtungsvoll cordialement salutations saludos atentamente saluti "
            "atenciosamente cumprimentos groet groeten groetjes hoogachtend",
            rf"{_CLOSING},?\s{{1,3}}[-–]? ?{_ONE}{_END}",
        ),
        (
            "name nom nombre nome naam",
            rf"\b(?i:(?:my|mein|mon|mi|meu|mijn|mio) (?:\w+ )?(?:name|nom|nombre|nome"
            rf"|naam))\b[^.?!\n]{{0,24}}"
            rf"(?:[,;:-] ?(?:(?i:it's|it is|its|actually|es ist|c'est|es|è|é|het is) )?|\bas ){_TWO}{_END}",
        ),
        ("as als i ich", rf"(?:^|[.!?\n] ?)(?:[Aa]s|[Aa]ls) {_TWO},? (?:I|ich|we|wir|bin)\b"),
        (
            "me myself us moi mich mir mí mim mij yo",
            rf"\b(?i:(?:for|from|by|with|to|of|about|reach|contact|call|email|von|für|mit|bei|an|par|pour"
            rf"|de|à"
            rf"|por|para|per|da|voor|van) (?:me|myself|us|moi|mich|mir|mí|mim|mij)),? ?[,:(] ?{_TWO}{_END}",
        ),
        (
            "speaking talking sprechen parlez habla hablando parla spreekt fala chatting writing",
            rf"\b(?i:you(?:'re| are) (?:now )?(?:speaking|talking|chatting) (?:with|to)|sie sprechen mit"
            rf"|vous parlez (?:à|avec)|(?:está )?habla(?:ndo)? con|(?:sta )?parla(?:ndo)? con|(?:u|je)"
            rf" spreekt met"
            rf"|(?:está a )?fala(?:r|ndo)? com) {_ONE}{_END}",
        ),
        (
            "reservation appointment table prescription reservierung termin réservation reserva prenotazione "
            "guest booking put",
            rf"\b(?i:reservation|appointment|prescription|reservierung|termin|réservation|rendez-vous|reserva"
            rf"|prenotazione|table|booking) (?i:for|für|pour|para|per|under|auf|au nom de|a nombre de) {_TWO}"
            rf"(?= please| at\b| on\b| bitte| um\b|[,.;\n]|$)"
            rf"|\b(?i:put|write|note|list|enter) (?:down )?(?P<title>(?:Mr|Mrs|Ms|Miss|Dr)\.? {_W} {_W})\b",
        ),
        (
            "author speaker patient tenant employee student applicant candidate client customer guest"
            " passenger "
            "traveller traveler attendee participant signatory sender recipient contact profile owner"
            " landlord "
            "buyer seller witness driver resident insured claimant plaintiff defendant caller mieter"
            " mieterin "
            "patientin kunde kundin bewerber bewerberin absender empfänger verfasser locataire élève"
            " inquilino "
            "paciente cliente paziente huurder attn beneficiary borrower employer interviewee subscriber"
            " user "
            "visitor nanny signer member attention",
            rf"(?:^|[\n;|] ?)(?:[A-Z]?[a-z]{{2,12}} )?(?i:author|speaker|patient|tenant|employee|student"
            rf"|applicant"
            rf"|candidate|client|customer|guest|passenger|travell?er|attendee|participant|signatory|sender"
            rf"|recipient|contact|profile|owner|landlord|buyer|seller|witness|driver|resident|insured"
            rf"|claimant"
            rf"|plaintiff|defendant|caller|mieter(?:in)?|patientin|kund(?:e|in)|bewerber(?:in)?|absender"
            rf"|empfänger|verfasser|locataire|élève|inquilino|paciente|cliente|paziente|huurder|attn"
            rf"|attention"
            rf"|beneficiary|borrower|interviewee|subscriber|user|visitor|signer|member)"
            rf"(?: name)? ?[:=] ?[\"']?{_TWO}{_END}",
        ),
        (
            "name vorname prénom nombre nome voornaam firstname",
            rf"\b(?i:(?:first|given|fore) ?name|vorname|prénom|nombre|nome|voornaam)[:,]? {_W}[^.?!\n]{{0,6}}"
            rf"\b(?i:(?:last|family|sur) ?name|nachname|nom|apellidos?|cognome|apelido|achternaam)[:,]? "
            rf"(?P<name>{_W})"
            rf"|\b(?i:(?:last|family|sur) ?name|nachname|nom|apellidos?|cognome|apelido|achternaam)[:,]? {_W}"
            rf"[^.?!\n]{{0,6}}\b(?i:(?:first|given|fore) ?name|vorname|prénom|nombre|nome|voornaam)[:,]? "
            rf"(?P<first>{_W})",
        ),
        (
            "passport badge certificate ticket license licence card tag diploma visa contract nameplate"
            " envelope "
            "deed payslip id ausweis pass urkunde passeport carte pasaporte carné diploma",
            rf"\b(?i:passport|badge|certificate|ticket|licen[cs]e|id|card|name ?tag|diploma|visa|contract"
            rf"|nameplate|envelope|deed|payslip|ausweis|reisepass|urkunde|passeport|pasaporte) (?i:\w+ )?"
            rf"(?i:reads|says|shows|states|bears|lists|should (?:say|read|show|be)|must (?:say|read)"
            rf"|is made out to|is in the name of|lautet auf|steht|au nom de|dice|a nombre de):?"
            rf" [\"']?{_TWO}{_END}",
        ),
        (
            "introducing introduce introduction vorstellen présente presento",
            rf"\b(?i:introduc(?:e|ing) (?:myself|me)|(?:mich )?vorstellen|me présente|me presento|mi"
            rf" presento)"
            rf" ?[:,-]? ?{_ONE}{_END}",
        ),
        (
            "mine me name moi mein mío mio",
            rf"(?:\b(?i:is|are|ist|est|es) )?\b{_TWO}\b[^.!\n]{{0,40}}[.?!,;-]{{1,2}} ?(?i:(?:and )?(?:it's"
            rf"|it is|that's|that is|this is|that'd be)"
            rf" (?:mine|me|my (?:own )?(?:full )?name)|so hei(?:ß|ss)e ich|das bin ich|c'est moi|c'est mon"
            rf" nom"
            rf"|ese soy yo|esa soy yo|sono io|sou eu|dat ben ik)\b",
        ),
        (
            "tell let inform say remind richte dis dile",
            rf"\b(?i:tell|let|inform|remind|say)\b[^.?!\n]{{0,24}} {_TWO} (?:called|rang|phoned|stopped by"
            rf"|came by|dropped by|is (?:here|calling|waiting|running late)|says hi|sends)\b",
        ),
        (
            "hello hi hey hallo hola bonjour salut ciao olá hoi greetings moin servus",
            rf"^(?i:hello|hi|hey|hallo|hola|bonjour|salut|ciao|olá|hoi|greetings|moin|servus)"
            rf"(?: (?:all|there|everyone|team|zusammen|tous|todos))?[!,.:-]{{1,2}} ?{_TWO}(?:,| from| here|"
            rf" -|\.)",
        ),
        (
            "who about wer qui quién chi",
            rf"\b(?i:who am i|who i am|about me|wer bin ich|qui suis-je|quién soy|chi sono)[?:]{{1,2}}"
            rf" ?{_TWO}(?=\s{{0,2}}(?:[,.(\n-]|$))",
        ),
        (
            "user author committer",
            rf"\buser\.name[ =]{{1,3}}[\"']?{_TWO}|--(?:author|committer)[ =][\"']?(?P<other>{_W} {_W})",
        ),
        (
            "it it's hier",
            rf"\b[Ii]t(?:'s| is) {_ONE} (?:here|speaking|calling|again)\b",
        ),
        (
            "appareil apparat habla telefono lijn",
            rf"\b{_ONE} (?:à l'appareil|am Apparat|al habla|al telefono|aan de lijn)\b",
        ),
        (
            "name",
            rf"\b[Nn]ame on (?:my|the|our|his|her) [\w ]{{2,24}} (?:is|should be|must be|reads) {_TWO}{_END}",
        ),
        (
            "it it's",
            rf"\b[Ii]t(?:'s| is) {_ONE} from (?:HR|IT|PR|QA|accounts|accounting|sales|support|work|school"
            rf"|next door"
            rf"|upstairs|downstairs|finance|marketing|reception)\b",
        ),
        ("called named", rf"\b(?i:my|our) [\w' -]{{2,30}} (?:is|are|was) (?:called|named) {_TWO}"),
        ("bio profile intro", rf"\b(?:bio|profile|intro): ?{_TWO},"),
        ("sou", rf"\b[Ss]ou [oa] {_ONE}"),
        (
            "chiamano dicen noemen chamam appelle nennen",
            rf"\b(?i:mi chiamano|tutti mi chiamano|me dicen|me chamam(?: de)?|noemen mij|on m'appelle|mich"
            rf" nennen alle) {_ONE}",
        ),
        (
            "here speaking hier",
            rf"(?:^|[.!,\n] ?)(?:Dr|Prof|Mr|Mrs|Ms|Miss|Sig|Herr|Frau|Mme|Señora?)\.? {_ONE} (?:here"
            rf"|speaking|hier)\b",
        ),
        (
            "undersigned unterzeichnete unterzeichner soussigné soussignée suscrito abajo sottoscritto"
            " assinado",
            rf"\b(?i:undersigned|unterzeichneter?|unterzeichner(?:in)?|soussignée?|abajo firmante"
            rf"|sottoscritt[oa]"
            rf"|abaixo[- ]assinad[oa]|ondergetekende),? {_ONE}",
        ),
        (
            "letter cv resume lebenslauf bewerbung reference recommendation lettre carta",
            rf"\b(?i:cover letter|resume|résumé|cv|lebenslauf|bewerbung|anschreiben|reference letter"
            rf"|letter of recommendation|recommendation letter|lettre de motivation|carta de presentación)"
            rf" (?i:for|of|from|für|von|pour|de|para) {_TWO}{_END}",
        ),
    )
)
_LAST_LINE = re.compile(
    rf"(?:\n\s{{0,4}}[-–—~]{{1,2}} ?{_ONE}|(?:,\n|\n\n)\s{{0,4}}(?P<other>{_W} {_W}))\s{{0,3}}$"
)
_SPELLED = re.compile(r"(?<!\w)(?:[A-Za-z]-){3,20}[A-Za-z](?![\w-])")
_SPELLED_WORDS = frozenset(
    ["name", "surname", "nachname", "vorname", "nom", "nombre", "apellido", "cognome", "naam"]
)
_NOT = (
    r"(?!\w+(?:ing|ed|ly|able|ible|ful|less|ish|ous|ive|ent|ant|ist|est|ese|isch|tion|ness|ment)\b"
    r"|(?:a|an|the|not|no|so|too|very|also|from|of|in|on|at|by|to|as|it|is|are|was|what|how|why|when|who"
    r"|which"
    r"|that|this|new|old|here|sure|just|back|out|home|fine|sick|still|now|done|lost|stuck|glad|sad|good|bad"
    r"|free"
    r"|late|ready|only|more|less|really|all|up|off|down|over|about|with|for|and|or|but|if|my|your|our|their"
    r"|his"
    r"|her|aware|afraid|tired|happy|hungry|sorry|unable|able|pretty|quite|kinda|sort|kind|half|part|full"
    r"|first"
    r"|second|last|next|both|well|better|worse|day|days|year|years|week|month|months|old|yet|again|most|least"
    r"|one|two|three|four|five|into|under|years|can|will|do|does|have|has|had|get|like|look|need|want|think"
    r"|know|writer|teacher|nurse|student|engineer|beginner|newbie|noob|feel|pro|team|guy|girl|man|woman|mom"
    r"|dad"
    r"|behind|between|beyond|against|right|wrong|left|short|tall|rich|poor|weak|strong|fat|thin|bald|deaf"
    r"|blind"
    r"|gay|straight|single|married|vegan|human|real|early|same|different|open|close|near|far|high|low"
    r"|alone)\b)"
)
_SMALL_TWO = re.compile(
    rf"\b(?:i'm|i am|im|name's|my name is) {_NOT}[^\W\d_]{{3,14}} {_NOT}[^\W\d_]{{3,16}}"
    rf"(?: btw\b|,? by the way\b|,? (?:here|speaking)\b|, (?:a|an|and i|from|i|your|the|\d\d)\b| from \w+)"
)
_SMALL_CALLED = re.compile(
    rf"\b(?:i'm|i am|im) {_NOT}[^\W\d_]{{3,14}},? (?:nice|pleased|glad|happy) to meet"
    rf"|\bthis is {_NOT}[^\W\d_]{{3,14}}, your (?:neighbou?r|landlord|landlady|tenant|colleague|teacher"
    rf"|student|nurse)"
    rf"|^(?:hi|hey|hello|yo),? it'?s {_NOT}[^\W\d_]{{3,14}}$"
    rf"|^(?:hi|hey|hello|yo|hallo)[,!]? it'?s {_NOT}[^\W\d_]{{3,12}} (?:here|speaking|again)\b"
    r"|(?:\b(?:you can call me|just call me|please call me|(?:^|[.,!;\n] ?)call me|(?:everyone|everybody"
    r"|people|friends|they all|mates|folks)"
    r" calls? me|my friends call me|i go by|i'm called|i am called|(?:she|he|it|wife|husband|son|daughter"
    r"|boss)"
    rf" goes by)) {_NOT}(?!back\b|crazy|later|tomorrow|today|tonight|names|when|asap|train\b|bus\b|car\b"
    rf"|bike\b"
    r"|foot\b|plane\b|maybe|old-|stupid|weird|lazy|dumb|fast\b|quick)[^\W\d_]{3,14}(?:"
    r" [^\W\d_]{3,14})?(?=[.,!;\n]|$| btw| and\b| but\b|"
    r" online| at work| in class| for short| on stage)"
)
_SPOKEN_ABOUT = frozenset(
    [
        "translate",
        "translates",
        "translated",
        "translation",
        "mean",
        "means",
        "meaning",
        "lyrics",
        "song",
        "film",
        "movie",
        "novel",
        "chapter",
        "scene",
        "character",
        "episode",
        "bedeutet",
        "übersetze",
        "übersetzen",
        "übersetzung",
        "signifie",
        "traduire",
        "traduction",
        "significa",
        "traducir",
        "traduce",
        "traducción",
        "canción",
        "tradurre",
        "canzone",
        "música",
        "vertaal",
        "betekent",
    ]
)
_NEVER = frozenset(
    [
        "new",
        "san",
        "los",
        "las",
        "saint",
        "united",
        "north",
        "south",
        "east",
        "west",
        "visual",
        "power",
        "machine",
        "data",
        "deep",
        "world",
        "grand",
        "mount",
        "lake",
        "great",
        "general",
        "team",
        "senior",
        "junior",
        "lead",
        "head",
        "chief",
        "public",
        "national",
        "international",
        "royal",
        "central",
        "open",
        "free",
        "big",
        "small",
        "high",
        "low",
        "dark",
        "hard",
        "soft",
        "good",
        "best",
        "next",
        "last",
        "first",
        "second",
        "home",
        "house",
        "room",
        "office",
        "business",
        "customer",
        "service",
        "social",
        "media",
        "web",
        "app",
        "user",
        "full",
        "part",
        "time",
        "unit",
        "type",
        "test",
        "model",
        "error",
        "windows",
        "server",
        "option",
        "step",
        "part",
        "section",
        "chapter",
        "table",
        "figure",
        "question",
        "answer",
        "note",
        "notes",
        "example",
        "sample",
        "spring",
        "summer",
        "autumn",
        "winter",
        "christmas",
        "easter",
        "halloween",
        "thanksgiving",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "lorem",
        "john-doe",
        "your",
        "dear",
        "hello",
        "please",
        "thank",
        "thanks",
        "best",
        "kind",
        "yours",
        "jane-doe",
        "sent",
        "get",
        "machu",
        "burj",
        "taj",
        "las",
        "el",
        "la",
        "key",
        "value",
        "not",
        "unknown",
        "anonymous",
        "admin",
        "none",
        "null",
        "n/a",
        "tbd",
        "visual",
        "postgres",
        "mysql",
        "redis",
        "docker",
        "amazon",
        "microsoft",
        "google",
        "apple",
        "credit",
        "debit",
        "golden",
        "red",
        "blue",
        "green",
        "white",
        "black",
        "american",
        "british",
        "german",
        "french",
        "spanish",
        "italian",
    ]
)
_HITS_MAX = 256


def find(read: Text) -> str | None:
    """``self_statement`` or None."""
    words = read.words
    if not _SPOKEN_ABOUT.isdisjoint(words):
        return None
    if not _SPELLED_WORDS.isdisjoint(words) and "-" in read.text and _SPELLED.search(read.text) is not None:
        return "self_statement"
    for needed, form in _FORMS:
        if needed.isdisjoint(words):
            continue
        for count, found in enumerate(form.finditer(read.text)):
            if count >= _HITS_MAX or _is_name(found):
                return "self_statement"
    if "\n" in read.text:
        last = _LAST_LINE.search(read.text, max(0, len(read.text) - 120))
        if last is not None and _is_name(last):
            return "self_statement"
    if _SMALL_FIRST.isdisjoint(words):
        return None
    if _SMALL_TWO.search(read.lower) is not None or _SMALL_CALLED.search(read.lower) is not None:
        return "self_statement"
    return None


_SMALL_FIRST = frozenset(["i", "im", "this", "name", "call", "calls", "called", "goes"])


def _is_name(found: re.Match[str]) -> bool:
    shown = next(filter(None, found.groupdict().values()), "")
    words = [word.strip(".").lower() for word in shown.split()]
    return bool(words) and _NEVER.isdisjoint(words) and words[0] not in NO_NAMES

"""Names, birth dates and addresses that a label or a place in a letter gives away: fields of forms, JSON and
URLs, signatures, people who introduce themselves in small letters.

Pure. A label counts with its sign (``dob=…``, ``"name": "…"``) or in capitals and alone; what a sentence says
of somebody in general ("the name is derived from …") does not.
"""

from __future__ import annotations

import re

from node.privacy.text import Text

_CAP = r"[^\W\d_a-zß-öø-ÿ][\w'-]{1,24}"
_TWO = (
    rf"{_CAP}(?: (?:van|von|de|del|da|di|la|le|der|den|dos|du|zu|ten|ter|[A-Z]\.)){{0,2}}(?: {_CAP}){{1,2}}"
)
_SMALL = r"[^\W\d_]{2,16}(?:['-][^\W\d_]{2,16})?"

_SIGN = r"[\"'*]{0,3} ?[:=(] ?[\"'*]{0,3}"
_DATE = (
    r"(?:(?:19[1-9]\d|20[012]\d)[-./ ]\d{1,2}[-./ ]\d{1,2}|\d{1,2}[-./ ]\d{1,2}[-./ ](?:19[1-9]\d"
    r"|20[012]\d|\d\d)"
    r"|(?:19[1-9]\d|20[012]\d)(?:0[1-9]|1[0-2])[0-3]\d|\d{1,2}(?:st|nd|rd|th|er|\.|º)? ?(?:of "
    r"|de )?[^\W\d_]{3,10}"
    r"\.?,? ?(?:de |of )?'?(?:19[1-9]\d|20[012]\d|\d\d)|[^\W\d_]{3,10}\.? \d{1,2}(?:st|nd|rd"
    r"|th)?,? (?:19[1-9]\d"
    r"|20[012]\d)|\d{1,2} ?- ?[^\W\d_]{3} ?- ?(?:\d\d){1,2})(?!\d)"
)
_BIRTH = (
    r"(?:user_?|customer_?|patient_?|my_?)?(?:d\.? ?o\.? ?b\.?|birth ?_?-?day|b-?day|birth ?_?-?date"
    r"|date[ _-]?of[ _-]?birth|year[ _-]of[ _-]birth|born|geburts(?:datum|tag)|geb(?:\.|oren)?(?: ?datum)?"
    r"|date[ _]de[ _]naissance|naissance|née?(?:\(e\))?(?: le)?|fecha[ _]de[ _]nacimiento"
    r"|f\.? ?nac(?:imiento)?\.?"
    r"|nacimiento|nacid[oa]|data[ _]di[ _]nascita|nascita|nat[oa](?: il)?|data[ _]de[ _]nascimento|nascimento"
    r"|nascid[oa]|geboorte ?datum|geboren|cumpleaños|compleanno|aniversário|verjaardag|anniversaire)"
)
_BIRTH_FIELD = re.compile(
    rf"(?<![^\W_]){_BIRTH}{_SIGN}(?:am |le |el |il |on |op |em )?{_DATE}", re.IGNORECASE
)
_BIRTH_HINTS = (
    *("dob", "d.o.b", "d. o. b", "birth", "bday", "b-day", "born", "gebor", "geburt", "geb", "naiss", "né"),
    *(
        "nac",
        "nasc",
        "nat",
        "cumplea",
        "complean",
        "anivers",
        "annivers",
        "verjaar",
        "world",
        "welt",
        "monde",
    ),
    *("mundo", "turn", "wereld", "horos", "oroscopo", "natal", "zodiac", "star sign", "sternz"),
)
_MY_BIRTH = re.compile(
    rf"\b(?:i|we) (?:came|arrived|was brought|was delivered|entered|popped out"
    rf"|saw the light)\b[^.?!\n]{{0,32}}"
    rf"\b{_DATE}"
    rf"|\bi'?(?: a)?m (?:an? )?(?:proud |true )?{_DATE}[ -](?:baby|child|kid|born)"
    rf"|\b(?:patient|client|child|baby|applicant|insured|employee|customer|daughter|son|infant|wife"
    rf"|husband),? "
    rf"(?:was )?born (?:on )?{_DATE}"
    rf"|\bbirth (?:announcement|notice|card)\b[^?!\n]{{0,48}}\bborn (?:on )?{_DATE}"
    rf"|\b(?:my|his|her|their|our) (?:date of birth|birth ?date|birthday|dob), {_DATE}"
    rf"|\b(?:horoscope|natal chart|birth chart|zodiac|star sign|horoskop|sternzeichen|horóscopo|oroscopo)\b"
    rf"[^.?!\n]{{0,24}}\b(?:me|my|mine|mich|mein|moi|mí|mio)\b[^.?!\n]{{0,16}}{_DATE}"
    rf"|\bich (?:kam|bin|wurde|erblickte)\b[^.?!\n]{{0,40}}\b{_DATE}[^.?!\n]{{0,30}}\b(?:welt|geboren)"
    rf"|\bje suis venue? au monde\b[^.?!\n]{{0,16}}{_DATE}|\bvine al mundo\b[^.?!\n]{{0,16}}{_DATE}"
    rf"|\b(?:sono nat[oa]|nasci|nací|ik ben geboren|ik ben van|ben ik geboren"
    rf"|ben geboren)\b[^.?!\n]{{0,24}}{_DATE}"
    rf"|\b(?:my|our|mein\w{{0,2}}|mon|ma|mi|mio|mia|il mio|meu|minha|mijn|i|we) (?:[\w'-]{{1,16}} ){{0,4}}"
    rf"(?:birth ?day|b-?day|d\.?o\.?b\.?|date of birth|birth ?date|geburtstag|geburtsdatum|anniversaire"
    rf"|date de naissance|cumpleaños|fecha de nacimiento|compleanno|data di nascita|aniversário"
    rf"|data de nascimento|verjaardag|geboortedatum)\b[^.?!\n]{{0,24}}?{_DATE}"
    rf"|\b(?:born|geboren|née?|nacid[oa]|nat[oa]|nascid[oa])(?: on| the| am| le| el| il| op"
    rf"| em){{0,2}} {_DATE}"
    rf"[^.?!\n]{{0,40}}\b(?:i|i'm|my|me|ich|mein\w{{0,2}}|je|mon|ma|yo|mi|io|mio|eu|meu|ik|mijn)\b"
    rf"|\b(?:i|i'm|ich|je|yo|eu|ik)\b[^.?!\n]{{0,40}}\b(?:born|geboren|née?|nacid[oa]|nat[oa]|nascid[oa])"
    rf"(?: on| the| am| le| el| il| op| em){{0,2}} {_DATE}",
)

_NAME_FIELD = re.compile(
    rf"(?<![^\W_])(?:(?i:(?:full|legal|first|last|given|family|user'?s?|customer|client|patient"
    rf"|guest|passenger"
    rf"|contact|billing|shipping|recipient|account|applicant|student|employee|beneficiary|emergency contact)"
    rf"[ _-]?)(?i:(?:legal |full )?names?)"
    rf"|(?i:vor- ?und nachname|voller name|nom complet|nom et prénom|nombre completo|nombre y apellidos?"
    rf"|nome completo|nome e cognome|nome e apelido|volledige naam|voor- en achternaam|beneficiary"
    rf"|beneficiario|begünstigter?|empfänger|destinataire|destinatario|ontvanger|kontoinhaber|titulaire))"
    rf"(?:(?i: and (?:last|family|sur) ?name))?(?:{_SIGN}|,? - ?| )(?P<name>{_TWO})"
)
_NAME_HINTS = (
    *("name", "nom", "naam", "beneficiar", "begünstigt", "empfänger", "destinata", "ontvanger", "inhaber"),
    "titulaire",
)
_JSON_NAME = re.compile(
    r"[\"'](?:full_?|first_?|last_?|family_?|given_?|customer_?|user_?|patient_?|sur|display_?|client_?)?"
    r"(?:name|nom|nombre|nachname|vorname)[\"'] ?[:=] ?[\"']"
    rf"(?P<name>{_TWO})[\"']",
    re.IGNORECASE,
)
_JSON_PART = re.compile(
    rf"[\"'](?:first|last|family|given|sur|middle|vor|nach)_?(?:name|n)[\"'] ?[:=] ?[\"'](?-i:{_CAP})[\"']",
    re.IGNORECASE,
)
_ADDRESS_FIELD = re.compile(
    r"(?<![^\W_])(?:(?:shipping|billing|home|delivery|mailing|street|postal|customer|residential)[ _]?)?"
    r"(?:address(?:_?line_?\d)?|street|adresse|anschrift|direccion|dirección|indirizzo|endereço"
    r"|adres)[\"'] ?[:=] ?"
    r"[\"'](?=[^\"'\n]{0,60}\d)(?=[^\"'\n]{0,60}[^\W\d_]{3})(?!https?:|0x|\d{1,3}\.\d|[^\"'\n]{0,40}@)",
    re.IGNORECASE,
)
_SIGN_OFF = re.compile(
    r"(?:^|[\n.!?,;] ?)(?:(?:kind|best|warm(?:est)?|many|with|all the|yours|mit|viele|liebe|beste|herzliche"
    r"|schöne|freundlichen?|met|vriendelijke|hartelijke|groetjes|cordiali|distinti|cari|un|un caro|bien|très"
    r"|muchas|vielen|besten|meilleures|sincères|com os|melhores|os meus|atentos)\s){0,3}"
    r"(?:regards|wishes|sincerely|faithfully|truly|cheers|best|xoxo|xx+|x|hugs|thanks(?: again| a lot"
    r"| in advance| so much)?|thank you|thx|ta|greetings|respectfully|yours|love|peace|mvg|mfg|lg"
    r"|vg|br|rgds|tia|gr"
    r"|gr(?:ü|u|ue)(?:ß|ss)e?n?|gru(?:ß|ss)|danke(?: schön| im voraus)?|dank|groet(?:en|jes)?|bedankt"
    r"|cordialement|bien à vous|salutations|amicalement|bises|bisous|merci(?: d'avance)?|saludos?|abrazos?"
    r"|besos|gracias(?: de antemano)?|atentamente|saluti|abbracci?o?|grazie(?: mille)?|ciao|atenciosamente"
    r"|cumprimentos|abraços?|obrigad[oa]|beijos)"
    rf"[,.!:]{{0,2}}\s{{0,3}}[-–~]?\s?(?P<name>(?-i:{_CAP})(?: (?:van|von|de|del|da|di|der|den"
    rf"|[A-Z]\.)){{0,2}}"
    rf"(?: (?-i:{_CAP})){{0,2}})\s{{0,3}}(?:$|\n|\(|\.\s*$|,\s*$)",
    re.IGNORECASE,
)
_SIGN_OFF_HINT = re.compile(
    r"\b(?:regards|wishes|sincer|faithf|truly|cheers|best|x|xx+|xoxo|hugs|thank|thx|ta|greet"
    r"|respectf|yours|love|peace|m[v]?fg|mvg"
    r"|lg|vg|br|rgds|tia|gr|gr(?:ü|u|ue)(?:ß|ss)|gru(?:ß|ss)|dank|groet|bedankt|cordial|bien"
    r"|salut|amical|bises|bisous|merci|salud"
    r"|abra|beso|gracias|atent|abbrac|grazie|ciao|atenc|cumpr|obrig|beij|sign|gezeichnet|gez"
    r"|firma|assin|getek)"
)
_BLOCK = re.compile(  # -- \njane doe\nsent from …
    rf"\n-- ?\n\s{{0,4}}(?P<name>{_SMALL}(?: {_SMALL}){{1,2}})\s{{0,3}}(?:$|\n)"
    rf"|^-- ?\n\s{{0,4}}(?P<first>{_SMALL}(?: {_SMALL}){{1,2}})\s{{0,3}}(?:$|\n)"
    rf"|\n(?P<sent>{_SMALL}(?: {_SMALL}){{0,2}})\s{{0,3}}\n(?:sent|gesendet|von meinem|envoyé|enviado|inviato"
    rf"|verzonden|get outlook)",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    rf"\b(?:signed|gezeichnet|gez\.|signé|firmado|firmato|assinado|getekend),? ?:? ?{_SMALL} {_SMALL}\.?\s*$"
)
_NO_PERSON = (
    r"(?!\w+(?:ed|ing|ly)\b|(?:a|an|the|not|no|so|too|very|also|from|of|in|on|at|by|to|as|it|its"
    r"|is|are|was|what"
    r"|how|why|when|who|which|that|this|wrong|misspelled|spelled|spelt|written|pronounced|taken"
    r"|given|common|rare"
    r"|long|short|hard|easy|difficult|derived|based|just|only|still|always|never|unique|invalid"
    r"|required|missing"
    r"|different|like|with|without|correct|incorrect|incorrectly|wrongly|fine|ok|legion|earl|bond)\b)"
)
_SMALL_TOLD = re.compile(
    rf"\bmy (?:[\w-]{{1,12}} ){{0,2}}(?:na[mn]e|naem|nmae|mame|nam)(?:'s)? (?:is )?(?:spel(?:led"
    rf"|t)|written|called|is)"
    rf" {_NO_PERSON}{_SMALL} {_NO_PERSON}{_SMALL}\b"
    rf"|\bthe name is {_NO_PERSON}{_SMALL} {_NO_PERSON}{_SMALL},? (?:with|and i|i\b|by the way|,)"
    rf"|\bthe name'?s {_NO_PERSON}{_SMALL} {_NO_PERSON}{_SMALL}(?:[.,!\n]|$)"
)
_CALLED = re.compile(
    rf"\b[Ii]t(?:'s| is) (?:me|only me|just me)(?: again)?,? (?:{_CAP}(?: {_CAP})?)(?=[.,!\n]|$| from| again)"
    rf"|\b(?:Mein Name|Mon nom|Mi nombre|Meu nome|Mijn naam|My name|Il mio nome) ?[:=] ?{_TWO}"
    rf"|\b[Hh](?:oi|allo|ello|i),? (?:met|ici|hier ist|aquí) {_TWO}(?=[.,!\n])"
    rf"|\b[Ii]t's {_TWO} (?:again|here)\b"
    rf"|[.?!] ?[-~] ?{_TWO}\s{{0,3}}$|\b(?:passenger|tenant|cardholder) {_TWO}(?=[.,!?\n]|$)"
    rf"|\b(?:I|me|ich|moi|yo|io|eu|ik|we|myself) ?\((?P<name>{_TWO})\)"
    rf"|\b(?i:as|sou|sono|soy|ben) (?:o|a|il|la|el|de) (?P<other>{_TWO})"
)
_CALL_ME = re.compile(
    r"\b(?:call me|calls me|nennt mich|nenn mich|appelez-moi|appelle-moi|llámame|llamadme|chiamami|chiamatemi"
    r"|me chamem?(?: de)?|pode me chamar de|noem me|noem mij|mi chiamano|me dicen) "
)
_CALL_NAME = re.compile(rf"(?P<name>{_CAP})(?=[.,!?\n]|$| (?:and|und|et|y|e|en|if|please|for) )")
_I_AM = re.compile(
    r"\b(?:i am|i'm|im|my name is|this is|ich bin|ich heiße|je suis|je m'appelle|soy|me llamo"
    r"|sono|mi chiamo|sou|chamo-me"
    r"|me chamo|ik ben|ik heet) (?:(?:the|der|die|le|la|el|o|a|il|de|dr\.?|mrs?\.?|ms\.?) )?"
)
_I_NAME = re.compile(
    rf"(?P<name>{_TWO})(?=[.,!\n]| (?i:from|and|aus|und|de|et|y|da|di|e|van|uit|en|with|at|here|bei|chez)\b)"
)
_CALLED_HINT = re.compile(
    r"\b(?:it's|it is|me|moi|yo|io|eu|ik|ich|we|myself|soy|sou|sono|call|calls|nennt?|appelez?"
    r"|llámame|llamadme|chiamami"
    r"|chiamatemi|chame|chamem|noem|i|i'm|im|name|this)\b"
)
_SPOKEN = re.compile(
    r"\b(?:who (?:said|sang|wrote)|song|lyrics|novel|film|movie|book|line|phrase|quote|refer\w*"
    r"|mean\w*|translat\w*"
    r"|bedeut\w*|übersetz\w*|signifie|chanson|traduir\w*|significa|canción|canzone|música|liedje|betekent)\b"
)
_NO_NAME = frozenset(
    [
        *(
            "the",
            "not",
            "sorry",
            "sure",
            "here",
            "please",
            "thanks",
            "what",
            "how",
            "why",
            "can",
            "could",
            "is",
        ),
        *(
            "legend",
            "groot",
            "batman",
            "maybe",
            "ishmael",
            "crazy",
            "back",
            "when",
            "where",
            "who",
            "regards",
        ),
        *(
            "python",
            "java",
            "linux",
            "windows",
            "google",
            "english",
            "german",
            "french",
            "spanish",
            "italian",
        ),
        *(
            "american",
            "european",
            "asian",
            "african",
            "muslim",
            "christian",
            "jewish",
            "catholic",
            "buddhist",
        ),
        *(
            "charlie",
            "spartacus",
            "malala",
            "sam",
            "legion",
            "der",
            "die",
            "das",
            "ist",
            "wie",
            "was",
            "new",
            "and",
        ),
        *(
            "type",
            "blood",
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "saturday",
            "sunday",
            "iron",
        ),
        *(
            "sent",
            "team",
            "support",
            "united",
            "los",
            "san",
            "north",
            "south",
            "east",
            "west",
            "native",
            "us",
            "uk",
        ),
    ]
)
_HITS_MAX = 256


def find(read: Text) -> str | None:
    """``self_statement``, ``address`` or None."""
    lower = read.lower
    hinted = any(hint in lower for hint in _BIRTH_HINTS) and any(map(str.isdigit, lower))
    if hinted and (_has_birth_field(read) or (_MY_BIRTH.search(lower) and not _SPOKEN.search(lower))):
        return "self_statement"
    if '"' in lower or "'" in lower:
        if _JSON_NAME.search(read.text) or _JSON_PART.search(read.text):
            return "self_statement"
        if _ADDRESS_FIELD.search(lower):
            return "address"
    return "self_statement" if _is_signed(read) or _is_told(read) else None


def _has_birth_field(read: Text) -> bool:
    """Whether a field holds a birth date, of nobody whom a name before it makes a known person's."""
    for count, found in enumerate(_BIRTH_FIELD.finditer(read.lower)):
        if (
            count >= _HITS_MAX
            or _SOMEBODYS.search(read.text[max(0, found.start() - 48) : found.start()]) is None
        ):
            return True
    return False


_SOMEBODYS = re.compile(
    rf"(?:{_CAP} ){{1,3}}{_CAP}(?:'s?|,|:)? ?$|{_CAP}'s? ?$|(?:de|von|van|of|di) (?:{_CAP} ?){{1,3}}$"
)


def _is_signed(read: Text) -> bool:
    if "\n" in read.text:
        for found in _BLOCK.finditer(read.text):
            words = (found["name"] or found["first"] or found["sent"]).lower().split()
            if _NO_NAME.isdisjoint(words):
                return True
    if _SIGN_OFF_HINT.search(read.lower[-400:]) is None:
        return False
    return (
        any(
            found["name"].split()[0].lower() not in _NO_NAME for found in _SIGN_OFF.finditer(read.text[-400:])
        )
        or _SIGNED.search(read.lower[-120:]) is not None
    )


def _is_told(read: Text) -> bool:
    lower = read.lower
    if any(hint in lower for hint in _NAME_HINTS):
        for count, found in enumerate(_NAME_FIELD.finditer(read.text)):
            if count >= _HITS_MAX or found["name"].split()[0].lower() not in _NO_NAME:
                return True
    if _CALLED_HINT.search(lower) is None or _SPOKEN.search(lower) is not None:
        return False
    misspelled = "nam" in lower or "nane" in lower or "nmae" in lower or "naem" in lower
    if misspelled and _SMALL_TOLD.search(lower) is not None:
        return True
    for count, found in enumerate(_CALLED.finditer(read.text)):
        if count >= _HITS_MAX:
            return True
        if _is_name(found["name"] or found["other"] or found[0].split()[-1]):
            return True
    for start, rest in ((_CALL_ME, _CALL_NAME), (_I_AM, _I_NAME)):
        for said in start.finditer(lower):
            follows = rest.match(read.text, said.end())
            if follows is not None and _is_name(follows["name"]):
                return True
    return False


def _is_name(shown: str) -> bool:
    return _NO_NAME.isdisjoint([word.strip(".,!").lower() for word in shown.split()][:2])

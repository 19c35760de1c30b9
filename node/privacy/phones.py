"""Telephone numbers, international and national.

Pure. An international number needs no word beside it; a national one is taken for one where it is grouped or
begins as numbers of some country do and is valid there, or where a word for telephones stands beside it.
Free are prices, dates, counts, versions and catalogue numbers, calling codes, short numbers (112) and
free-phone lines, which belong to organisations.
"""

from __future__ import annotations

import re
from itertools import pairwise

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberType

from node.privacy.numbers import ARITHMETIC, CANDIDATES_MAX, FIRST_PERSON, is_figure
from node.privacy.samples import is_public_line
from node.privacy.text import Cluster, Text

_WORD = re.compile(
    r"\b(?:call(?:ed)?|phones?|tel|telephone|mobile|cell(?:phone)?|text|txt|sms|whats ?app|signal"
    r"|telegram|viber|fax|ring|dial|reach(?:ed)?|contact|voicemail|"
    r"hotline|landline|number is|number's|number:|numbers? are|anruf\w*|ruf\w*|handy\w*|telefon\w*"
    r"|mobil\w*|festnetz|durchwahl|nummer (?:ist|lautet)|nummer:|erreich\w*|meld\w*|"
    r"appel\w*|téléphon\w*|télécopie|portable|joindre|joignable|numéro (?:est|:)|llam[ae]\w*|llám\w*"
    r"|teléfono|móvil|celular|número (?:es|:)|zap(?:zap)?|whats|wpp|me chama|me liga|bellen|"
    r"chiama\w*|telefono|cellulare|liga\w*|telefone|telem[óo]vel|m[óo]j numer|numer telefonu|(?:il )?mio "
    r"numero|bel me|telefoon\w*|telefonnummer|my "
    r"number|mon numéro|mi número|meine nummer|kontakt|contacto)\b"
)
_LABEL = re.compile(
    r"\b(?:tel|phone|fax|mobile|cell|handy|mobil|telefon|móvil|teléfono|téléphone|portable|whats "
    r"?app|call me(?: at| on)?|text me(?: at| on)?|"
    r"reach me(?: at| on)?|number is|nummer ist|numéro est|número es|extension|ext|durchwahl|call "
    r"(?:us|him|her|mom|dad)(?: at| on)?)[ .:#]{0,3}(?:number|no|nr)?[ .:]{0,2}$"
)
_REGIONS = ("DE", "GB", "FR", "IT", "NL", "AU", "CH", "AT", "BE", "SE", "IN", "JP", "ZA", "IE")
_FREE = (
    PhoneNumberType.TOLL_FREE,
    PhoneNumberType.PREMIUM_RATE,
    PhoneNumberType.SHARED_COST,
    PhoneNumberType.UAN,
)
_NORTH_AMERICAN = re.compile(r"1?[2-9]\d\d[2-9]\d{6}")
_TRIES_MAX = 24


def load() -> None:
    """Read the numbering plans now, not at the first number."""
    phonenumbers.PhoneMetadata.load_all()


def find(read: Text) -> str | None:
    """``phone`` or None."""
    tries = 0
    regions = _regions(read)
    for cluster in read.clusters[:CANDIDATES_MAX]:
        if sum(cluster.lengths) < 7 or cluster.is_dotted_quad:
            continue
        start = cluster.start
        before = read.text[max(0, start - 3) : start]
        if start and (read.text[start - 1].isalpha() or read.text[start - 1] == "_"):
            continue
        if is_public_line(read, cluster):
            continue
        if before.rstrip("( ").endswith("+"):
            tries += 1
            if _international(read, cluster, "+"):
                return "phone"
        elif (cluster.groups[0].startswith("00") and len(cluster.groups[0]) > 3) or cluster.groups[0] == "00":
            tries += 1
            if _international(read, cluster, ""):
                return "phone"
        if (
            _in_brackets(read, cluster)
            or _is_dialled(read, cluster)
            or _national(read, cluster)
            or (regions and _of_region(read, cluster, regions))
        ):
            return "phone"
        if tries > _TRIES_MAX:
            return "too_many_numbers"
    return None


def _international(read: Text, cluster: Cluster, sign: str) -> bool:
    groups = cluster.groups
    for last in range(len(groups), max(0, len(groups) - 3), -1):
        digits = "".join(groups[:last])
        if not 8 <= len(digits) <= 17:
            continue
        number = digits[2:] if not sign else digits
        number = re.sub(r"^(49|43|41|44|33|31|39|32|46|61|27|353)0(?=\d{7})", r"\1", number)  # +49 (0) 30
        try:
            parsed = phonenumbers.parse("+" + number)
        except NumberParseException:
            continue
        if not phonenumbers.is_possible_number(parsed):
            continue
        if phonenumbers.number_type(parsed) in _FREE:
            return _is_told(read, cluster)
        valid = phonenumbers.is_valid_number(parsed)
        grouped = last > 1
        if valid and (
            sign or not is_figure(read, cluster.start, cluster.end, grouped=len(cluster.groups) > 1)
        ):
            return True
        if _is_told(read, cluster) or (sign and grouped):
            return True
    return False


def _in_brackets(read: Text, cluster: Cluster) -> bool:
    """Whether it begins with an area code in brackets: ``(022) 19673``."""
    return (
        len(cluster.groups) > 1
        and cluster.groups[0].startswith("0")
        and 2 <= len(cluster.groups[0]) <= 6
        and cluster.between[0].startswith(")")
        and read.text[cluster.start - 1 : cluster.start] == "("
    )


_DIAL = re.compile(
    r"\b(?:dial|call|ring|phone|text|international format|anrufen|wählen|appeler|llamar|chiamare)\b"
)


def _is_dialled(read: Text, cluster: Cluster) -> bool:
    """Whether words of dialling stand near a number that is grouped or long as telephone numbers are."""
    digits = cluster.digits
    if not read.stands_alone(cluster.start, cluster.end) or not (
        (len(cluster.groups) == 1 and _NORTH_AMERICAN.fullmatch(digits) and len(digits) == 10)
        or (len(cluster.groups) > 1 and digits.startswith("0") and _is_zero_number(digits))
    ):
        return False
    return _DIAL.search(read.before(cluster.start) + " # " + read.after(cluster.end, 56)) is not None


# How some countries group numbers that begin with no 0.
_SHAPES = {
    (3, 2, 2, 2): "ES",
    (5, 5): "IN",
    (2, 5, 4): "BR",
    (3, 4, 4): "CN",
    (1, 3, 3, 2, 2): "RU",
    (3, 3, 2, 2): "CH",
}


def _national(read: Text, cluster: Cluster) -> bool:
    start, end = cluster.start, cluster.end
    thousands = cluster.lengths[0] <= 3 and len(cluster.groups) > 2 and set(cluster.lengths[1:]) == {3}
    grouped = len(cluster.groups) > 2 and not thousands
    if not read.stands_alone(start, end) or is_figure(read, start, end, grouped=grouped):
        return False
    groups = cluster.groups
    if len(groups) > 3 and len({int(two) - int(one) for one, two in pairwise(groups)}) == 1:
        return False  # a series
    if (
        len(groups) == 2
        and cluster.separator == "."
        and not (groups[0].startswith("0") and len(groups[0]) > 2)
    ):
        return _LABEL.search(read.before(start)) is not None
    for first in range(min(len(groups), 4)):
        for last in range(min(len(groups), first + 6), first, -1):
            part = groups[first:last]
            total = sum(map(len, part))
            if not 9 <= total <= 12:
                continue
            if first and "." in cluster.between[first - 1]:
                continue  # the decimals of a fraction
            shape = tuple(map(len, part))
            digits = "".join(part)
            if shape in ((3, 3, 4), (1, 3, 3, 4)) and _NORTH_AMERICAN.fullmatch(digits):
                if digits[-10:-7] in ("800", "888", "877", "866", "855", "844", "833", "900"):
                    return _is_told(read, cluster)
                return True
            if part == groups and (region := _SHAPES.get(shape)) is not None and _is_valid(digits, region):
                return True
            if (
                len(part[0]) > 1
                and digits.startswith("0")
                and set(digits) - {"0", "1"}
                and _is_zero_number(digits)
            ):
                return True
    return _is_told(read, cluster)


def _is_zero_number(digits: str) -> bool:
    return 9 <= len(digits) <= 12 and any(_is_valid(digits, region) for region in _REGIONS)


def _is_valid(digits: str, region: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(digits, region))
    except NumberParseException:
        return False


_SCRIPTS = (
    (re.compile("[\u3040-\u30ff]"), ("JP",)),
    (re.compile("[\uac00-\ud7af]"), ("KR",)),
    (re.compile("[\u3400-\u9fff]"), ("CN", "TW", "HK", "JP", "SG")),
    (re.compile("[\u0900-\u0dff]"), ("IN", "BD", "LK", "NP")),
    (re.compile("[\u0e00-\u0e7f]"), ("TH",)),
    (re.compile("[\u0400-\u04ff]"), ("RU", "UA", "BG", "RS", "KZ", "BY")),
    (re.compile("[\u0370-\u03ff]"), ("GR", "CY")),
    (re.compile("[\u0590-\u05ff]"), ("IL",)),
    (re.compile("[\u0600-\u06ff]"), ("SA", "EG", "AE", "IR", "PK", "MA", "JO", "IQ", "DZ", "LB", "KW")),
)
_TONGUES = (
    (
        r"mit|min|mig|meg|jeg|hvis|hvad|hva|eller|ikke|hvordan|nummer|mobil|og|av|af|er|på|det|til",
        ("DK", "NO"),
    ),
    (r"jag|mitt|min|inte|och|hur|mobilen|numret|på|är", ("SE",)),
    (r"minun|numeroni|puhelin\w*|puhelimeni|olen|onko|miten|mikä|soita", ("FI",)),
    (r"numer|mój|moje|telefonu|komórk\w+|zadzwo\w+|dzwo\w+|na|po|ile|za|nie|do|się|jest|czy|jak", ("PL",)),
    (r"moje|číslo|můj|jsem|jak|je|mobil|volejte|telefonu|prosím|číslem", ("CZ", "SK")),
    (r"meu|minha|número|telemóvel|celular|liga\w*|você|não|telefone|ligar|contacto", ("PT", "BR")),
    (r"mi|número|móvil|llam\w+|teléfono|celular|cómo|qué|fijo", ("ES", "MX", "AR", "CO", "CL", "PE")),
    (r"mio|numero|cellulare|chiama\w*|telefono|sono|come|che", ("IT",)),
    (r"mon|numéro|portable|appel\w*|téléphone|je|joindre|fixe", ("FR", "BE", "CH")),
    (r"meine?|nummer|handy\w*|anruf\w*|telefon|ich|erreich\w*|festnetz", ("DE", "AT", "CH")),
    (r"mijn|nummer|mobiel|bel|ik|telefoon\w*|bellen|gebeld", ("NL", "BE")),
    (r"numaram|cep|telefonum|ara|beni|benim|telefon|için|nasıl", ("TR",)),
    (r"számom|telefonszám\w*|hívj\w*|mobilom|hogy|az|és", ("HU",)),
    (r"numărul|telefonul|meu|sunați\w*|sună\w*|este|și|cum", ("RO", "MD")),
    (r"nomor\w*|saya|hp|telepon|hubungi|bisa|yang", ("ID", "MY")),
    (r"số|tôi|điện|thoại|gọi|của|là", ("VN",)),
    (r"broj|moj|telefona|mobitel|zovi\w*|je|kako", ("HR", "RS", "SI", "BA")),
)
_TONGUE = tuple((re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])"), regions) for words, regions in _TONGUES)
_CALLING = re.compile(
    r"電話|携帯|番号|連絡|电话|電話|手机|手機|号码|號碼|微信|致电|联系|전화|번호|휴대폰|핸드폰|연락|문자"
    r"|телефон|номер|звон|моб|позвон|тел|phone|mobil|tel[eé]f|t[eé]l[eé]ph|number|nummer|num[eé]ro|número"
    r"|numeru?|numărul|broj|číslo|szám|meg på|mig på|puhelin|puhelim|numeroni|komórk|nomor|điện|số"
    r"|numara|cep\b|handy|celular"
    r"|cellulare|telemóvel|portable|sms|whats ?app|viber|telegram|signal|call|text me|ring|anruf"
    r"|ruf|appel|llam"
    r"|chiama|liga|bel(?:len)?\b|dzwo|sun[aă]|hív|ara\b|hubungi|gọi|soita|volej|zovi|zvon|फोन|नंबर"
    r"|मोबाइल|नबर"
    r"|โทร|เบอร|τηλ|κινητ|αριθμ|טלפון|נייד|מספר|هاتف|جوال|رقم|موبايل|تلفن|شماره"
    r"|imei|my|mine|mein|mon|mio|meu|minha|mitt|min\b|mijn|mój|můj|minun"
)
_SERVES = re.compile(r"0120|0800|1588|1577|400")


def _regions(read: Text) -> tuple[str, ...]:
    """The countries where a text's writing or commonest words are at home; none for English."""
    if not read.clusters:
        return ()
    shown = read.lower[:2_000]
    for script, regions in _SCRIPTS:
        if not shown.isascii() and script.search(shown) is not None:
            return regions
    counts = [(len(set(words.findall(shown))), regions) for words, regions in _TONGUE]
    most = max(count for count, _ in counts)
    if most < 2:
        return ()
    return tuple(region for count, regions in counts if count >= most - 1 and count > 1 for region in regions)


def _of_region(read: Text, cluster: Cluster, regions: tuple[str, ...]) -> bool:
    """Whether it is a valid number of one of ``regions``, and words of calling or owning stand near, or it
    begins as only telephone numbers do."""
    start, end = cluster.start, cluster.end
    digits = cluster.digits
    if not 7 <= len(digits) <= 12 or not read.stands_alone(start, end) or is_figure(read, start, end):
        return False
    if _SERVES.match(digits) is not None or set(digits) <= {"0", "1"} or "." in cluster.separator:
        return False
    if len(cluster.groups) == 2 and min(cluster.lengths) < 3 and not digits.startswith("0"):
        return False
    thousands = cluster.lengths[0] <= 3 and len(cluster.groups) > 1 and set(cluster.lengths[1:]) == {3}
    begins = digits.startswith("0") and len(cluster.groups) > 1
    near = _CALLING.search(read.before(start, 60)) or _CALLING.search(read.after(end, 40))
    if near is None and (not begins or len(digits) < 9):
        return False
    if thousands and not digits.startswith("0") and cluster.lengths != (3, 3, 3):
        return False
    return any(_is_valid(digits, region) for region in regions)


def _is_told(read: Text, cluster: Cluster) -> bool:
    """Whether words beside the number say that it is for calling somebody."""
    before = read.before(cluster.start)
    digits = cluster.digits
    if not 7 <= len(digits) <= 17 or (digits.endswith("000") and len(cluster.groups) == 1):
        return False
    if len(cluster.groups) == 2 and any(re.fullmatch(r"(?:19|20)\d\d", group) for group in cluster.groups):
        return False
    if _LABEL.search(before):
        return FIRST_PERSON.search(before) is not None or ARITHMETIC.search(read.after(cluster.end)) is None
    near = _WORD.search(before) or _WORD.search(read.after(cluster.end))
    if near is None:
        return False
    own = FIRST_PERSON.search(before) or FIRST_PERSON.search(read.after(cluster.end))
    return own is not None or (
        9 <= len(digits) <= 13
        and not is_figure(read, cluster.start, cluster.end, grouped=len(cluster.groups) > 1)
    )

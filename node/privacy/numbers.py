"""Numbers that name a person or a person's account: cards, IBANs, national, tax and health numbers, device
numbers.

Pure. Two ways lead here: a number whose check digits and grouping fit a kind of identifier, and any number
or code that stands after the words for one ("passport no.", "Steuer-ID"). Figures of sums, versions, ISBNs,
dates and populations are no identifiers, though one in ten long figures has a fitting check digit: the words
and signs of arithmetic beside a number tell them apart, unless somebody calls the number theirs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from stdnum import ean, iban, isbn, luhn
from stdnum.ar import cuit as ar_cuit
from stdnum.at import vnr as at_vnr
from stdnum.be import nn as be_nn
from stdnum.br import cpf as br_cpf
from stdnum.ca import sin as ca_sin
from stdnum.ch import ssn as ch_ssn
from stdnum.cl import rut as cl_rut
from stdnum.cn import ric as cn_ric
from stdnum.cz import rc as cz_rc
from stdnum.de import idnr as de_number
from stdnum.ee import ik as ee_ik
from stdnum.es import dni as es_dni
from stdnum.es import nie as es_nie
from stdnum.eu import vat
from stdnum.fi import hetu as fi_hetu
from stdnum.fr import nir as fr_nir
from stdnum.ie import pps as ie_pps
from stdnum.in_ import aadhaar as in_aadhaar
from stdnum.it import codicefiscale as it_code
from stdnum.kr import rrn as kr_rrn
from stdnum.mx import curp as mx_curp
from stdnum.mx import rfc as mx_rfc
from stdnum.no import fodselsnummer as no_number
from stdnum.pl import pesel as pl_number
from stdnum.ro import cnp as ro_cnp
from stdnum.se import personnummer as se_number
from stdnum.th import pin as th_pin
from stdnum.tr import tckimlik as tr_number
from stdnum.us import ssn as us_ssn
from stdnum.za import idnr as za_number

from node.privacy.text import Cluster, Text, by_first_letter

CANDIDATES_MAX = 256
"""A text with more groups of long numbers than this is a table, and private: nothing checks it all."""

ARITHMETIC = re.compile(
    r"\b(?:"
    + by_first_letter(
        r"primes|prime (?:numbers?|factors?)|a prime|it prime|is prime|factors?|factori[sz]\w*|divid\w*"
        r"|divisib\w*|times|multipl\w*|plus|minus|squared?|cubed?|roots?|sqrt|sums?|"
        r"hex|hexadecimal|binary|octal|decimal|modul[oe]|mod|digits? (?:of|sum)|population|einwohner\w*"
        r"|habitants|habitantes|"
        r"convert|unix|epoch|timestamps?|milliseconds|isbn|ean|upc|gtin|sku|issn|doi|pmid|arxiv|patent"
        r"|cas|asteroid|fibonacci|"
        r"logarithm|exponent|decimals|rounded|scientific notation|base \d+|integer|primzahl\w*|teiler"
        r"|wurzel|geteilt|mal|quersumme|"
        r"premier|diviseurs?|racine|divisé|multiplié|primo|dividido|raíz|catalog(?:ue)?|block|height"
        r"|fingerprint|proposal|distance|"
        r"barcode|orcid|imo|mmsi|dewey|lccn|oclc|number of|how many"
    )
    + r")\b"
)
_UNIT_AFTER = re.compile(
    r"\s*(?:[*^×÷=%€$£¥₿]|(?:bytes|bits|km|kilomet\w+|met(?:er|re)s|miles|light[ -]years?|years?"
    r"|people|million|billion|digits|"
    r"(?:milli)?seconds|days|votes?|views|subscribers|users|items|rows|records|calls|dollars|euros?"
    r"|usd|eur|gwei|wei|sats?|times|"
    r"einwohner\w*|habitants?|habitantes|jahre|mal|fois|veces)\b)|\s+[+/-]\s+\d"
)
_OPERATOR_AFTER = re.compile(r"\s*[*^×÷=%]|\s+[+/-]\s+\d")
_SIGN_BEFORE = re.compile(
    r"(?:(?:[*^×÷√$€£¥]|(?:(?<![^\W_])[^\W\d_]|[\d)])\s?=)\s?|\d\s+[+/-]\s+|\b(?:sqrt|log|sin|cos"
    r"|ln|exp|abs|prime|factorial|range|int"
    r"|hex|bin)\s?\(\s?)$"
)
FIRST_PERSON = re.compile(
    r"\b(?:"
    + by_first_letter(
        r"my|mine|our|me|i|i'm|we|mein\w{0,2}|ich|mir|mich|unser\w{0,2}|mon|ma|mes|je|moi|notre|j"
        r"|mi|mis|yo|nuestr[oa]|meu|minha|mio|mia|"
        r"mijn|his|her|their|sein\w{0,2}|ihr\w{0,2}|patient|customer|client|kunde|employee|member"
        r"|student|applicant|holder"
    )
    + r")\b"
)

_SUM_BEFORE = re.compile(
    r"(?:(?:[*^×÷√]|(?:(?<![^\W_])[^\W\d_]|[\d)])\s?=)\s?|\b(?:sqrt|log|prime|factorial|int|hex"
    r"|bin)\s?\(\s?|\d\s+[+-]\s+|\b(?:prime "
    r"factors? of|factors? of|square root of|cube root of|digits? of|sum of|convert|factori[sz]e|"
    r"isbn|ean|gtin|barcode|upc|timestamp|primfaktoren von|wurzel (?:aus|von)|racine (?:carrée )?de"
    r"|raíz (?:cuadrada )?de|digits? in)\s?:?\s*)$"
)
_SUM_AFTER = re.compile(
    r"\s*(?:[*×÷%]|\^\d|(?:an? )?(?:prime|perfect square|even|odd|divisible|divided|times|plus|minus|mod"
    r"|in (?:hex\w*|binary|words|seconds)|to (?:hex\w*|binary)|geteilt|mal|durch|divisé|multiplié"
    r"|dividido|wei|satoshis?|bytes|seconds|km|miles|is (?:a )?prime|eine primzahl|un nombre premier"
    r"|primo)\b)|\s+[+]\s+\d|\s+/\s+\d{1,3}\s*[?=]"
)
_CARD_WORD = re.compile(
    r"(?<![^\W_])(?:cards?|cc|ccn|card ?(?:no|nr|num|number)|kk|kartennr|carta|tarj|tdc|cb|visa"
    r"|master ?card|amex|american express|discover|maestro|diners|debit|credit|cvv"
    r"|cvc|expir\w*|exp|karte\w*|kreditkart\w*|"
    r"carte\w*|tarjetas?|cartão|carta|pan|creditcard\w*|kaart\w*|prepaid|iin)(?![^\W_])"
)
_CARD_LENGTHS = (  # the ranges of issuers, and how many digits their cards have
    (re.compile(r"4"), frozenset([16, 19])),
    (re.compile(r"4"), frozenset([13])),
    (re.compile(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|9792"), frozenset([16])),
    (re.compile(r"3[47]"), frozenset([15])),
    (re.compile(r"30[0-59]|3[689]"), frozenset([14, 16, 19])),
    (re.compile(r"6011|64[4-9]|65|62|81|35(?:2[89]|[3-8])|220[0-4]|60|508"), frozenset([16, 17, 18, 19])),
    (
        re.compile(r"50(?:18|20|38)|5893|6304|6390|67(?:0|59|6[1-3]|71)"),
        frozenset([13, 14, 15, 16, 17, 18, 19]),
    ),
)
_FOURS = re.compile(r"(\d{4})(?<!\d\d{4})([^\w\s]{1,3}|\s|[^\w]{2,3}|_)(\d{4})\2(\d{4})\2(\d{4})(?!\d)")
_AMEX = re.compile(r"(3[47]\d\d)(?<!\d\d{4})([^\w\s]{1,3}|\s|_)(\d{6})\2(\d{5})(?!\d)")
_CARD_START = re.compile(
    r"4|5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720)|220[0-4]|3[47]|30[0-5]|3[689]|6011|64[4-9]|65|62"
    r"|35(?:2[89]|[3-8])|50|5[6-9]|6[0-9]|9792|8[12]"
)
_CARD_GROUPS = frozenset(
    [
        (4, 4, 4, 4),
        (4, 6, 5),
        (4, 6, 4),
        (4, 4, 4, 4, 3),
        (4, 4, 4, 1),
        (4, 4, 5),
        (8, 8),
        (6, 10),
        (4, 3, 3, 3),
        (4, 12),
        (4, 4, 8),
        (6, 13),
        (4, 4, 4, 7),
        (4, 8, 4),
        (4, 4, 4, 6),
        (4, 5, 6),
        (5, 5, 5),
        (6, 4, 6),
        (4, 4, 7),
    ]
)

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}[ .-]?[A-Za-z0-9]{4}[ .-]?[A-Za-z0-9]{3}")

_ID_WORDS = re.compile(
    r"(?<![^\W_])(?:"
    + by_first_letter(
        r"ssns?|social[ _]security[ _](?:number|no|num)|ss ?(?:no|nr|number|#)|soc(?:ial)? sec\w*"
        r"|social security|my social|social (?:is"
        r"|number|no)|n\.i\.|ni no|id(?: is|:| ?#)|identi\w+ (?:no|nr|number|code)|identifikationsnummer"
        r"|identidad|identificación|d'identité|insee|n° ?sécu|sécu|titre de séjour|"
        r"citizen\w* (?:number|id|no)|resident\w* (?:registration|permit|card|number|id)|residence "
        r"permit|residencia|aufenthaltstitel|sv-?(?:nummer|nr)|rvnr|kvnr|krankenversicher\w*"
        r"|gesundheitskarte|rut|cui[lt]|dui|ine|nss|afiliación|tessera|rodné|"
        r"(?:order|invoice|ticket|contract|reservation|booking|reference|confirmation|claim|case|meter"
        r"|subscriber|user|client|loyalty|rewards|ref|file|pension|payroll|staff|badge|licen[cs]e|permit"
        r"|certificate) (?:number|no|id|#|nr|code|reference)|"
        r"(?:vertrags|mitglieds|bestell|rechnungs|auftrags|buchungs|zähler|kreditkarten|personal"
        r"|patienten|fall|vorgangs|teilnehmer|führerschein|policen|schaden)-?(?:nummer|nr)|"
        r"numéro (?:de |d'|du )?(?:client|compte|contrat|dossier|commande|adhérent|abonné|police|membre"
        r"|allocataire|permis|carte|série)|n° (?:de |d')?(?:client|compte|contrat|dossier|commande)|"
        r"número de (?:cliente|cuenta|contrato|pedido|póliza|socio|expediente|reserva|afiliado"
        r"|identificación|carnet|licencia|seguro|historia)|social insurance|sin|itin|tin|tax ?(?:id"
        r"|identification|payer|file|number|no|reference)\w*|tfn|utr|nino|ni number|national insurance"
        r"|nhs|"
        r"national id\w*|identity (?:card|number|document)|id (?:card|number|no|nr)|personal (?:id"
        r"|number|code|identification)\w*|passports?|driv(?:er'?s?|ing) li[cs]en[cs]e|"
        r"medicare|medicaid|health (?:card|insurance|id)\w*|insurance (?:number|policy|id)|policy "
        r"(?:number|no|nr)|patient (?:number|id|no)|medical record|mrn|ein|employer identification|"
        r"vat(?: number| id| no| reg\w*)?|ust-?id\w*|umsatzsteuer\w*|steuer\w*|idnr"
        r"|sozialversicherung\w*|rentenversicherung\w*|versicherten\w*|versicherungs\w*"
        r"|personalausweis\w*|ausweis\w*|reisepass\w*|pass-?nr|"
        r"führerschein\w*|krankenkasse\w*|svnr|ahv\w*|matrikel\w*|bsn|burgerservicenummer|numéro de "
        r"sécurité sociale|sécurité sociale|nir|carte d'identité|carte vitale|passeport|permis de "
        r"conduire|numéro fiscal|siret|siren|"
        r"dni|nie|nif|nuss|cif|pasaporte|seguridad social|documento|cédula|curp"
        r"|rfc(?! ?\d{3,4}(?![^\W_]))|cpf|cnpj|rg|codice "
        r"fiscale|partita iva|passaporto|carta d'identità|cartão de cidadão|contribuinte|"
        r"pesel|nip|personnummer|fødselsnummer|cpr|hetu|henkilötunnus|kennitala|aadhaar|aadhar|pan(?: "
        r"card| number)?|voter id|ssnit|my ?number|rrn|nric|fin|hkid|egn|cnp|oib|jmbg|"
        r"imei|meid|imsi|iccid|serial(?: number| no)?|device id|vin|chassis|routing(?: number)?|aba|sort "
        r"code|account (?:number|no|nr|#)|acct|a/c|iban|bic|swift|bank account|konto\w*|kto|blz"
        r"|bankverbindung|depot\w*|"
        r"compte(?: bancaire)?|rib|cuenta|clabe|cbu|conto|kundennummer|kunden-?nr|customer (?:number|no"
        r"|id)|member(?:ship)? (?:number|no|id)|employee (?:number|no|id)|student (?:number|no|id)|"
        r"(?:account|acct|customer|client|patient|case|file|docket|policy|order|booking"
        r"|reservation|membership"
        r"|employee|staff|payroll|member|subscriber|student|claim|ticket|invoice|contract|reference|loan"
        r"|mortgage|enrol?lment|registration|application|visa|permit|prescription|tenant|borrower|employer"
        r"|provider|plan|group|insurance|savings|checking|chart|hospital|matter|complaint|incident|dossier"
        r"|licen[cs]e|passport|service|repair|support|refund|return|parcel|shipment)"
        r"[ _-]?(?:account[ _-]?)?(?:number|num|no|nr|nbr|id|code|ref|reference|card)"
        r"|(?:savings|checking|current|brokerage|bank|under|on|for) account|account(?= ?[:#=]"
        r"| [a-z]{0,4}-?\d[\da-f]{4}| \d{4} \d{4}| \d{1,5}[ -]\d{2})"
        r"|merchant id|uid|pension ref|vertragskonto|rachunku|numer (?:dowodu|klienta|konta|umowy)|αμκα"
        r"|friend code"
        r"|case(?= \d{7})|ref(?= \d[\d/-]{6})|order(?= \d{3}-\d{7})|docket|(?:my|our) (?:order|booking"
        r"|claim|case|ticket|reservation|policy|invoice"
        r"|membership|passport"
        r"|licen[cs]e|loan)|(?:order|booking|policy|invoice|passport|dossier|licen[cs]e"
        r"|reservation|membership|patient) ?[#:]"
        r"|(?:klant|dossier|polis|bestel|order|rekening|lid|personeels|zaak|contract|factuur"
        r"|paspoort|rijbewijs"
        r"|patiënt|boekings|referentie|zorgpolis|verzekerings|ticket|reserverings)-?(?:nummer|nr|code)"
        r"|(?:kunden|dossier|akten|vorgangs|antrags|schadens?|reservierungs|ticket|referenz|pass|steuer"
        r"|versicherungsschein|darlehens|vertragskonto|mandats|beleg|patienten|rezept|studenten"
        r"|mieter|gläubiger)"
        r"-?(?:nummer|nr|kennung|zeichen|id|code)|geschäftszeichen"
        r"|(?:numero|num\.?|n[.°º]|codice|cod\.?) (?:di |del |della |d')?(?:pratica|cliente"
        r"|ordine|conto|polizza"
        r"|contratto|tessera|prenotazione|fattura|socio|matricola|patente|passaporto|paziente"
        r"|utente|fiscale)"
        r"|pratica|polizza|matricola"
        r"|(?:número|numero|num\.?|n[.°º]|nro\.?|código|codigo|cód\.?) (?:de |do |da |del "
        r"|de la )?(?:cliente|conta"
        r"|cuenta|processo|apólice|encomenda|pedido|reserva|contrato|utente|sócio|socio|póliza|poliza"
        r"|expediente|factura|fatura|paciente|carta|pasaporte|passaporte|licencia|matrícula|trámite|caso"
        r"|empleado|afiliado|abonado|siniestro|beneficiário|aluno)|expediente|apólice|póliza|siniestro"
        r"|(?:réf(?:érence)?\.?|numéro|n[.°º]|no|num\.?|code|identifiant) (?:de |d'|du |de la "
        r"|de l')?(?:client"
        r"|compte|dossier|commande|police|contrat|réservation|facture|adhérent|abonné|patient|sinistre"
        r"|passeport|permis|salarié|employé|étudiant|membre|allocataire|ticket|colis|assuré)"
        r"|(?:mon|ma|notre|votre) (?:dossier|commande|sinistre|réservation|facture|contrat)"
        r"|green card|alien number|visa number|booking (?:reference|code)|pnr|record locator|tracking "
        r"number|case number|aktenzeichen|client number|loyalty|frequent flyer|card (?:number|no|nr)"
        r"|kartennummer|numéro de carte|número de tarjeta"
        r"|teudat zehut|ird(?: number| no)?|(?:thai|emirates|civil|citizen|chinese|korean|turkish|israeli"
        r"|indonesian|malaysian|egyptian|saudi|kuwaiti|qatar\w*|state|school|union) id|id(?= \d{7})|bvn"
        r"|nin(?=:? ?\d{6})|cnic"
        r"|mykad|iqama|tc kimlik|kimlik|amka|isikukood|asmens kodas|personas kods|rodné číslo|rodne cislo"
        r"|emšo"
        r"|ppsn?(?: number| no)?|snils|kra pin|niss|rijksregister\w*|registre national|numéro national"
        r"|ehic|ohip|ramq|nhi(?: number)?|chi number|uscis|a-number|residence card|tax code|fiscal code"
        r"|id-?kort|nik(?= \d)|ktp|philsys|gstin?|abn|acn|crn|nrc|ghana card|huduma|cédula de identidad"
        r"|bsb|clubcard|nectar|(?:library|loyalty|rewards|gift|store|travel|oyster|opal|railcard"
        r"|bonus|points"
        r"|vaccination|club|gym|tesco|payback|bahn|kunden|treue|bibliotheks?)[ -]?(?:card|karte|ausweis)"
        r"|conta(?: é| bancária| corrente)?|rekening|bank ?:"
        r"|(?:deposit|pay|transfer|wire|send)\b[\w ]{0,16}(?:in)?to(?= \d{6})"
    )
    + r")(?![^\W\d_])"
)
_ID_TOKEN = re.compile(
    (
        r"(?<![\w.])(?=[A-Z0-9]{0,12}\d)[A-Z0-9]{1,30}(?:[ ./-]{1,3}(?=[A-Z]{0,4}\d"
        r"|[A-Z]\b|[A-Z]{1,4}[-/]\d)[A-Z0-9]{1,12}){0,9}(?!\w)"
    ),
    re.IGNORECASE,
)
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MAY_BE_ID = re.compile(r"\d(?:\d{4}|[ ./-]{1,3}\d|[A-Za-z]{1,2}\d|(?<=[A-Za-z]\d)\d\d)")
_OWN_NUMBER = re.compile(
    r"\b(?:my|our|mein\w{0,2}|unser\w{0,2}|mon|ma|notre|mi|nuestr[oa]|meu|minha|mio|mia|mijn|his"
    r"|her)\b (?:(?!part |model |source )[\w'-]{1,20} ){0,4}"
    r"(?:number|nr|no|id|code|reference|ref|nummer|kennung|zeichen|numéro|numero|référence|número"
    r"|referencia|código|account|konto|compte|cuenta|policy|licen[cs]e)\b\.?"
    r"(?: ?[:=#]| is| ist| lautet| est| es| é)? ?(?:"
    r"(?!prints|returns|gives|shows|throws|exits?|runs|outputs|says|error)[\w-]{1,10}"
    r" ){0,2}(?=[A-Za-z0-9]{0,8}\d)([A-Za-z0-9]{1,20}(?:[ ./-]\d{1,8}){0,5})"
)

_ID_WORDS_ELSEWHERE = """
    身份證 身分證 身份证 居民身份 護照 护照 駕照 驾照 驾驶证 健保卡 社保卡 社保号 統一證號 居留證 通行證
    マイナンバー 個人番号 免許証 旅券 パスポート 保険証 在留カード 年金番号
    주민번호 주민등록 여권 운전면허 외국인등록 건강보험증
    आधार पासपोर्ट บัตรประชาชน เลขประจำตัว พาสปอร์ต
"""
_ID_WORDS_ALONE = """
    инн снилс паспорт паспорта паспорте загранпаспорт загранпаспорта полис полиса
    егн лнч јмбг єдрпоу рнокпп іпн
    лична_карта личната_карта личен_номер иин водительского водительских прав посвідчення
    αφμ αμκα αδτ ταυτότητα ταυτότητας ταυτότητά διαβατήριο διαβατηρίου
    תעודת_זהות תעודת_הזהות מספר_זהות ת.ז ת״ז דרכון הדרכון
    رقم_الهوية رقم_هويتي الرقم_القومي رقمي_القومي رقم_قومي هويتي جواز_سفر جواز_سفري جواز_السفر
    إقامتي رقم_الإقامة     کد_ملی شماره_ملی căn_cước cccd cmnd hộ_chiếu mã_số_thuế
"""


def _folded_words(words: str) -> str:
    return "|".join(re.escape(Text.of(word.replace("_", " ")).lower) for word in words.split())


_ID_ELSEWHERE = re.compile(
    rf"(?:{_folded_words(_ID_WORDS_ELSEWHERE)}|(?<!\w)(?:{_folded_words(_ID_WORDS_ALONE)})(?!\w))"
    r"[^.?!。？！\n]{0,24}?(?<![a-z0-9])([a-z]{0,3}[ -]?\d(?:[ ./-]?[a-z0-9]){5,18})(?![a-z0-9])"
)
"""Words for identifiers in other writing, of which some has no blanks, and the code behind."""

_SORT_CODE = re.compile(r"(?<![\d-])\d\d-\d\d-\d\d[ ,/;]{1,3}(?:acc?\w{0,6}\.? ?(?:no\.? ?)?)?\d{8}(?!\d)")
"""A British sort code and the account after it."""


def load() -> None:
    """Read the libraries' tables now, not at the first number."""
    iban.is_valid("DE89370400440532013000", check_country=False)
    isbn.is_valid("9783161484100")
    us_ssn.is_valid("536-90-4399")
    cn_ric.is_valid("11010519491231002X")
    for country in vat.MEMBER_STATES:
        vat.is_valid(f"{country}00000000")


def find(read: Text) -> str | None:
    """``card``, ``iban``, ``national_id``, ``device_id``, ``account``, ``too_many_numbers`` or None."""
    clusters = read.clusters
    if len(clusters) > CANDIDATES_MAX:
        return "too_many_numbers"
    if _iban(read):
        return "iban"
    for cluster in clusters:
        if (reason := _checked(read, cluster)) is not None:
            return reason
    if _card_in_fours(read):
        return "card"
    if clusters and _SORT_CODE.search(read.lower) is not None:
        return "account"
    if _coded(read) or _elsewhere(read):
        return "national_id"
    return _named(read)


def _elsewhere(read: Text) -> bool:
    """A code behind a word of another writing for an identifier."""
    if read.text.isascii():
        return False
    return any(sum(map(str.isdigit, found[1])) >= 6 for found in _ID_ELSEWHERE.finditer(read.lower))


def _card_in_fours(read: Text) -> bool:
    """Cards whose groups are parted by signs that no other number has between its groups."""
    for expression in (_FOURS, _AMEX):
        for found in expression.finditer(read.text):
            digits = re.sub(r"\D", "", found[0])
            if (
                _is_issued(digits)
                and luhn.is_valid(digits)
                and not (found[2] == "," and read.after(found.end(), 2).strip()[:1] == ",")
            ):
                return True
    return False


def _is_issued(digits: str) -> bool:
    """Whether an issuer gives out cards that begin so and have that many digits."""
    return any(len(digits) in lengths and start.match(digits) for start, lengths in _CARD_LENGTHS)


def is_figure(read: Text, start: int, end: int, *, grouped: bool = False) -> bool:
    """Whether a number is an operand, a count or a catalogue's number, and nobody calls it theirs. Of one
    that is ``grouped`` as identifiers are, only signs right beside it say so."""
    before = read.before(start, 56)
    if (
        (_OPERATOR_AFTER if grouped else _UNIT_AFTER).match(read.lower, end)
        or _SIGN_BEFORE.search(before)
        or (not grouped and (ARITHMETIC.search(before) or ARITHMETIC.search(read.after(end, 32))))
    ):
        return FIRST_PERSON.search(before) is None
    return False


# --- what check digits tell -----------------------------------------------------------------------


def _checked(read: Text, cluster: Cluster) -> str | None:
    if sum(cluster.lengths) < 9 or cluster.is_dotted_quad:
        return None
    for one, start, end in _parts(read, cluster):
        digits = one.digits
        alone = read.stands_alone(start, end)
        if len(digits) >= 13 and (alone or _is_glued(read, start, end)) and _is_card(read, one, start, end):
            return None if _is_operand(read, start, end) else "card"
        if not alone and one.lengths != (3, 2, 4):
            continue
        reason = _national(read, one, start, end)
        if reason is not None and not is_figure(read, start, end, grouped=len(one.groups) > 1):
            return reason
    return None


def _parts(read: Text, cluster: Cluster) -> Iterator[tuple[Cluster, int, int]]:
    """The cluster whole, and its runs of neighbouring groups of 9 to 19 digits: a number and the date
    after it stand close together as well."""
    starts, ends, place = [], [], cluster.start
    for count, group in enumerate(cluster.groups):
        starts.append(place)
        ends.append(place + len(group))
        place = ends[-1] + (len(cluster.between[count]) if count < len(cluster.between) else 0)
    groups = cluster.groups
    if all(len(group) == 1 for group in groups):
        if 9 <= len(groups) <= 19:
            yield cluster, cluster.start, cluster.end
        return
    for first in range(min(len(groups), 64)):
        total = 0
        for last in range(first, min(len(groups), first + 8)):
            total += len(groups[last])
            if total > 19:
                break
            if total >= 9:
                part = Cluster(
                    starts[first], ends[last], groups[first : last + 1], cluster.between[first:last]
                )
                yield part, starts[first], ends[last]


_GLUED_BEFORE = re.compile(r"(?:(?<![\d.,])[^\W\d_]{0,16}_?|(?<!\d)[.,])$")
_GLUED_AFTER = re.compile(r"_?(?:(?:exp|cvv|cvc|valid)\d{2,6}|[^\W\d_]{0,8})(?![^\W_])")


def _is_glued(read: Text, start: int, end: int) -> bool:
    """Whether only letters of a word are written together with the number: ``card4111…``, ``…1111exp``."""
    return (
        _GLUED_BEFORE.search(read.before(start, 20)) is not None
        and _GLUED_AFTER.match(read.after(end, 12)) is not None
        and read.text[end : end + 1] not in (".", ",")
    )


def _is_operand(read: Text, start: int, end: int) -> bool:
    """Whether signs or words of arithmetic stand right beside a number that could be a card's."""
    before, after = read.before(start, 40), read.after(end, 24)
    return _SUM_BEFORE.search(before) is not None or _SUM_AFTER.match(after) is not None


def _is_card(read: Text, one: Cluster, start: int, end: int) -> bool:
    digits, lengths = one.digits, one.lengths
    if not 13 <= len(digits) <= 19:
        return False
    around = read.before(start, 64) + " " + read.after(end, 40)
    named = _CARD_WORD.search(around) is not None
    personal = FIRST_PERSON.search(around) is not None or "cvv" in around or "exp" in around
    if not _CARD_START.match(digits):
        return named and personal and len(digits) in (15, 16)
    single = len(lengths) == 1 or set(lengths) == {1}
    thousands = lengths[0] <= 3 and set(lengths[1:]) == {3}
    if not single and lengths not in _CARD_GROUPS and not named and (min(lengths) < 2 or thousands):
        return False
    if not single and lengths not in _CARD_GROUPS and not named and not _is_issued(digits):
        return False
    if all(
        length == 4 and "1500" <= group <= "2100" for length, group in zip(lengths, one.groups, strict=True)
    ):
        return False
    if luhn.is_valid(digits):
        return named or not single or (_is_issued(digits) and not _is_catalogued(read, digits, start))
    return named and (personal or lengths in _CARD_GROUPS)


_CATALOGUE = re.compile(r"\b(?:ean|gtin|barcode|upc|isbn|issn|timestamps?|epoch|unix|snowflake|tracking)\b")


def _is_catalogued(read: Text, digits: str, start: int) -> bool:
    """Whether a number of thirteen digits is as likely a product's or a point of time."""
    return len(digits) == 13 and (
        ean.is_valid(digits) or _CATALOGUE.search(read.before(start, 48)) is not None
    )


_Check = Callable[[str], bool]

# By the lengths of the groups: what is written so, and whether the check digits fit.
_GROUPED: dict[tuple[int, ...], tuple[tuple[str, str, _Check], ...]] = {
    (3, 2, 4): (
        ("-/_", "national_id", lambda digits: digits[:3] != "000"),
        (" .", "national_id", us_ssn.is_valid),
    ),
    (3, 3, 3): (("-", "national_id", ca_sin.is_valid),),
    (6, 4): (
        ("-+", "national_id", lambda digits: _is_date(digits[:6])),
        ("/", "national_id", cz_rc.is_valid),
    ),
    (4, 6): ((" -", "national_id", lambda digits: at_vnr.is_valid(digits) and _is_date(digits[4:])),),
    (6, 2, 4): (("-", "national_id", lambda digits: _is_date(digits[:6])),),
    (2, 8, 1): (("-", "national_id", ar_cuit.is_valid),),
    (1, 4, 5, 2, 1): (("- -", "national_id", th_pin.is_valid),),
    (2, 3, 3, 1): ((".- -", "national_id", cl_rut.is_valid),),
    (8, 4): (("-+", "national_id", se_number.is_valid),),
    (6, 5): ((" -", "national_id", no_number.is_valid),),
    (6, 7): (("-", "national_id", kr_rrn.is_valid),),
    (3, 3, 3, 2): ((".- -./", "national_id", br_cpf.is_valid),),
    (2, 2, 2, 3, 2): ((".- -", "national_id", be_nn.is_valid),),
    (6, 3, 2): ((".- -", "national_id", be_nn.is_valid),),
    (3, 4, 4, 2): ((". -", "national_id", ch_ssn.is_valid),),
    (4, 4, 4): ((" -", "national_id", in_aadhaar.is_valid),),
    (1, 2, 2, 2, 3, 3, 2): ((" .-", "national_id", fr_nir.is_valid),),
    (13, 2): ((" ", "national_id", fr_nir.is_valid),),
    (6, 4, 3): ((" -", "national_id", za_number.is_valid),),
    (6, 4, 2, 1): ((" ", "national_id", za_number.is_valid),),
    (2, 3, 3, 3): ((" ", "national_id", de_number.is_valid),),
    (11,): (
        ("", "national_id", pl_number.is_valid),
        ("", "national_id", no_number.is_valid),
        ("", "national_id", tr_number.is_valid),
        ("", "national_id", br_cpf.is_valid),
        ("", "national_id", be_nn.is_valid),
        ("", "national_id", ee_ik.is_valid),
    ),
    (13,): (
        ("", "national_id", za_number.is_valid),
        ("", "national_id", ro_cnp.is_valid),
        ("", "national_id", kr_rrn.is_valid),
        ("", "national_id", lambda digits: digits.startswith("756") and ch_ssn.is_valid(digits)),
    ),
    (15,): (("", "national_id", fr_nir.is_valid),),
    (18,): (("", "national_id", cn_ric.is_valid),),
    (12,): (("", "national_id", se_number.is_valid), ("", "national_id", in_aadhaar.is_valid)),
}


def _national(read: Text, one: Cluster, start: int, end: int) -> str | None:
    digits = one.digits
    if len(digits) == 13 and digits.startswith(("978", "979")) and isbn.is_valid(digits):
        return None
    if not one.between and start > 1 and read.text[start - 1] == "-" and read.text[start - 2].isalnum():
        return None  # the end of a UUID or of a part number
    for separators, reason, fits in _GROUPED.get(one.lengths, ()):
        if (not one.between or all(part.strip() in separators for part in one.between)) and fits(digits):
            if one.between and separators == "-" and any(part.strip() != "-" for part in one.between):
                continue
            return reason
    if len(digits) == 15 and luhn.is_valid(digits) and _DEVICE.search(read.before(start, 64)):
        return "device_id"
    return None


_DEVICE = re.compile(
    r"\b(?:phone|handset|device|handy|gerät|téléphone|móvil|mobile|stolen|blacklist\w*|serial)\b"
)


def _is_date(six: str) -> bool:
    """Whether six digits are a date as ddmmyy or yymmdd."""
    first, middle, last = int(six[:2]), int(six[2:4]), int(six[4:])
    return 1 <= middle <= 12 and (1 <= first <= 31 or 1 <= last <= 31)


_CODE = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]{6}\d{2}[A-Za-z]\d{2}[A-Za-z]\d{3}[A-Za-z]"
    r"|[A-Za-z]{4}\d{6}[HMhm][A-Za-z]{5}[A-Za-z0-9]\d"
    r"|[A-Za-z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-Da-d]|[XYZxyz]-?\d{7}-?[A-Za-z]|\d{8}[ "
    r"-]?[A-HJ-NP-TV-Za-hj-np-tv-z]|\d{6}[-+A]\d{3}[0-9A-Ya-y]"
    r"|[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]|[STFGM]\d{7}[A-Z]|[A-Z]\d{6}\([0-9A]\)|\d{7}[A-W][A-I]?"
    r"|\d{17}[Xx]|[12] ?\d{2} ?\d{2} ?2[AB] ?\d{3} ?\d{3} ?\d{2}"
    r"|[A-Z]{4}-?\d{6}-?[A-Z0-9]{3})(?![A-Za-z0-9])"
)
_SPACED_CODE = re.compile(
    r"(?<![A-Za-z0-9])(?:(?P<dni>\d\d\.\d{3}\.\d{3} ?-? ?[A-Za-z])"
    r"|(?P<nino>[A-Za-z]{2}([ .-])\d\d\3\d\d\3\d\d\3[A-Da-d])"
    r"|(?P<cf>[A-Z]{3} [A-Z]{3} \d\d[A-Z]\d\d [A-Z]\d{3}[A-Z])|(?P<rvnr>\d\d ?\d{6} ?[A-Z] ?\d{3})"
    r"|(?P<pps>\d{7}[A-W][A-IW]?)|(?P<licence>[A-Z]{3}[A-Z9]{2}\d{6}[A-Z9]{2}\d[A-Z]{2}))(?![A-Za-z0-9])"
)
_PENSION_WEIGHTS = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)


def _is_pension(code: str) -> bool:
    """Whether it is a German pension insurance number: the check digit (§ 4 VKVV) and the birth date fit."""
    digits = f"{code[:8]}{ord(code[8]) - 64:02d}{code[9:11]}"
    total = sum(
        sum(map(int, str(int(digit) * weight)))
        for digit, weight in zip(digits, _PENSION_WEIGHTS, strict=True)
    )
    return total % 10 == int(code[11]) and 1 <= int(code[4:6]) <= 12


_NINO = re.compile(
    r"(?![DFIUV])[A-Z](?![DFIOUV])[A-Z](?<!BG)(?<!GB)(?<!NK)(?<!KN)(?<!TN)(?<!NT)(?<!ZZ)\d{6}[A-D]",
    re.IGNORECASE,
)
_VAT = re.compile(
    r"(?<![A-Za-z0-9])(?:AT ?U|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO"
    r"|SE|SI|SK|XI) ?[A-Z]?\d[A-Z0-9]?(?:[ .-]?[A-Z0-9]){5,11}(?![A-Za-z0-9])"
)


def _coded(read: Text) -> bool:
    """Identifiers of letters and digits that their form and check letters tell."""
    if (
        not any(len(cluster.digits) >= 5 for cluster in read.clusters)
        and sum(map(str.isdigit, read.text)) < 4
    ):
        return False
    for count, found in enumerate(_CODE.finditer(read.text)):
        if count >= CANDIDATES_MAX:
            return True
        if _fits(read, found[0].replace(" ", "").replace("-", "").upper(), found[0], found.start()):
            return True
    for count, found in enumerate(_SPACED_CODE.finditer(read.text)):
        if count >= CANDIDATES_MAX or _fits_spaced(found):
            return True
    for count, found in enumerate(_VAT.finditer(read.text)):
        if count >= CANDIDATES_MAX or vat.is_valid(found[0]):
            return True
    return False


def _fits_spaced(found: re.Match[str]) -> bool:
    code = re.sub(r"[ .-]", "", found[0]).upper()
    if found["dni"]:
        return es_dni.is_valid(code)
    if found["nino"]:
        return _NINO.fullmatch(code) is not None
    if found["cf"]:
        return it_code.is_valid(code)
    if found["pps"]:
        return ie_pps.is_valid(code)
    return _is_pension(code) if found["rvnr"] else True


def _fits(read: Text, code: str, shown: str, start: int) -> bool:
    if len(code) == 16 and code[:6].isalpha():
        return it_code.is_valid(code)
    if len(code) == 18:
        return mx_curp.is_valid(code) if code[:4].isalpha() else cn_ric.is_valid(code)
    if len(code) == 9 and code[:2].isalpha() and code[-1] in "ABCD":
        return _NINO.fullmatch(code) is not None
    if len(code) == 9 and code[:1] in "XYZ":
        return es_nie.is_valid(code)
    if len(code) == 9 and code[:8].isdigit():
        return es_dni.is_valid(code)
    if shown[6:7] in ("-", "+", "A") and code[:6].isdigit():
        return fi_hetu.is_valid(shown.upper())
    if len(code) == 10 and code[:5].isalpha():
        return shown.isupper()
    if len(code) == 13 and code[:4].isalpha():
        return mx_rfc.is_valid(code)
    if len(code) == 9 and code[:1] in "STFGM":
        return _singapore(code)
    if "(" in shown:
        return _ID_WORDS.search(read.before(start)) is not None
    if len(code) == 15:
        return fr_nir.is_valid(code)
    return False


def _singapore(code: str) -> bool:
    total = sum(int(digit) * weight for digit, weight in zip(code[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True))
    total += {"T": 4, "G": 4, "M": 3}.get(code[0], 0)
    letters = {
        "S": "JZIHGFEDCBA",
        "T": "JZIHGFEDCBA",
        "F": "XWUTRQPNMLK",
        "G": "XWUTRQPNMLK",
        "M": "XWUTRQPNJLK",
    }
    return code[-1] == letters[code[0]][total % 11]


def _iban(read: Text) -> bool:
    for count, found in enumerate(_IBAN.finditer(read.text)):
        if count >= CANDIDATES_MAX:
            return True
        code = ""
        for part in re.finditer(r"[A-Za-z0-9]+|[^A-Za-z0-9]+", read.text[found.start() : found.start() + 48]):
            if not part[0][0].isalnum():
                if len(part[0]) > 2 or part[0].strip(" .-\t"):
                    break
                continue
            code += part[0]
            if len(code) > 34:
                break
            if len(code) >= 15 and iban.is_valid(code, check_country=False):
                return True
        if len(code) >= 15 and sum(map(str.isdigit, code)) >= 10 and "iban" in read.before(found.start()):
            return True
    return False


# --- what words tell ------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"[?!\n]|(?<![Nn]o)(?<![Nn]r)(?<!num)\. (?=[A-ZÄÖÜ¿¡])")


def _named(read: Text) -> str | None:
    """A number or code shortly after the words for an identifier, in the same sentence."""
    if _MAY_BE_ID.search(read.text) is None:
        return None
    tried = 0
    words: list[re.Match[str]] | None = None
    ends: list[int] = []
    for token in _ID_TOKEN.finditer(read.text):
        code = token[0]
        digits = sum(map(str.isdigit, code))
        if digits < 5 and not (digits >= 3 and len(code) >= 7 and " " not in code and not code.isdigit()):
            continue
        tried += 1
        if tried > CANDIDATES_MAX:
            return "too_many_numbers"
        if words is None:
            words = list(_ID_WORDS.finditer(read.lower))
            ends = [word.end() for word in words]
        if not words:
            break
        first = max(0, token.start() - 64)
        name = token.start() + len(code) - len(code.lstrip(_CAPITALS))
        place = bisect_right(ends, name)
        found = words[place - 1] if place and words[place - 1].start() >= first else None
        near = found
        if found is not None:
            between = read.text[found.end() : token.start()]
            if _SENTENCE_END.search(between):
                found = None
            elif ARITHMETIC.search(between.lower()):
                continue
        if found is None and digits >= 6 and place < len(words) and ends[place] <= token.end() + 44:
            between = read.text[token.end() : words[place].start()]
            found = None if _SENTENCE_END.search(between) else words[place]
        if found is None and digits >= 8:
            found = near
        if found is None or is_figure(read, token.start(), token.end(), grouped=True):
            continue
        if _PUBLISHED.search(read.before(token.start(), 32)) is not None or _DAY.fullmatch(code) is not None:
            continue
        if found[0] in _ALSO_WORDS and found[0].upper() not in read.text:
            continue
        if digits < 7 and _QUERY.search(read.lower) is not None:
            continue
        return (
            "account"
            if found[0].startswith(("account", "konto", "customer", "kunden", "member"))
            else "national_id"
        )
    own = _OWN_NUMBER.search(read.lower)
    if own is not None and sum(map(str.isdigit, own[1])) >= (3 if any(map(str.isalpha, own[1])) else 4):
        return "account"
    return None


_PUBLISHED = re.compile(
    r"\b(?:such as|for example|pubmed|pmid|pmcid|arxiv|doi|isbn|issn|console|baud|part (?:number"
    r"|no\.?)|modell?)\b"
)
_DAY = re.compile(r"\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d")
_ALSO_WORDS = frozenset(
    ["ein", "sin", "tin", "nie", "fin", "ine", "dui", "rut", "cif", "rg", "nip", "run", "rib"]
)
"""Short names of identifiers that are common words of some language in small letters."""
_QUERY = re.compile(r"\b(?:select\b.{1,200}\bfrom|insert into|update \w+ set|delete from|primary key)\b")

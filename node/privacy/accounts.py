"""Numbers of somebody's account, contract, policy, loan, membership or case, beside the word for one, in some
twenty-five languages.

Pure. What tells an account's number from a sum, a date, a count or a standard's number: the word for a number
beside it, somebody who calls it theirs, or signs and letters in it. What check digits or a longer list of
identifiers tell is found by ``numbers``.
"""

from __future__ import annotations

import re

from node.privacy.text import Text, by_first_letter

_TRIED_MAX = 64
_BEFORE, _AFTER, _AROUND = 56, 40, 130

_CODE = re.compile(
    r"(?<![\w.,/@&=?%-])(?P<sign>[#№] ?)?(?P<code>(?:(?!(?:[Nn][OoRr]|NUM|num) )[A-Za-z]{1,4}["
    r" /-]?)?(?:\d[\dA-Za-z]{0,23})"
    r"(?:[ ./-]{1,2}[A-Za-z]{0,3}\d[\dA-Za-z]{0,15}){0,6})(?![\w@%€$£°]|[.,:/-]\d)"
)
_NOUN = by_first_letter(
    r"accounts?|acc|accts?|a/c|licen[cs]es?|toll|permits?|certificates?|badge|holder|bonds?"
    r"|customers?|clients?|memberships?|members?|contracts?|agreements?|polic(?:y|ies)|loans?"
    r"|mortgages?|references?|ref|cases?|claims?|meters?|patients?|subscribers?|tenants?|tenancy|students?"
    r"|borrowers?|bookings?|orders?|invoices?|files?|dossiers?|supply|mpan|mprn|payroll|employees?"
    r"|pensions?"
    r"|plans?|library|gym|insurance|broadband|vault|wallet id|payer|payee|beneficiary|enrol?lment"
    r"|application"
    r"|tickets?|complaints?|shipments?|parcels?|rewards|loyalty|flyer|miles|card(?:holder)?|routing|transit"
    r"|institution|checking|savings|brokerage|current account|sort codes?|giro|isa"
    r"|kto|[^\W\d_]{0,14}konto\w*|kundennummer|kunden?\w*|vertrag\w*|versicherung\w*|police\w*"
    r"|polic\w*|darlehen\w*"
    r"|kredit\w*|aktenzeichen|mitglied\w*|zähler\w*|depot\w*|sparbuch|bausparer\w*|rechnung\w*|auftrag\w*"
    r"|compte\w*|client\w*|contrat\w*|dossier\w*|adhérent\w*|abonné\w*|prêt|sinistre|allocataire|compteur"
    r"|cuentas?|clientes?|contratos?|pólizas?|socios?|préstamos?|hipotecas?|expedientes?|contador"
    r"|abonad[oa]"
    r"|cont[oi]|clienti?|contratt[oi]|polizz[ae]|mutuo|prestito|pratica|utenza|contatore|tessera"
    r"|contas?|apólices?|sócios?|empréstimo|processo|utente"
    r"|rekening\w*|klant\w*|contract\w*|polis\w*|lening|hypotheek|lidmaatschap\w*|lidnummer"
    r"|kund\w*|kontonumme?r\w*|avtal\w*|medlem\w*|aftale\w*|lån\w*|försäkring\w*|forsikring\w*|police\w*"
    r"|tili\w*|asiakas\w*|sopimus\w*|jäsen\w*|laina\w*|vakuutus\w*"
    r"|kont[oa]\w*|rachun\w*|klient\w*|umow\w*|polis\w*|pożyczk\w*|kredyt\w*|licznik\w*"
    r"|účt\w*|účet\w*|smlouv\w*|zmluv\w*|zákazn\w*|pojistk\w*|úvěr\w*|půjčk\w*|klienta?"
    r"|számla\w*|ügyfél\w*|szerződés\w*|kötvény\w*|hitel\w*"
    r"|cont(?:ul)?|contract(?:ul)?|poliț\w*|împrumut\w*"
    r"|hesab\w*|hesap\w*|müşteri\w*|sözleşme\w*|poliçe\w*|abone\w*|üye\w*|kredi\w*"
    r"|računa?|ugovora?|klijent\w*|kupca|stranke|kredita?"
    r"|лицев\w+|счет\w*|счёт\w*|договор\w*|клиент\w*|абонент\w*|полис\w*|кредит\w*|рахун\w*|догов[іо]р\w*"
    r"|сметка\w*|рачун\w*|λογαριασμ\w*|πελατ\w*|συμβολ\w*|συμβασ\w*"
    r"|חשבון|לקוח|חוזה|פוליסה|حساب\w*|حسابي|العميل|عميل|العقد|بوليصة|اشتراك"
    r"|rekening|nasabah|pelanggan|kontrak|polis|akaun|hợp đồng|tài khoản|khách hàng"
)
_UNSPACED_WORDS = (
    "口座 会員番号 お客様番号 お客さま番号 契約番号 顧客番号 診察券 証券番号 加入者番号 受付番号"
    " 帳號 賬號 账号 帐号 账户 帳戶 会员号 "
    "会员卡 客户号 客户编号 合同号 合同编号 保单 订单号 户号 戶號 卡号 계좌 고객번호 회원번호"
    " 계약번호 증권번호 खाता ग्राहक पॉलिसी बीमा "
    "บัญชี ลูกค้า สมาชิก กรมธรรม์"
)
_UNSPACED = re.compile("|".join(Text.of(word).lower for word in _UNSPACED_WORDS.split()))
_NUMBER_WORD = (
    r"(?:numbers?|num|nos?|nr|nbr|n[°º.]|№|#|id|ids|code|ref|nummer[nt]?|nummeret|numret|numéro"
    r"|número|numero|num\."
    r"|numer(?:y|u)?|nr\.|číslo|čísla|cislo|szám\w*|numărul|numar|numaras[ıi]\w*|no'su|broj|номер\w*|номери"
    r"|αριθμ\w*|מספר|رقم|nomor|no\.|số|numero(?:ni)?|tunnus)"
)
_WORD = re.compile(
    rf"(?<![^\W_])(?:(?P<strong>(?:{_NOUN})(?:'s)?(?:[ _/-]{{1,2}}(?:account|reference|card"
    rf"|client))?[ _-]?{_NUMBER_WORD}"
    rf"|{_NUMBER_WORD} (?:of |de |di |do |da |del |della |du |d'|l'|der |des |van |för |for |my "
    rf"|the ){{0,2}}"
    rf"(?:my |our |mein\w* |mi |mon )?(?:{_NOUN})"
    r"|(?:konto|kunden|vertrags|versicherungs|mitglieds|klant|rekening|contract|polis|kund|kunde"
    r"|konto|avtals"
    r"|medlems|aftale|låne?|asiakas|sopimus|jäsen|tili|vakuutus|zähler|darlehens|kredit|auftrags|rechnungs"
    r"|vorgangs|depot|policen|schaden|ügyfél|számla|szerződés|kötvény)(?:nummer|nr|nummeret|numret"
    r"|numero|szám)\w*)"
    rf"|(?P<weak>{_NOUN}))(?![^\W_])"
)
_OWN = re.compile(
    r"(?<![^\W_])(?:"
    + by_first_letter(
        r"my|mine|our|ours|me|i|i'm|i've|we|us|her|his|their|they|mein\w{0,2}|unser\w{0,2}|ich|mir"
        r"|wir|mon|ma|mes"
        r"|notre|nos|je|j'ai|moi|mi|mis|nuestr[oa]s?|yo|tengo|me|mio|mia|ho|io|nostr[oa]|meu|minha"
        r"|tenho|mijn|ons"
        r"|onze|ik|min|mitt|mina|jag|jeg|mit|minun|mój|moje|moja|mojego|mojej|mam|můj|má|mám|moj|mám|nekem"
        r"|számom|meu|mea|am|benim|hesabım\w*|numaram|мой|моя|мое|мой|у меня|я|мне|мій|моя|мене|моят|μου"
        r"|שלי|لدي|saya|aku|tôi|của tôi|the (?:wife|landlord|bank|utility)|dad|mum|mom|grandma|boss"
        r"|keeps?|still"
        r"|transferred|paid|closed|locked|frozen|blocked|cancel\w*|overdrawn|renews?|lapsed"
    )
    + r")(?![^\W_])|私|僕|俺|我|저|제|내 |मेरा|ผม|ฉน|ดฉน"
)
_GENERAL = re.compile(
    r"(?<![^\W_])(?:formats?|textbooks?|exercises?|exercise book|tutorials?|such as|looks? like"
    r"|begins?|starts? with|digits?|stellig\w*|ziffern|chiffres|dígitos|cifre|cijfers"
    r"|characters|examples?|samples?|invented|beispiel\w*|exemple|ejemplo|esempio|exemplo|placeholder|dummy"
    r"|fictional|test data|regex|column|chart of accounts|kontenrahmen|skr0?[34]|gaap|ifrs|general ledger"
    r"|ledger|prefix|rfc ?\d+|iso ?\d+|github|jira|bug|ticket system|kb\d+|supreme court|v\.|versus|docket"
    r"|statute|act of|directive|regulation|resolution|executive order|public law|museum"
    r"|inventory)(?![^\W_])"
)
_NO_CODE = re.compile(
    r"(?:(?:19|20)\d\d(?:[ ./-]+(?:19|20)?\d\d(?:[./-]\d{1,2})?)?|\d{1,2}[./ -]{1,2}\d{1,2}[./"
    r" -]{1,2}(?:19|20)?\d\d"
    r"|\d{1,3}(?:[ .]\d{3})+|\d{1,4}0{3,}|\d+(?:st|nd|rd|th|k|m|px|ms|kb|mb|gb|km|kg|kwh|mg|ml|x|am"
    r"|pm|bps|hz)"
    r"|(?:iso|rfc|din|en|cve|ieee|kb|pep|hs|sku|ean|gb/t|ansi|iec|part|isbn|pmid|doi|eu|usc|section|version"
    r"|[vuxr])[ /-]?\d[\d .:/-]*|0x[\da-f]+|[\da-f]{32,}|\d{1,3}[ -]\d{1,3})",
    re.IGNORECASE,
)
_MONEY_BEFORE = re.compile(
    r"(?:[€$£¥₹₽₩]|(?<![^\W_])(?:eur|usd|gbp|chf|inr|rs\.?|pln|sek|nok|dkk|kr|jpy|cad|aud|isbn"
    r"|model|part(?: no\.?"
    r"| number)?|over|under|about|around|nearly|almost|of|worth|zip|plz|postcode|article|section|§"
    r"|iso|rfc|version"
    r"|año|year|since|seit|until|in))[ :]{0,2}$"
)
_UNIT_AFTER = re.compile(
    r" ?(?:[€$£¥₹₽₩%×*+=]|(?:eur|usd|gbp|chf|inr|euros?|dollars?|pounds?|francs?|kr|kronor|kroner"
    r"|zł|kč|ft|lei|lira"
    r"|tl|руб\w*|yen|won|members?|customers?|clients?|users?|people|accounts?|cases?|patients?"
    r"|loans?|policies"
    r"|orders?|records?|rows?|days?|years?|months?|km|miles|kwh|units?|points?|bps|percent|prozent"
    r"|mitglieder"
    r"|kunden|konten|fälle|personen|clients|comptes|cas|personnes|casos|personas|clientes|円|元|원"
    r"|万|人|件|年)"
    r"(?![^\W_]))"
)


def find(read: Text) -> str | None:
    """``account`` or None."""
    if not read.clusters and sum(map(str.isdigit, read.text)) < 5:
        return None
    words: list[re.Match[str]] | None = None
    for count, found in enumerate(_CODE.finditer(read.text)):
        if count >= _TRIED_MAX:
            break
        code = found["code"].rstrip(" ./-")
        digits = sum(map(str.isdigit, code))
        start, end = found.start("code"), found.start("code") + len(code)
        if digits < 5 or digits > 24 or not _is_code(read, code, start, end):
            continue
        if words is None:
            words = _words(read)
        if not words:
            return None
        if any(_names(read, word, code, digits, start, end) for word in words):
            return "account"
    return None


def _words(read: Text) -> list[re.Match[str]]:
    """The first words for an account or its number."""
    out: list[re.Match[str]] = []
    for expression in (_WORD, *([] if read.lower.isascii() else [_UNSPACED])):
        for count, word in enumerate(expression.finditer(read.lower)):
            if count >= _TRIED_MAX:
                break
            out.append(word)
    return out


def _is_code(read: Text, code: str, start: int, end: int) -> bool:
    """Whether it is no sum, date, count or number of a standard."""
    return (
        _NO_CODE.fullmatch(code) is None
        and _MONEY_BEFORE.search(read.before(start, 16)) is None
        and _UNIT_AFTER.match(read.lower, end) is None
    )


def _names(read: Text, word: re.Match[str], code: str, digits: int, start: int, end: int) -> bool:
    """Whether ``word`` says whose number ``code`` is: before it, or shortly behind it, in its clause."""
    if word.end() <= start:
        between = read.lower[word.end() : start]
        reach = _BEFORE
    elif word.start() >= end:
        between = read.lower[end : word.start()]
        reach = _AFTER
    else:  # letters of the code itself
        return False
    if len(between) > reach or "\n\n" in between:
        return False
    near = read.lower[max(0, min(start, word.start()) - _AROUND) : max(end, word.end()) + _AROUND]
    if _GENERAL.search(near) is not None:
        return False
    own = _OWN.search(near) is not None
    stops = sum(between.count(sign) for sign in "?!\n") + between.count(". ")
    if stops and (not own or stops > 2):
        return False
    groups = name_of(word)
    is_code = any(map(str.isalpha, code)) or any(sign in code for sign in "-/ .")
    if groups == "strong":
        return own or (len(between) <= 16 and digits >= 6)
    close = len(between.strip(" #№:(=,.'\"-")) <= (3 if own else 0)
    if own:
        return (is_code and digits >= 6) or digits >= 7 or close
    return close and word.end() <= start and ((is_code and digits >= 7) or digits >= 8)


def name_of(word: re.Match[str]) -> str:
    """``strong`` where a word for a number belongs to it or the writing has no blanks."""
    return "weak" if word.lastgroup == "weak" else "strong"

"""Made-up texts with identifiers, and digit-heavy knowledge questions, by seed: for development and for the
table.

Every identifier is made here: no real person's. Check digits are computed by ``python-stdnum`` or by hand.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable

from stdnum import iban as iban_check
from stdnum import luhn
from stdnum.be import nn
from stdnum.br import cpf
from stdnum.ch import ssn as ahv
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.iso7064 import mod_97_10
from stdnum.no import fodselsnummer

Make = Callable[[random.Random], str]

_FIRST = (
    "Anna",
    "Ben",
    "Carla",
    "David",
    "Elif",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kirsten",
    "Liam",
    "Marta",
    "Nadia",
    "Oskar",
    "Paula",
    "Quentin",
    "Rosa",
    "Samuel",
    "Tara",
    "Uwe",
    "Vera",
    "Wendy",
    "Ximena",
    "Yusuf",
    "Zoe",
)
_LAST = (
    "Abbott",
    "Becker",
    "Castillo",
    "Dubois",
    "Eriksen",
    "Fischer",
    "Garcia",
    "Hoffmann",
    "Ibrahim",
    "Jansen",
    "Keller",
    "Lopez",
    "Moreau",
    "Novak",
    "Okafor",
    "Petit",
    "Quinn",
    "Rossi",
    "Schmidt",
    "Torres",
    "Ullman",
    "Vogel",
    "Walker",
    "Yilmaz",
    "Zimmermann",
)
_HOSTS = (
    "gmail.com",
    "outlook.com",
    "web.de",
    "gmx.net",
    "example.org",
    "proton.me",
    "company.io",
    "uni-bonn.de",
    "orange.fr",
    "correo.es",
    "mail.co.uk",
    "mydomain.dev",
)
_HEX = "0123456789abcdef"
_ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_B58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _some(rng: random.Random, of: str, count: int) -> str:
    return "".join(rng.choice(of) for _ in range(count))


def _digits(rng: random.Random, count: int) -> str:
    return _some(rng, "0123456789", count)


def _fill(rng: random.Random, shape: str) -> str:
    return "".join(_digits(rng, 1) if char == "#" else char for char in shape)


def _name(rng: random.Random) -> str:
    return f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"


def email(rng: random.Random) -> str:
    first, last = rng.choice(_FIRST).lower(), rng.choice(_LAST).lower()
    local = rng.choice(
        [f"{first}.{last}", f"{first}{_digits(rng, 2)}", f"{first[0]}{last}", f"{first}_{last}+news", last]
    )
    return f"{local}@{rng.choice(_HOSTS)}"


def email_written_out(rng: random.Random) -> str:
    shown = email(rng).replace("+news", "")
    local, host = shown.split("@")
    at = rng.choice([" at ", " (at) ", "[at]", " AT ", " [at] ", "(at)"])
    dot = rng.choice([" dot ", " (dot) ", "[dot]", " DOT ", "[.]"])
    return local.replace(".", rng.choice([".", dot])) + at + host.replace(".", dot)


def card(rng: random.Random) -> str:
    start, length = rng.choice(
        [("4", 16), ("51", 16), ("54", 16), ("2345", 16), ("37", 15), ("6011", 16), ("36", 14), ("3540", 16)]
    )
    body = start + _digits(rng, length - len(start) - 1)
    number = body + luhn.calc_check_digit(body)
    if length == 15 or length == 14:
        grouped = f"{number[:4]} {number[4:10]} {number[10:]}"
    else:
        grouped = rng.choice([" ", "-"]).join(number[place : place + 4] for place in range(0, 16, 4))
    return rng.choice([number, grouped])


def iban(rng: random.Random) -> str:
    country, shape = rng.choice(
        [
            ("DE", "#" * 18),
            ("NL", "ABNA" + "#" * 10),
            ("GB", "NWBK" + "#" * 14),
            ("AT", "#" * 16),
            ("CH", "#" * 17),
            ("PL", "#" * 24),
        ]
    )
    body = _fill(rng, shape)
    number = country + mod_97_10.calc_check_digits(body + country) + body
    if not iban_check.is_valid(number, check_country=False):
        return iban(rng)
    return rng.choice(
        [number, " ".join(number[place : place + 4] for place in range(0, len(number), 4)), number.lower()]
    )


def ssn(rng: random.Random) -> str:
    area = rng.choice([one for one in range(1, 900) if one != 666])
    return f"{area:03d}-{rng.randint(1, 99):02d}-{rng.randint(1, 9999):04d}"


def national_id(rng: random.Random) -> str:
    kind = rng.randrange(8)
    if kind == 0:
        body = (
            f"{rng.randint(1, 28):02d}{rng.randint(1, 12):02d}{rng.randint(55, 99):02d}"
            f"{rng.randint(100, 499)}"
        )
        for check in range(100):
            if fodselsnummer.is_valid(f"{body}{check:02d}"):
                return f"{body[:6]} {body[6:]}{check:02d}"
        return national_id(rng)
    if kind == 1:
        number = _digits(rng, 8)
        return number + dni.calc_check_digit(number)
    if kind == 2:
        number = "X" + _digits(rng, 7)
        return number + nie.calc_check_digit(number)
    if kind == 3:
        body = (
            f"{rng.randint(1, 2)}{rng.randint(50, 99)}{rng.randint(1, 12):02d}75{_digits(rng, 3)}"
            f"{rng.randint(1, 999):03d}"
        )
        number = body + nir.calc_check_digits(body)
        return rng.choice(
            [
                number,
                (
                    f"{number[0]} {number[1:3]} {number[3:5]} {number[5:7]} {number[7:10]} "
                    f"{number[10:13]} {number[13:]}"
                ),
            ]
        )
    if kind == 4:
        number = _digits(rng, 9)
        number += cpf._calc_check_digits(number)
        return f"{number[:3]}.{number[3:6]}.{number[6:9]}-{number[9:]}"
    if kind == 5:
        body = "756" + _digits(rng, 9)
        for last in "0123456789":
            if ahv.is_valid(body + last):
                number = body + last
                return f"{number[:3]}.{number[3:7]}.{number[7:11]}.{number[11:]}"
    if kind == 6:
        body = (
            f"{rng.randint(50, 99):02d}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}"
            f"{rng.randint(1, 998):03d}"
        )
        number = body + f"{97 - int(body) % 97:02d}"
        return (
            f"{number[:2]}.{number[2:4]}.{number[4:6]}-{number[6:9]}.{number[9:]}"
            if nn.is_valid(number)
            else national_id(rng)
        )
    return (
        f"{rng.choice(['AB', 'CE', 'JG', 'PW'])} {_digits(rng, 2)} {_digits(rng, 2)} {_digits(rng, 2)} "
        f"{rng.choice('ABCD')}"
    )


def phone(rng: random.Random) -> str:
    return _fill(
        rng,
        rng.choice(
            [
                "+49 30 2######",
                "+49 171 #######",
                "+44 7911 12####",
                "+44 20 7946 0###",
                "+1 202-555-01##",
                "+1 (415) 555-26##",
                "+33 6 12 34 ## ##",
                "+34 612 34 ## ##",
                "+4917612####67",
                "(212) 555-01##",
                "312-555-01##",
                "0171 23#####",
                "030/2345####",
                "020 7946 0###",
                "06 12 34 ## ##",
                "01 42 68 ## ##",
                "07911 123###",
                "0049 171 23#####",
                "+41 79 234 ## ##",
                "+39 347 12#####",
            ]
        ),
    )


def ip(rng: random.Random) -> str:
    if rng.random() < 0.25:
        return (
            "2a0"
            + _some(rng, "1234", 1)
            + ":"
            + ":".join(_some(rng, _HEX, 4) for _ in range(5))
            + "::"
            + _some(rng, _HEX, 3)
            + "1"
        )
    return (
        f"{rng.choice([31, 46, 62, 77, 78, 81, 84, 85, 91, 94, 109, 134, 145, 176, 188, 213])}."
        f"{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}"
    )


def mac(rng: random.Random) -> str:
    parts = ["3c", *(_some(rng, _HEX, 2) for _ in range(5))]
    return rng.choice([":".join(parts), "-".join(parts).upper(), ":".join(parts).upper()])


def coordinates(rng: random.Random) -> str:
    lat, lon = rng.uniform(35, 60), rng.uniform(-10, 30)
    return rng.choice(
        [
            f"{lat:.5f}, {lon:.5f}",
            f"{lat:.6f},{lon:.6f}",
            f"{lat:.4f} {lon:.4f}",
            f"lat {lat:.5f} lon {lon:.5f}",
        ]
    )


def _base58check(version: bytes, data: bytes) -> str:
    payload = version + data
    payload += hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, out = int.from_bytes(payload, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        out = _B58[rest] + out
    return "1" * (len(payload) - len(payload.lstrip(b"\0"))) + out


def wallet(rng: random.Random) -> str:
    kind = rng.randrange(4)
    if kind == 0:
        return _base58check(b"\0", rng.randbytes(20))
    if kind == 1:
        return _base58check(rng.choice([b"\x05", b"\x30", b"\x1e", b"\x41"]), rng.randbytes(20))
    if kind == 2:
        return "bc1q" + _some(rng, "023456789acdefghjklmnpqrstuvwxyz", 38)
    return "0x" + _some(rng, _HEX + "ABCDEF", 40)


def secret(rng: random.Random) -> str:
    return rng.choice(
        [
            "AKIA" + _some(rng, _ALNUM[:26] + "234567", 16),
            "ghp_" + _some(rng, _ALNUM, 36),
            "github_pat_" + _some(rng, _ALNUM, 60),
            "glpat-" + _some(rng, _ALNUM, 20),
            "xoxb-" + _digits(rng, 12) + "-" + _digits(rng, 12) + "-" + _some(rng, _ALNUM, 24),
            "sk_live_" + _some(rng, _ALNUM, 24),
            "sk-proj-" + _some(rng, _ALNUM, 48),
            "sk-ant-api03-" + _some(rng, _ALNUM, 60),
            "AIza" + _some(rng, _ALNUM, 35),
            "SG." + _some(rng, _ALNUM, 22) + "." + _some(rng, _ALNUM, 43),
            "npm_" + _some(rng, _ALNUM, 36),
            "hf_" + _some(rng, _ALNUM[:52], 34),
            _digits(rng, 9) + ":AA" + _some(rng, _ALNUM, 33),
            "eyJhbGciOiJIUzI1NiJ9."
            + base64.urlsafe_b64encode(rng.randbytes(30)).decode().rstrip("=")
            + "."
            + _some(rng, _ALNUM, 43),
            "https://hooks.slack.com/services/T"
            + _some(rng, _ALNUM[26:], 8)
            + "/B"
            + _some(rng, _ALNUM, 8)
            + "/"
            + _some(rng, _ALNUM, 24),
        ]
    )


def private_key(rng: random.Random) -> str:
    kind = rng.choice(["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "])
    return (
        f"-----BEGIN {kind}PRIVATE KEY-----\n{base64.b64encode(rng.randbytes(48)).decode()}\n-----END "
        f"{kind}PRIVATE KEY-----"
    )


def password(rng: random.Random) -> str:
    value = (
        rng.choice(["Hunter", "blue", "Sommer", "tiger", "Qwert"])
        + rng.choice(["!", "_", "#", ""])
        + _digits(rng, 3)
        + rng.choice(["", "x", "!"])
    )
    word = rng.choice(
        ["password", "Passwort", "mot de passe", "contraseña", "wifi password", "PIN", "passphrase"]
    )
    if word == "PIN":
        value = _digits(rng, rng.choice([4, 6]))
    shape = rng.choice(["{w}: {v}", "{w}={v}", "my {w} is {v}", "the {w} is {v}", "{w} is {v}"])
    return shape.format(w=word, v=value)


def url_login(rng: random.Random) -> str:
    scheme = rng.choice(["https", "postgres", "mongodb+srv", "ftp", "redis", "amqp", "mysql"])
    return (
        f"{scheme}://{rng.choice(_FIRST).lower()}:{_some(rng, _ALNUM, 9)}@"
        f"{rng.choice(['db', 'files', 'mq'])}.{rng.choice(_HOSTS)}/main"
    )


def plate(rng: random.Random) -> str:
    return rng.choice(
        [
            f"{rng.choice(['B', 'M', 'HH', 'KA'])}-{_some(rng, _ALNUM[:26], 2)} {_digits(rng, 3)}",
            f"AB{_digits(rng, 2)} {_some(rng, 'CDEFG', 3)}",
            f"7{_some(rng, 'ABCDEFG', 3)}{_digits(rng, 3)}",
            f"{_some(rng, 'ABCDEFG', 2)}-{_digits(rng, 3)}-{_some(rng, 'ABCDEFG', 2)}",
            f"{_digits(rng, 4)} {_some(rng, 'BCDFG', 3)}",
        ]
    )


def document(rng: random.Random) -> str:
    number = rng.choice(
        [
            "C01X" + _digits(rng, 5),
            "X" + _digits(rng, 7),
            _digits(rng, 9),
            "L" + _digits(rng, 8),
            "AB" + _digits(rng, 7),
        ]
    )
    word = rng.choice(
        [
            "passport number",
            "passport no.",
            "Reisepassnummer",
            "driver's license",
            "numéro de passeport",
            "pasaporte",
            "Personalausweis",
            "ID card number",
        ]
    )
    return rng.choice(["{w} {n}", "{w}: {n}", "{w} is {n}"]).format(w=word, n=number)


def imei(rng: random.Random) -> str:
    body = "35" + _digits(rng, 12)
    return "IMEI " + body + luhn.calc_check_digit(body)


def account(rng: random.Random) -> str:
    number = _digits(rng, rng.choice([7, 8, 10]))
    return rng.choice(
        [
            "my account number is {n}",
            "account no. {n}",
            "Kontonummer {n}",
            "mein Kundennummer ist {n}",
            "my customer number: {n}",
            "mi número de cuenta es {n}",
            "sort code 20-11-43 account {n}",
        ]
    ).format(n=number)


def statement_name(rng: random.Random) -> str:
    name, first = _name(rng), rng.choice(_FIRST)
    return rng.choice(
        [
            f"My name is {name} and I need help with a form.",
            f"I'm {name}, how do I file this?",
            f"Hi, I am {first}. What is the capital of Peru?",
            f"my name is {first.lower()}, can you write a poem",
            f"Please call me {first}.",
            f"Ich heiße {name}. Wie schreibe ich eine Kündigung?",
            f"Mein Name ist {name}, ich brauche Hilfe.",
            f"Ich bin {name} und suche Arbeit.",
            f"Je m'appelle {name}, comment faire ?",
            f"Mon nom est {name}.",
            f"Je suis {name}, bonjour.",
            f"Me llamo {name}, ¿qué hago?",
            f"Mi nombre es {name}.",
            f"Soy {name} y necesito ayuda.",
            f"This is {name} speaking, when do you open?",
            f"Write a letter. Best regards,\n{name}",
            f"They call me {first}, why?",
            f"My wife {first} likes tulips.",
            f"Mi chiamo {name}.",
        ]
    )


def statement_home(rng: random.Random) -> str:
    number = rng.randint(1, 240)
    return rng.choice(
        [
            f"I live at {number} Maple Street, Springfield. Which bus goes downtown?",
            f"My address is {number} Oak Avenue, Denver 80202.",
            "We live in Lyon near the station, where is a good school?",
            f"I moved to {number} Hill Road last week.",
            f"Ich wohne in der Gartenstraße {number}, wo ist der nächste Arzt?",
            f"Meine Adresse ist Lindenweg {number}, 50667 Köln.",
            "Ich lebe in Leipzig am Marktplatz.",
            f"J'habite {number} rue Victor Hugo à Nantes.",
            "J'habite à Bordeaux, où acheter du pain ?",
            f"Mon adresse est {number} avenue Foch, 75016 Paris.",
            f"Vivo en la calle Mayor {number}, Madrid.",
            f"Mi dirección es Avenida de América {number}, 28002 Madrid.",
            f"Please deliver it to my home: {number} Birch Lane.",
            f"Abito in via Roma {number}, Torino.",
            f"I'm living in Hamburg, {number} Elbe Road.",
        ]
    )


def statement_birth(rng: random.Random) -> str:
    day, month, year = rng.randint(1, 28), rng.choice(["March", "July", "October"]), rng.randint(1950, 2005)
    return rng.choice(
        [
            f"I was born on {day} {month} {year}.",
            f"My birthday is {month} {day}, what sign am I?",
            f"DOB: {day:02d}/04/{year}",
            f"Ich bin am {day}.03.{year} geboren.",
            f"Mein Geburtsdatum ist der {day}.5.{year}.",
            f"Je suis né le {day} mars {year}.",
            f"Nací el {day} de julio de {year}.",
            f"my date of birth is {year}-04-{day:02d}",
            f"Mi fecha de nacimiento es {day}/11/{year}",
        ]
    )


def statement_employer(rng: random.Random) -> str:
    firm = rng.choice(
        ["Siemens", "Acme Corp", "the Mercy Hospital", "Deutsche Bahn", "Carrefour", "Telefónica", "Barclays"]
    )
    return rng.choice(
        [
            f"I work at {firm} as a nurse.",
            f"I work for {firm}, can they cut my pay?",
            f"My employer is {firm}.",
            f"Ich arbeite bei {firm} und will kündigen.",
            f"Mein Arbeitgeber ist {firm}.",
            f"Je travaille chez {firm}, quels sont mes droits ?",
            f"Trabajo en {firm} desde 2019.",
            f"I am employed by {firm}.",
            f"I'm a driver at {firm}.",
        ]
    )


def statement_matter(rng: random.Random) -> str:
    return rng.choice(
        [
            "I was diagnosed with lupus last month, what should I eat?",
            "My salary is 54,000 a year. Is that good?",
            "My account balance is 3,210 euros.",
            "My doctor prescribed sertraline after the panic attacks.",
            "My divorce lawyer says the hearing is in May.",
            "Mein Gehalt beträgt 3100 Euro, reicht das?",
            "Ich wurde wegen Diebstahls verurteilt, was nun?",
            "Bei mir wurde Diabetes festgestellt.",
            "Je souffre de dépression, que faire ?",
            "Mon salaire est de 2300 euros.",
            "Me han diagnosticado cáncer.",
            "Mi sueldo es de 1800 euros.",
            "I'm pregnant and my test results show low iron.",
            "I filed for bankruptcy in June.",
            "My username is blue_otter7 on that forum.",
        ]
    )


KINDS: dict[str, Make] = {
    "email": email,
    "email_written_out": email_written_out,
    "phone": phone,
    "card": card,
    "iban": iban,
    "ssn": ssn,
    "national_id": national_id,
    "document": document,
    "imei": imei,
    "account": account,
    "ip": ip,
    "mac": mac,
    "coordinates": coordinates,
    "wallet": wallet,
    "secret": secret,
    "private_key": private_key,
    "password": password,
    "url_login": url_login,
    "plate": plate,
}
STATEMENTS: dict[str, Make] = {
    "name": statement_name,
    "home": statement_home,
    "birth": statement_birth,
    "employer": statement_employer,
    "matter": statement_matter,
}

_FRAMES = (
    "{}",
    "{}.",
    "What is {}?",
    "Please check {} for me.",
    "My colleague sent {}, is that right?",
    "Can you look at {}? It was in the mail.",
    "I got a message about {}, what now",
    "Write to {} about the invoice.",
    "The customer gave {} yesterday.",
    "Was bedeutet {}?",
    "Bitte prüfe {}.",
    "Que faire avec {} ?",
    "¿Qué es {}?",
    "Summarise: the record holds {}; nothing else.",
    "({})",
    "see {}!",
    "old value {} was replaced",
    'Is "{}" valid?',
    "log line: {} seen",
    "Here it is: {}\nThanks",
)
_FRAMES_BY_KIND = {
    "phone": (
        "Call {}",
        "Call me at {}.",
        "My number is {}, text me",
        "tel: {}",
        "Ruf mich unter {} an",
        "Appelle-moi au {}",
        "Llámame al {}",
        "{}",
        "reach us on {}",
        "Is {} a scam?",
        "phone {} or mail",
        "his mobile: {}",
    ),
    "plate": (
        "My licence plate is {}.",
        "car with number plate {} hit me",
        "Mein Kennzeichen ist {}.",
        "ma plaque d'immatriculation est {}",
        "license plate {}",
        "la matrícula es {}",
        "the car's registration number is {}",
    ),
    "wallet": (
        "Send it to {}",
        "my wallet is {}",
        "wallet address {}",
        "Who owns {}?",
        "I paid {} yesterday",
        "{}",
    ),
    "coordinates": (
        "I am at {}",
        "my house is at {}",
        "meet me at {}.",
        "{}",
        "Standort: {}",
        "position {} at noon",
    ),
    "private_key": ("{}", "why does this fail?\n{}", "key:\n{}"),
    "password": ("{}", "{}.", "help, {}", "For the router, {}", "note: {}", "I think {}"),
    "account": ("{}", "{}.", "Hello, {}, why was I charged?"),
    "imei": ("{}", "my phone has {}", "is {} stolen?"),
    "document": ("{}", "{}.", "Her {}.", "is {} expired?", "please renew {}"),
}


def positives(seed: int, each: int) -> list[tuple[str, str]]:
    """``each`` texts of every kind of identifier and statement, with their kind."""
    rng = random.Random(seed)
    out = []
    for kind, make in KINDS.items():
        frames = _FRAMES_BY_KIND.get(kind, _FRAMES)
        out += [(rng.choice(frames).format(make(rng)), kind) for _ in range(each)]
    for kind, make in STATEMENTS.items():
        out += [(make(rng), kind) for _ in range(each)]
    return out


_DIGIT_HEAVY: tuple[str, ...] = (
    "What is {d4} * {d4}?",
    "What is {d6} divided by {d2}?",
    "What are the prime factors of {d10}?",
    "Is {d12} a prime number?",
    "Convert {d9} to hexadecimal",
    "What date is the Unix timestamp 17{d8}?",
    "What is the population of a country with {c3} people in 2023?",
    "Who won in {y}?",
    "What happened on {y}-0{d1n}-1{d1}?",
    "What is new in version {d1n}.{d2}.{d1}.{d1}?",
    "Is ISBN 978-3-16-148410-0 valid?",
    "Which book has the ISBN 0-306-40615-2?",
    "What is {d2}% of {c2}?",
    "What is the square root of {d8}?",
    "How far is {c2} miles in km?",
    "Why is 192.168.0.{d2} not reachable from outside?",
    "What is 10.0.0.0/8?",
    "What does 127.0.0.1:{d4n} mean?",
    "How many hosts has 172.16.{d1}.0/24?",
    "Convert {b12} to decimal",
    "How many seconds are in {d3} days?",
    "What is the RGB of #{h6}?",
    "What does HTTP {d3} mean?",
    "Which country has the calling code +{d2n}?",
    "What is the distance of {c3} km in light years?",
    "What is in CID bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi?",
    "What is QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKS6cg?",
    "Bitcoin was at ${c2}.{d2} on {y}-05-1{d1}, why?",
    "Price of 1 ETH at block {d8}",
    "What is proposal {d3} about?",
    "pi is 3.14159265358979, what comes next?",
    "What is {d1n}.{d9}e{d2}?",
    "How many bytes are {d2} GiB, {c4}?",
    "What happened between {y} and {y}?",
    "RFC {d4n} section {d1n}.{d1n}.{d1n}",
    "CVE-20{d2}-{d5}: what is it?",
    "What is sha256 of abc: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "What is UUID 550e8400-e29b-41d4-a716-446655440000?",
    "commit {h40} of linux",
    "Is {d3},{d3},{d3} divisible by 3?",
    "EAN 40{d11}: which product?",
    "train departs 12:{d2m} and arrives 15:{d2m}",
    "What is the sum of {d5}, {d5} and {d5}?",
    "How many digits has 2^{d4}?",
    "Solve {d2}x + {d3} = {d4}",
    "Chrome 120.0.{d4}.{d3} release notes",
    "ECCN 5A{d3}",
    "What is CAS 7732-18-5?",
    "NGC {d4} distance",
    "Lakers {d3n}-{d3n} who won",
    "The world has 8,{d3},{d3},{d3} people; how many in cities?",
    "What do the numbers 4 8 15 16 23 42 mean?",
    "Wie viele Einwohner hat Berlin: 3.{d3}.{d3}?",
    "Combien font {d4} fois {d4} ?",
    "¿Cuánto es {d5} entre {d2}?",
    "Was ist {d3} mal {d3}?",
    "What year was 1{d3} BC?",
    "add {d2}/{d2} and {d1n}/{d2}",
    "asteroid ({d5}) orbit",
    "zip code {d5} which city",
    "flight BA{d4} to {y}",
)


def digit_heavy(seed: int, count: int) -> list[str]:
    """Knowledge questions full of digits that identify nobody."""
    rng = random.Random(seed)

    def one(shape: str) -> str:
        out = ""
        while "{" in shape:
            head, _, rest = shape.partition("{")
            name, _, shape = rest.partition("}")
            out += head
            if name[0] == "d":
                count = int("".join(filter(str.isdigit, name)))
                value = _digits(rng, count)
                if name.endswith("n") or count > 4:
                    value = rng.choice("123456789") + value[1:]
                out += f"{rng.randint(10, 59)}" if name.endswith("m") else value
            elif name[0] == "c":
                out += ",".join(
                    [
                        str(rng.randint(1, 999)),
                        *(f"{rng.randint(0, 999):03d}" for _ in range(int(name[1:]) - 1)),
                    ]
                )
            elif name == "y":
                out += str(rng.randint(1500, 2026))
            elif name[0] == "b":
                out += "1" + _some(rng, "01", int(name[1:]) - 1)
            else:
                out += _some(rng, _HEX, int(name[1:]))
        return out + shape

    return [one(rng.choice(_DIGIT_HEAVY)) for _ in range(count)]

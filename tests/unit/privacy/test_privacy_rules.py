"""Each rule of the privacy gate: what it finds by which name, and what of the same look it leaves alone."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from bench.privacylab.make import KINDS, STATEMENTS, digit_heavy
from node.privacy import load, private_reason

HAND = Path(__file__).parents[3] / "bench" / "privacylab" / "hand.jsonl"

FOUND = {
    "email": [
        "mail jane.doe@example.org",
        "jane (at) web (dot) de",
        "jane dot doe at gmail dot com",
        "correo: pepe arroba hotmail punto com",
    ],
    "ip": [
        "blocked 84.17.45.201.",
        "client 2a02:8108:46c0:1b70:f816:3eff:fe12:3456",
        "I logged in from 203.0.113.77",
    ],
    "mac": ["a4:83:e7:1b:2c:3d", "a483.e71b.2c3d on port 3"],
    "url_login": ["postgresql://app:secret@db.example.org/x"],
    "secret": [
        "AKIA1234567890ABCDEF",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "my password is sunshine",
        "PIN 4821",
        "wifi password Sommer2024",
        "api key: 9f8e7d6c5b4a39281706f5e4d3c2b1a0",
        "https://hooks.slack.com/services/T0AAAAAAA/B0AAAAAAA/abcdefghijklmnop12345678",
        "seed phrase: witch collapse practice feed shame open despair creek road again ice least",
    ],
    "private_key": ["-----BEGIN OPENSSH PRIVATE KEY-----"],
    "wallet": [
        "pay 1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    ],
    "iban": ["DE89 3704 0044 0532 0130 00", "send to nl91abna0417164300"],
    "card": ["4111 1111 1111 1111", "card 3782-822463-10005", "please block card 4012888888881881"],
    "national_id": [
        "536-90-4399",
        "SSN 536904399",
        "12345678Z",
        "RSSMRA85T10A562S",
        "390.533.447-05",
        "Reisepass C4VMVFJ4N3",
        "Steuer-ID 86 095 742 719",
        "ATU13585627",
    ],
    "phone": ["+49 171 2345678", "Call (415) 555-2671", "06 12 34 56 78", "Handy 017612345678"],
    "coordinates": ["52.520008, 13.404954", "52°31'12.3\"N 13°24'17.8\"E"],
    "address": ["deliver to 14 Station Road", "Gartenstr. 7, 79098 Freiburg"],
    "plate": ["My plate is B-MW 1234", "matrícula 1234 BCD"],
    "self_statement": [
        "my name is Ada",
        "Ich heiße Tom",
        "je m'appelle Zoé",
        "me llamo pepe",
        "I live in Kendal, near the station",
        "Ich wohne in Kassel",
        "J'habite à Lyon",
        "Vivo en Sevilla",
        "I was born on 4 July 1976",
        "I work at Siemens",
        "My salary is 54,000 a year",
        "I was diagnosed with lupus",
        "Viele Grüße\nSabine",
        "Cordiali saluti\nFiorella Neri",
        "-- \nnora lindqvist\nsent from my phone",
        '{"dob": "04/11/1983"}',
        "Geboortedatum: 03-06-1982",
        "Customer name: Orla Fennimore",
        "as a diabetic, may I eat mango every day?",
        "mia madre ha il diabete",
        "mijn dochter heeft epilepsie",
        "my last a1c was 9.1",
    ],
}
FOUND_TOO = {
    "card": ["visa4539148803436467 declined", "4539,1488,0343,6467", "pan=4539148803436467&x=1"],
    "ip": ["81.2.69.142/32 was banned", "81[.]2[.]69[.]142", "ip:2a02:8108:8ac0:1::5", "081.002.069.142"],
    "secret": ["curl -u jane:Trumpet77x https://example.org", "is xK9#mQ2v a strong password?"],
    "national_id": ["Is 15 070649 C 103 valid?", "Is 736028/5163 valid?"],
}


@pytest.mark.parametrize(
    ("reason", "text"),
    [(reason, text) for found in (FOUND, FOUND_TOO) for reason, texts in found.items() for text in texts],
)
def test_found_by_its_rule(reason: str, text: str) -> None:
    assert private_reason(text) == reason


@pytest.mark.parametrize(
    "text",
    [
        "How do I sort my list in Python?",
        "What is my IP address and how do I find it?",
        "Why does my cat purr?",
        "How can I lower my blood pressure?",
        "How do you say 'my name is Peter' in Japanese?",
        "Who directed Call Me by Your Name?",
        "What is 127.0.0.1?",
        "How do I log in to 192.168.1.1?",
        "What is 203.0.113.0/24 for?",
        "Is 192.0.2.1 a documentation address?",
        "Chrome 120.0.6099.109 and nginx 1.25.3.1",
        "Is 8.8.8.8 Google's?",
        "How does std::vector work?",
        "What is the MAC address ff:ff:ff:ff:ff:ff?",
        "git clone git@github.com:torvalds/linux.git fails",
        "npm install react@18.2.0",
        "Is ISBN 978-3-16-148410-0 valid?",
        "Is 4539578763621486 prime?",
        "What is 299 792 458 m/s in km/h?",
        "When was 1700000000 in unix time?",
        "What is bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi?",
        "What is QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKS6cg?",
        "UUID 123e4567-e89b-12d3-a456-426614174000",
        "What is the token contract 0xdAC17F958D2ee523a2206206994597C13D831ec7?",
        "Who owns 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa?",
        "Berlin lies at 52.52, 13.40",
        "https://api.open-meteo.com/v1/forecast?latitude=52.52437&longitude=13.41053&current=temperature_2m",
        "Who lives at 10 Downing Street?",
        "How long should a password be?",
        "password: str = Field(min_length=8)",
        'os.environ["API_KEY"] raises KeyError',
        "Which country has the code +358?",
        "Warum schnurrt meine Katze?",
        "Comment trier ma liste ?",
        "¿Por qué ronronea mi gato?",
    ],
)
def test_a_knowledge_question_stays_free(text: str) -> None:
    assert private_reason(text) is None


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("email", "ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ"),
        ("email", "an\u200bna@exam\u00adple.org"),
        ("email", "anna﹫example.org"),
        ("card", "４１１１ １１１１ １１１１ １１１１"),
        ("card", "4111\u00a01111\u20111111\u20071111"),
        ("phone", "٠٠٤٩١٧١٢٣٤٥٦٧٨"),
        ("phone", "+4\u200b9 171 2345678"),
        ("ip", "blocked 84。17。45。201"),
        ("self_statement", "my nаme is Viktor"),  # a Cyrillic а
        ("self_statement", "Je m’appelle Zoé"),
        ("secret", "АKIA1234567890ABCDEF"),  # a Cyrillic А
    ],
)
def test_folded_as_a_reader_sees_it(reason: str, text: str) -> None:
    assert private_reason(text) == reason


def test_any_of_the_texts_counts() -> None:
    assert private_reason("price of btc", "", "tag", "see jane@example.org") == "email"
    assert private_reason("price of btc", "", "tag") is None
    assert private_reason() is None


def test_too_long_and_too_many() -> None:
    assert private_reason("a " * 40_000) == "too_long_to_screen"
    assert (
        private_reason(" x ".join(str(1_000_003 + 7 * place) for place in range(400))) == "too_many_numbers"
    )


def test_load_can_be_called_again() -> None:
    load()
    load()
    assert private_reason("What is 2+2?") is None


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_that_the_generator_makes(kind: str) -> None:
    """Under another seed than the table's, with no word beside it but where the kind needs one."""
    rng = random.Random(7)
    frame = {"plate": "number plate {}"}.get(kind, "{}")
    made = [frame.format(KINDS[kind](rng)) for _ in range(40)]
    assert [text for text in made if private_reason(text) is None] == []


@pytest.mark.parametrize("kind", sorted(STATEMENTS))
def test_statements_that_the_generator_makes(kind: str) -> None:
    rng = random.Random(8)
    made = [STATEMENTS[kind](rng) for _ in range(60)]
    assert sum(private_reason(text) is not None for text in made) >= 0.8 * len(made)


def test_digit_heavy_questions_stay_free() -> None:
    found = [text for text in digit_heavy(9, 400) if private_reason(text) is not None]
    assert len(found) <= 0.01 * 400, found


def test_what_was_written_by_hand() -> None:
    """A classifier errs; more often than so it must not, on what it was fitted to."""
    rows = [json.loads(line) for line in HAND.read_text(encoding="utf-8").splitlines()]
    wrong = [row["text"] for row in rows if (private_reason(row["text"]) is None) == (row["kind"] != "none")]
    assert len(wrong) <= 0.02 * len(rows), wrong


@pytest.mark.parametrize(
    "part",
    [
        "my ",
        "a@",
        "@",
        "a-",
        "1.1.1.",
        "+1 ",
        "i am ",
        "I am A ",
        "password: ",
        "eyJa.",
        "4111 1111 ",
        "(at)",
        "my bank account ",
        "1:",
        "i have a ",
        "° ",
    ],
)
def test_hostile_text_is_read_in_one_go(part: str) -> None:
    """Rules that tried every start anew would take minutes here: the limit on a test's time says so."""
    private_reason((part * (65_536 // len(part) + 1))[:65_536])


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("self_statement", "Yours faithfully, Dr. P. J. Harrow"),
        ("self_statement", "Tenant: Hilde Vandersteen"),
        ("self_statement", "Please send the draft to me, Olamide Bassey."),
        ("self_statement", "first name Bruno, last name Castagna"),
        ("self_statement", "just call me ziggy"),
        ("self_statement", "My name is spelled B-R-U-N-O"),
        ("ip", "my printer is 192.168.71.30"),
        ("ip", "ssh root@10.61.20.44 hangs"),
        ("ip", "fe80::a00:27ff:fe4e:66a1%en0"),
        ("secret", "the gate code is 5580"),
        ("secret", "WPA2 key sunny-boat-42"),
        ("secret", "the backup is protected with Kestrel_41"),
        ("account", "pay into 20-11-43 / 12345678"),
        ("phone", "(022) 19673 was on the note"),
        ("address", "12 Heron Quays, Truro TR1 2HX is for sale"),
    ],
)
def test_found_in_running_words(reason: str, text: str) -> None:
    assert private_reason(text) == reason


@pytest.mark.parametrize(
    "text",
    [
        "Is 192.168.1.20 a private address?",
        "server 10.0.0.5:8080 in an upstream block, what does weight do?",
        "Docker containers get 172.17.0.2, why?",
        "Files encrypted with AES-256-GCM, how long to crack?",
        "Is 1234 a common PIN?",
        "For me, Microsoft Word crashes on start.",
        "People call me crazy for using vim",
        "I own 3 Apple Watches",
    ],
)
def test_free_although_it_looks_alike(text: str) -> None:
    assert private_reason(text) is None

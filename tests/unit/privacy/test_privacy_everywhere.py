"""Accounts, telephones, names, birth dates and streets in many languages; and what only looks like them."""

from __future__ import annotations

import pytest

from node.privacy import introductions, labelled, load, passwords, phones, places, private_reason, samples
from node.privacy.text import Text


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    load()


@pytest.mark.parametrize(
    "text",
    [
        "Stadtwerke Kundennr 4471-882 haben mich doppelt abgebucht",
        "my electricity meter 21 E 4409877 reads lower than last month",
        "BSB 063-118 acc 1029 4471, is that right for my boss?",
        "mi póliza 77-123884-B no cubre el robo",
        "klantnummer 88123409, hoe zeg ik op?",
        "moja umowa nr 2023/118/77412 wygasa w maju",
        "číslo smlouvy 5512039988, jak ji vypovím?",
        "договор № 118-44920, как расторгнуть?",
        "お客様番号は 4482-0091-33 です",
        "Why do I have two client numbers? EX 0417 2296 and EX 0588 1130.",
    ],
)
def test_an_account_by_the_words_beside_it(text: str) -> None:
    assert private_reason(text) in ("account", "national_id", "self_statement")


@pytest.mark.parametrize(
    "text",
    [
        "A loan of 250,000 at 4 % over 30 years",
        "mortgage 300000 euros, what rate?",
        "customer count rose to 120000 in 2022",
        "account 1200 in DATEV is bank",
        "In our textbook the customers are 10001 Smith and 10002 Jones",
        "the account is locked until 2030-01-01T00:00Z",
        "Roe v. Wade, 410 U.S. 113 (1973), the case in short",
        "patients 12345 in the trial, 20 % placebo",
    ],
)
def test_no_account(text: str) -> None:
    assert labelled.find(Text.of(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        "携帯は090-4482-1190です",
        "제 번호는 010-4482-1190 입니다",
        "我的手机是13822094471",
        "мой номер 8 916 220 11 84",
        "numeroni on 040 772 1190, soita",
        "Hvis nogen finder min nøgle: 34 71 40 29",
        "mój numer 602 118 774",
        "cep telefonum 0532 448 11 09",
    ],
)
def test_a_national_telephone_number_where_its_language_is_spoken(text: str) -> None:
    assert phones.find(Text.of(text)) == "phone"


@pytest.mark.parametrize(
    "text",
    [
        "Danmarks folketal er 5 932 654",
        "Sverige har 10 551 707 invånare",
        "the tax office's helpline: 0300 200 3310",
        "The White House switchboard is 202-456-1414",
        "museum phone? They answer on +44 20 7942 2000",
    ],
)
def test_no_ones_telephone_number(text: str) -> None:
    assert phones.find(Text.of(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        "меня зовут Пелагея Лукошина, нужен стих",
        "私の名前は小野田遥です",
        "제 이름은 황보유린이에요",
        "nga quhem Besnik Hoxha dhe dua të mësoj",
        "nazywam się Bożydar Krzeszowski",
        "我叫欧阳若溪",
        "Jag heter Sixten Ågren",
    ],
)
def test_a_name_by_which_somebody_is_introduced(text: str) -> None:
    assert introductions.find(Text.of(text)) == "self_statement"


@pytest.mark.parametrize(
    "text",
    [
        'Как сказать "меня зовут Иван" по-китайски?',
        "我叫什么名字好？",
        "我是高中生，怎么学数学？",
        "저는 한국인입니다. 영어로 번역해 주세요",
        "Jackie Chan's birthday: 7 April 1954",
        "När föddes Astrid Lindgren? 14 november 1907",
        "太宰治は1909年6月19日に生まれた",
    ],
)
def test_nobody_is_introduced(text: str) -> None:
    assert introductions.find(Text.of(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        "In test mode you pay with the card 4242 4242 4242 4242",
        "is 4111 1111 1111 1111 real? No, the classic test number",
        "Example in the handbook: DE89 3704 0044 0532 0130 00.",
        "which number was printed in wallets? 078-05-1120, and thousands used it",
        "user = User(email='john@example.com') is a placeholder",
        '"My name is Bond, James Bond" was first said in 1962.',
        "Hello, my name is Inigo Montoya. - which film",
        "Elvis lived at 3764 Elvis Presley Boulevard, better known as Graceland",
    ],
)
def test_samples_and_lines_of_films_are_nobodys(text: str) -> None:
    read = samples.bared(Text.of(text))
    known = (labelled.find, phones.find, introductions.find, places.find_address)
    assert [rule(read) for rule in known] == [None] * len(known)
    assert private_reason(text) in (None, "self_statement")


@pytest.mark.parametrize(
    "text",
    [
        "my card 4242 4242 4242 4242 was refused in a test",
        "4111 1111 1111 1111",
        "for example my IBAN DE89 3704 0044 0532 0130 00",
        "as an example, reach me at jane.doe@example.org",
    ],
)
def test_a_sample_that_somebody_calls_theirs_is_private(text: str) -> None:
    assert private_reason(text) is not None


def test_a_blank_stands_between_a_number_and_a_writing_without_blanks() -> None:
    assert Text.of("番号は090です").text == "番号は 090 です"


@pytest.mark.parametrize(
    "text",
    [
        "tried to ssh as deploy with hunter-Gatherer5 and got permission denied",
        "the wifi for guests this weekend is pancakesunday, put it on a sign",
        "A friend logs on to my Spotify (kazoo.Kazoo.3!).",
        "our garage keypad used to be 5512, now blinks red",
        'I set "unicornpoop" as the code of her tablet',
        'How long to crack mine? "Kr@ken2Go".',
        "could you make Wombat71 better? it's for the bank",
    ],
)
def test_a_secret_by_what_it_opens(text: str) -> None:
    assert private_reason(text) in ("secret", "self_statement")


@pytest.mark.parametrize(
    "text",
    [
        "Combination lock on a suitcase: factory setting 0-0-0.",
        "Where does Chrome keep saved passwords on Windows?\nA: In a SQLite file called Login Data.",
        "I use Python3.11 on two sites, is it safe?",
        "log in (top right) and press settings",
        "the wifi standard is backwards compatible",
    ],
)
def test_no_secret(text: str) -> None:
    assert passwords.find(Text.of(text)) is None

"""Secrets told in running words: what counts as told, what is said of secrets in general."""

from __future__ import annotations

import pytest

from node.privacy import load, passwords, private_reason
from node.privacy.text import Text


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    load()


def _found(text: str) -> str | None:
    return passwords.find(Text.of(text))


@pytest.mark.parametrize(
    "text",
    [
        "the wifi code at mine is hunter22",
        "pasword is Elefant1999 and it says wrong",
        "Passwort lautet Gießkanne88, wird aber nicht angenommen",
        "mijn wachtwoord is Stroopwafel9! maar DigiD zegt ongeldig",
        "moje hasło: Pierogi!2020",
        "pw: same as always, Dackel2008! - why was it found in a breach",
        "password for the zip is marzipan, why does it say wrong password",
        'KeePass master = "7 Störche tanzen um Mitternacht", how many bits of entropy',
        "passphrase for my ssh key: 'copper tulip in a boat 61'",
        'I put "daisyduke" as my ipad password',
        "login with bob / Sommer2019! gives 401",
        'Guest wifi "Loft" / "bringyourowncheese"',
        'psk="dasistunserwlanhausmeister77" in wpa_supplicant.conf',
        "redis requirepass butterbrezel in redis.conf",
        'echo "Gurkenglas7" | sudo -S apt update',
        "my pin's 4417 and the machine ate the card",
        "I told my colleague the alarm code (7731#)",
        "bike lock is 6-0-3-9, cable cut",
        "mi clave de la caja fuerte es 73-11-20",
        "my card pin is zero five six one",
        "PayPal: 295 118 is your security code",
        "My phone unlock pattern: top left, centre, bottom right, bottom left",
        "the seed phrase is: orbit camel thrive onion velvet panda jungle cricket ladder ahead mutual spoon",
        "my wallet words: 1 pear 2 canoe 3 salmon 4 velvet 5 tunnel 6 badge 7 echo",
        'Sicherheitsfrage Lieblingsessen, Antwort "Maultaschen"',
        "my memorable word for the bank is periwinkle",
        "how long to crack Dragonfruit-7-Lemur, asking because I use it for paypal",
    ],
)
def test_a_secret_is_told(text: str) -> None:
    """By a word for a secret, or by what the text as a whole looks like."""
    assert private_reason(text) in ("secret", "self_statement")


@pytest.mark.parametrize(
    "text",
    [
        "What is a strong password?",
        "is 123456 a common password",
        "How do I reset my password on Ubuntu?",
        "the password is case sensitive, isn't it",
        "my password is too long for the old router",
        'password = input("Password: ") echoes, how to hide it?',
        "password: string; in a TypeScript interface",
        "Set POSTGRES_PASSWORD=changeme in the example, then change it",
        "Default credentials for Tomcat manager: tomcat/s3cret",
        "In The Lord of the Rings the password to Moria is mellon",
        "Which pin is VIN on the ESP32?",
        "PIN 560001 is Bangalore GPO",
        "most common PIN is 1234, then 1111 and 0000",
        "mountain pass Stelvio 2757 m opening dates",
        "What does error code 1603 mean?",
        "The safe load is 4800 N",
        "What is a seed phrase? Twelve or twenty-four words from a list",
        "Which security question is the hardest to guess?",
        "ssh login without password: ssh-keygen, then ssh-copy-id",
        "I use Python3 for everything, is that good?",
    ],
)
def test_what_is_said_of_secrets_in_general_stays_free(text: str) -> None:
    assert _found(text) is None


def test_somebodys_own_counts_even_among_examples() -> None:
    assert _found("an example of a bad password is Kranich77") is None
    assert _found("an example of a bad password is my own, Kranich77") == "secret"


def test_more_words_for_secrets_than_are_read_count_as_one_told() -> None:
    assert _found("What is a password? " * 100) is None
    assert _found("What is a password? " * 300) == "secret"


@pytest.mark.parametrize(
    ("shown", "odd"),
    [("required", 0), ("sha-256", 0), ("changeme", 0), ("marzipan", 1), ("Kreide-Tafel", 2), ("Blue42x", 3)],
)
def test_how_odd_a_value_looks(shown: str, odd: int) -> None:
    assert passwords.oddness(shown, False) == odd

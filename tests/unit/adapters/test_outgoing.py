"""What may leave the node: no identifiers, no secrets, nothing of the asker's own; names and terms pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adapters.outgoing import may_leave
from tests.each import each


@each(
    "text",
    [
        "jane.roe@example.com",
        "jane at example dot com",
        "Jane Roe, SSN 123-45-6789",
        "phone number of Jane Roe 555-123-4567",
        "(555) 123 4567",
        "+49 30 1234567",
        "４１１１ １１１１ １１１１ １１１１",
        "DE89 3704 0044 0532 0130 00",
        "1234567",
        "hunter2",
        "hun\u200bter2",
        "Tr0ub4dor&3",
        "private key a1b2c3d4e5f6",
        "user 0xAbC123def",
        "deadbeefcafebabe",
        "QmYwAPJzvCZsnAzGsXfYnemtYgPpHdWEzjojWKPBdG",
        "diagnosis of Jane Roe",
        "Jane Roe’s salary",
        "patient in room 12",
        "secret of Jane Roe",
        "contraseña de Juan",
        "mot de passe de Jean",
        "Passwort von Hans",
        "indirizzo di Maria",
        "endereço da Maria",
        "パスワード abc",
        "пароль ивана",
        "maria lopez from 12 elm street, berlin",
        "Hauptstraße 12",
        "12 rue de la Paix",
        "calle mayor 5, madrid",
        "my notes",
        "meine Firma",
        "mon chef",
        "mi jefe",
        "x" * 2_000,
    ],
)
def test_what_may_be_private_stays(text: str) -> None:
    assert not may_leave(text)


@each(
    "text",
    [
        "Ada Lovelace",
        "My Fair Lady",
        "Gettysburg Address",
        "English Patient",
        "private key",
        "a password",
        "1inch",
        "covid-19",
        "2024",
        "mp3",
        "area 51",
        "catch 22",
        "proposal 123",
        "1914-1918",
        "2024-01-01",
        "21 March 2020",
        "Treaty of Versailles 28 June 1919",
        "Bundesliga 2023-24",
        "1,000,000",
        "sha256",
        "1980s",
        "C6H12O6",
        "0x",
        "42nd street",
        "10 Downing Street",
        "ens working group budget q3 2025",
    ],
)
def test_names_terms_and_years_pass(text: str) -> None:
    assert may_leave(text)


@given(st.text(max_size=300))
def test_it_is_total(text: str) -> None:
    assert may_leave(text) in (True, False)


@given(st.text(max_size=40), st.from_regex(r"\A[1-9]\d{2}-\d{2}-\d{4}\Z"), st.text(max_size=40))
def test_a_number_of_a_person_stays_whatever_stands_around(before: str, number: str, after: str) -> None:
    assert not may_leave(f"{before} {number} {after}")

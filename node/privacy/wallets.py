"""Addresses of wallets, by their checksums where their kind has one.

Pure. An address is an account's name for good, and every payment to it is public, so it is an identifier
without any word beside it. Free are addresses that belong to no person: zero and burn addresses, the first
Bitcoin block's, and contracts, which are named with the word contract or token and without anybody's own.
"""

from __future__ import annotations

import hashlib
import re

from stdnum import bitcoin

from node.privacy.text import Text

_ETHER = re.compile(r"(?<![0-9A-Za-z])0x[0-9a-fA-F]{40}(?![0-9A-Za-z])")
_SEPARATED = re.compile(r"1[02-9ac-hj-np-z]{20}|h:[qp]")
_BASE58 = re.compile(r"(?<![0-9A-Za-z])[1-9A-HJ-NP-Za-km-z]{25,110}(?![0-9A-Za-z])")
_BECH32 = re.compile(
    r"(?<![0-9A-Za-z])(?:(?:bc|tb|ltc|addr|stake|cosmos|osmo|bnb|terra|secret|inj|celestia|kava|juno"
    r"|thor|one|zil|npub|nsec)1"
    r"[02-9ac-hj-np-z]{20,110}|bitcoincash:[qp][02-9ac-hj-np-z]{41})(?![0-9A-Za-z])",
    re.IGNORECASE,
)
_WORDS = frozenset(
    [
        "wallet",
        "wallets",
        "address",
        "addresses",
        "solana",
        "sol",
        "phantom",
        "monero",
        "xmr",
        "btc",
        "bitcoin",
        "eth",
        "ethereum",
        "usdt",
        "usdc",
        "tron",
        "trx",
        "xrp",
        "ripple",
        "dogecoin",
        "doge",
        "litecoin",
        "ltc",
        "crypto",
        "brieftasche",
        "portefeuille",
        "billetera",
        "monedero",
        "cartera",
        "coins",
        "token",
        "polkadot",
        "dot",
        "kusama",
        "tezos",
        "stellar",
        "xlm",
        "algorand",
        "near",
        "aptos",
        "sui",
        "adresse",
        "dirección",
        "direccion",
    ]
)
_ALPHABET = {
    char: place for place, char in enumerate("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
}
_RIPPLE = str.maketrans(
    "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz",
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
)
_NOBODYS = frozenset(
    [
        "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa".lower(),  # the first block's
        "1BitcoinEaterAddressDontSendf59kuE".lower(),
        "1111111111111111111114oLvT2".lower(),
        "0x" + "0" * 40,
        "0x000000000000000000000000000000000000dead",
        "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
    ]
)
_CONTRACT = re.compile(
    r"\b(?:contracts?|tokens?|erc-?\d+|uniswap|router|proxy|deployed|vertrag\w*|contrat\w*"
    r"|contrato\w*|dao|multisig|treasury)\b"
)
_OWN = re.compile(
    r"\b(?:my|mine|our|me|i|wallet|mein\w{0,2}|mir|mich|mon|ma|moi|mi|mis|billetera|send|pay|donate"
    r"|donations?|tip)\b"
)
_ADDRESSES_MAX = 256


def find(read: Text) -> str | None:
    """``wallet`` or None."""
    for count, found in enumerate(_ETHER.finditer(read.text) if "0x" in read.lower else ()):
        if count >= _ADDRESSES_MAX:
            return "wallet"
        if found[0].lower() in _NOBODYS:
            continue
        around = read.before(found.start(), 80) + " " + read.after(found.end(), 40)
        if not _CONTRACT.search(around) or _OWN.search(around):
            return "wallet"
    for found in _BECH32.finditer(read.text) if _SEPARATED.search(read.lower) else ():
        if any(char.isdigit() for char in found[0][5:]):
            return "wallet"
    for count, found in enumerate(_BASE58.finditer(read.text)):
        if count >= _ADDRESSES_MAX:
            return "wallet"
        if _is_base58(read, found[0], found.start()):
            return "wallet"
    return None


def _is_base58(read: Text, word: str, start: int) -> bool:
    if word.lower() in _NOBODYS or word.startswith("Qm") or word.isalpha() or word.isdigit():
        return False
    if 25 <= len(word) <= 35:
        if word[0] in "13" and bitcoin.is_valid(word):
            return True
        if word[0] in "LMDTtmn29AXG" and _checks(word):
            return True
        if word[0] == "r" and _checks(word.translate(_RIPPLE)):
            return True
    if len(word) in (95, 106) and word[0] in "48":  # Monero
        return True
    around = re.findall(r"\w+", read.before(start, 80)) + re.findall(
        r"\w+", read.after(start + len(word), 40)
    )
    named = not _WORDS.isdisjoint(around)
    mixed = any(char.islower() for char in word) and any(char.isupper() for char in word)
    return named and mixed and len(word) <= 60 and any(char.isdigit() for char in word)


def _checks(word: str) -> bool:
    """Whether a Base58Check text's last four bytes agree with the others."""
    number = 0
    for char in word:
        number = number * 58 + _ALPHABET[char]
    if number.bit_length() > 25 * 8:
        return False
    data = number.to_bytes(25, "big")
    return hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]

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
from node.privacy.words import fill, listed, word

_ETHER = re.compile(r"(?<![0-9A-Za-z])0x[0-9a-fA-F]{40}(?![0-9A-Za-z])")
_SEPARATED = re.compile(r"1[02-9ac-hj-np-z]{20}|h:[qp]")
_BASE58 = re.compile(r"(?<![0-9A-Za-z])[1-9A-HJ-NP-Za-km-z]{25,110}(?![0-9A-Za-z])")
_BECH32 = re.compile(
    fill(
        r"(?<![0-9A-Za-z])(?:<chains>1[02-9ac-hj-np-z]{20,110}|bitcoincash:[qp][02-9ac-hj-np-z]{41})(?![0-9A-Za-z])"
    ),
    re.IGNORECASE,
)
_BITCOIN = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ALPHABET = {char: place for place, char in enumerate(_BITCOIN)}
_RIPPLE = str.maketrans("rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz", _BITCOIN)
_ADDRESSES_MAX = 256


def find(read: Text) -> str | None:
    """``wallet`` or None."""
    for count, found in enumerate(_ETHER.finditer(read.text) if "0x" in read.lower else ()):
        around = read.around(found.start(), found.end(), 80, 40)
        is_contract = word("contracts").search(around) and not word("me", "pays").search(around)
        is_free = is_contract or found[0].lower() in listed("nobodys_wallets")
        if count >= _ADDRESSES_MAX or not is_free:
            return "wallet"
    for found in _BECH32.finditer(read.text) if _SEPARATED.search(read.lower) else ():
        if any(map(str.isdigit, found[0][5:])):
            return "wallet"
    for count, found in enumerate(_BASE58.finditer(read.text) if read.longest >= 25 else ()):
        if count >= _ADDRESSES_MAX or _is_base58(read, found[0], found.start()):
            return "wallet"
    return None


def _is_base58(read: Text, code: str, start: int) -> bool:
    if code.lower() in listed("nobodys_wallets") or code.startswith("Qm") or code.isalpha() or code.isdigit():
        return False
    if 25 <= len(code) <= 35:
        if code[0] in "13" and bitcoin.is_valid(code):
            return True
        if code[0] in "LMDTtmn29AXG" and _checks(code):
            return True
        if code[0] == "r" and _checks(code.translate(_RIPPLE)):
            return True
    if len(code) in (95, 106) and code[0] in "48":  # Monero
        return True
    if len(code) > 60 or not (any(map(str.islower, code)) and any(map(str.isupper, code))):
        return False
    return word("wallets").search(read.around(start, start + len(code), 80, 40)) is not None


def _checks(code: str) -> bool:
    """Whether a Base58Check text's last four bytes agree with the others."""
    number = 0
    for char in code:
        number = number * 58 + _ALPHABET[char]
    if number.bit_length() > 25 * 8:
        return False
    data = number.to_bytes(25, "big")
    return hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]

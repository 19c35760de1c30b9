"""The keys of a node in one file beside its backups: sealed by a passphrase, or plain where that is wanted.

Format ``neuroswarm/keys/v1``, JSON: ``{"format", "kdf": {"n", "r", "p", "salt"} | null, "nonce", "keys"}``,
values of bytes in base64. ``keys`` is JSON too, file names to bytes; under a passphrase it is sealed with
AES-256-GCM (associated data: the format) and a key by scrypt (RFC 7914). Keys of the log's commitments are
left out: what they open is to be forgettable, and there is one for each entry. Pure, but for random bytes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from node.core.clock import random_bytes
from node.core.errors import CorruptState, Rejected

FORMAT = "neuroswarm/keys/v1"
FILE_BYTES_MAX = 2**30
N, R, P = 2**17, 8, 1
"""128 MiB and a third of a second for each guess; no file may ask for more."""
_SALT_BYTES, _NONCE_BYTES = 16, 12
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)


def seal(keys: Mapping[str, bytes], passphrase: str) -> bytes:
    """The file; an empty ``passphrase`` leaves it plain."""
    plain = orjson.dumps({name: base64.b64encode(data).decode() for name, data in keys.items()})
    if not passphrase:
        return orjson.dumps({"format": FORMAT, "kdf": None, "nonce": "", "keys": _text(plain)})
    salt, nonce = random_bytes(_SALT_BYTES), random_bytes(_NONCE_BYTES)
    key = Scrypt(salt=salt, length=32, n=N, r=R, p=P).derive(passphrase.encode())
    sealed = AESGCM(key).encrypt(nonce, plain, FORMAT.encode())
    kdf = {"n": N, "r": R, "p": P, "salt": _text(salt)}
    return orjson.dumps({"format": FORMAT, "kdf": kdf, "nonce": _text(nonce), "keys": _text(sealed)})


def is_sealed(data: bytes) -> bool:
    """Whether a passphrase is needed. Raises ``CorruptState``."""
    return _parsed(data)["kdf"] is not None


def open_keys(data: bytes, passphrase: str) -> dict[str, bytes]:
    """File names and contents of an untrusted file. Raises ``Rejected`` (the passphrase),
    ``CorruptState``."""
    said = _parsed(data)
    try:
        body = _bytes(said["keys"])
        if (kdf := said["kdf"]) is not None:
            if (kdf["n"], kdf["r"], kdf["p"]) != (N, R, P):
                raise CorruptState("the key file asks for another key derivation than this program makes")
            key = Scrypt(salt=_bytes(kdf["salt"]), length=32, n=N, r=R, p=P).derive(passphrase.encode())
            body = AESGCM(key).decrypt(_bytes(said["nonce"]), body, FORMAT.encode())
        found = {name: _bytes(text) for name, text in orjson.loads(body).items()}
    except InvalidTag as exc:
        raise Rejected("the passphrase is not that of the key file, or the file is damaged") from exc
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise CorruptState("the key file is damaged") from exc
    if not all(_NAME.fullmatch(name) and name.strip(".") for name in found):
        raise CorruptState("the key file names a file that is no key's")
    return found


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        said = orjson.loads(data)
    except orjson.JSONDecodeError as exc:
        raise CorruptState("this is no key file") from exc
    if not isinstance(said, dict) or said.get("format") != FORMAT or "kdf" not in said:
        raise CorruptState("this is no key file of this program")
    return said


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: object) -> bytes:
    return base64.b64decode(str(text), validate=True)

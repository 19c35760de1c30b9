"""Known answers that other implementations made: public test vectors of the specifications, and bytes that
js-ipns, js-unixfs and js-car wrote for the tests of this directory. ``vectors.txt`` says which is whose."""

from __future__ import annotations

from base64 import b64decode

from tests.unit.cache.tables import rows

_KNOWN = {case: (name, b64decode(data)) for case, name, data in rows(__file__, "vectors.txt")}

SPECIFICATION_RECORDS = {case: known for case, known in _KNOWN.items() if case.startswith("v")}
"""Name of the case → IPNS name, record."""

JS_ED25519_NAME, JS_ED25519_RECORD = _KNOWN["ed25519"]
JS_ED25519_PEER = "12D3KooWA4Xop1JaT3MHxwYMkCepYsv4iPVopMXwCz5iHYdBfeSB"
JS_ED25519_UNTIL = "2126-10-29T16:44:01.016000000Z"
JS_RSA_NAME, JS_RSA_RECORD = _KNOWN["rsa"]
JS_RSA_PEER = "QmSsc6aM8CrhQv463snGfwcroAjWN1PUERmoHiakFxhVNk"
JS_FILE_CAR, JS_SHARD, JS_SUB_SHARD = (_KNOWN[case][1] for case in ("file.car", "shard", "sub shard"))

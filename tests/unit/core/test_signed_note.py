"""Signed notes, checkpoints, cosignatures and verifier keys: published examples, and what must be refused."""

from __future__ import annotations

import base64
import hashlib
import struct
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from node.core.errors import Misconfigured, Rejected
from node.core.signed_note import (
    COSIGNATURE,
    ED25519,
    ML_DSA_44,
    NOTE_BYTES_MAX,
    SIGNATURES_MAX,
    BadTrustedSignature,
    Checkpoint,
    CosignatureSigner,
    Ed25519Signer,
    MalformedNote,
    MlDsaCosigner,
    Note,
    NoTrustedSignature,
    Signature,
    Verifier,
    cosigned,
    open_checkpoint,
)
from tests.each import each
from tests.tlog_memory import ORIGIN, log_signer, private_key, witness_signer

# C2SP signed-note, "Example".
FOO_VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
FOO_NOTE = """This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
""".encode()

# The documentation of golang.org/x/mod/sumdb/note.
PETER_VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
ENOCH_VKEY = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
PETER_NOTE = """If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=
""".encode()

# C2SP tlog-cosignature: parsed here; its keys are not published.
SOFA_NOTE = """example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
""".encode()  # noqa: E501 - the line is the example, to the byte

ROOT = hashlib.sha256(b"root").digest()
CHECKPOINT = Checkpoint(ORIGIN, 42, ROOT)
TEXT = CHECKPOINT.text()
TIME_S = 1_700_000_000


def note_of(*lines: bytes, text: bytes = TEXT) -> bytes:
    return text + b"\n" + b"".join(lines)


# --- published examples ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vkey", "name", "key_id"),
    [
        (FOO_VKEY, "example.com/foo", "530d903a"),
        (PETER_VKEY, "PeterNeumann", "c74f20a3"),
        (ENOCH_VKEY, "EnochRoot", "af0cfe78"),
        (
            "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8",
            "sum.golang.org",
            "033de0ae",
        ),
    ],
)
def test_published_verifier_keys(vkey: str, name: str, key_id: str) -> None:
    verifier = Verifier.from_vkey(vkey)
    assert (verifier.name, verifier.kind, verifier.key_id.hex()) == (name, ED25519, key_id)
    assert verifier.vkey == vkey
    assert not verifier.is_cosigner


def test_published_notes_verify() -> None:
    foo = Note.parse(FOO_NOTE)
    assert foo.encode() == FOO_NOTE
    assert Verifier.from_vkey(FOO_VKEY).check(foo.text, foo.signatures[0]) is None
    peter = Note.parse(PETER_NOTE)
    assert peter.encode() == PETER_NOTE
    for vkey, signature in zip((PETER_VKEY, ENOCH_VKEY), peter.signatures, strict=True):
        Verifier.from_vkey(vkey).check(peter.text, signature)
        with pytest.raises(BadTrustedSignature):
            Verifier.from_vkey(vkey).check(foo.text, signature)


def test_the_published_checkpoint_is_parsed() -> None:
    note = Note.parse(SOFA_NOTE)
    checkpoint = Checkpoint.parse(note.text)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20_852_163)
    assert checkpoint.text() == note.text
    witness = note.signatures[1]
    assert (witness.name, witness.key_id.hex()) == ("witness.example.com/w1", "8d66cf3f")
    assert len(witness.blob) == 72
    assert int.from_bytes(witness.blob[:8], "big") == 1_679_315_147  # the time in the specification's message
    assert note.encode() == SOFA_NOTE


# --- checkpoints ----------------------------------------------------------------------------------


def test_a_checkpoint_is_three_lines() -> None:
    root64 = base64.b64encode(ROOT)
    assert CHECKPOINT.text() == b"example.com/log\n42\n" + root64 + b"\n"
    assert Checkpoint.parse(TEXT) == CHECKPOINT
    assert Checkpoint.parse(b"a b+c\n0\n" + root64 + b"\n") == Checkpoint("a b+c", 0, ROOT)
    largest = Checkpoint("o", 2**63 - 1, ROOT)
    assert Checkpoint.parse(largest.text()) == largest


def test_extension_lines_are_passed_over_and_signed() -> None:
    extended = TEXT + b"extension 1\nextension 2\n"
    assert Checkpoint.parse(extended) == CHECKPOINT
    for signer in (log_signer(), witness_signer(1)):
        signature = signer.sign(extended, TIME_S)
        signer.verifier.check(extended, signature)
        with pytest.raises(BadTrustedSignature):
            signer.verifier.check(TEXT, signature)
    data = note_of(log_signer().sign(extended, 0).line(), text=extended)
    opened = open_checkpoint(data, [log_signer().verifier])
    assert opened.checkpoint == CHECKPOINT
    assert opened.note.text == extended


R64 = base64.b64encode(ROOT).decode()


@each(
    "text",
    [
        *("", "\n", "o\n", "o\n1\n", "o\n1\n\n", f"o\n1\n{R64}", f"o\n1\n{R64}\n\n", f"\n1\n{R64}\n"),
        *(f"o\n\n{R64}\n", f"o\n1\n{R64}\nextension\n\n", f"o\r\n1\r\n{R64}\r\n"),
        *(f"o\t\n1\n{R64}\n", f"o\x00\n1\n{R64}\n"),
        *(
            f"o\n{size}\n{R64}\n"
            for size in ("01", "00", "+1", "-1", " 1", "1 ", "1_0", "٣", "0x1", "1.0", 2**63, 10**30)
        ),
        *(f"o\n1\n{root}\n" for root in (R64.rstrip("="), R64 + " ", R64[:-4], R64 + "====", ROOT.hex())),
        *(f"o\n1\n{base64.b64encode(root).decode()}\n" for root in (ROOT[:31], ROOT + b"x")),
        f"o\n1\n{R64.replace('/', '_').replace('+', '-')}!\n",
    ],
)
def test_other_texts_are_no_checkpoints(text: str) -> None:
    with pytest.raises(MalformedNote):
        Checkpoint.parse(text.encode())


def test_base64_has_one_spelling() -> None:
    # The last character before one "=" holds two bits that no byte uses.
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = alphabet.index(R64[-2])
    for stray in (1, 2, 3):
        with pytest.raises(MalformedNote):
            Checkpoint.parse(f"o\n1\n{R64[:-2]}{alphabet[last ^ stray]}=\n".encode())


@pytest.mark.parametrize(
    ("origin", "size", "root"),
    [
        *(("", 1, ROOT), ("a\nb", 1, ROOT), ("a\rb", 1, ROOT), ("\ud800", 1, ROOT)),
        *(("o", -1, ROOT), ("o", 2**63, ROOT), ("o", 1, ROOT[:31])),
    ],
)
def test_impossible_checkpoints_are_refused(origin: str, size: int, root: bytes) -> None:
    with pytest.raises(MalformedNote):
        Checkpoint(origin, size, root)


# --- notes ----------------------------------------------------------------------------------------

LINE = log_signer().sign(TEXT, 0).line()
B64 = LINE.split(b" ")[2].strip()


@each(
    "data",
    [
        b"",
        b"\n\n",
        *(TEXT, TEXT + b"\n", TEXT + LINE, b"\n" + LINE, note_of(LINE[:-1]), note_of(LINE) + b"\n"),
        *(note_of(LINE + b"\n", LINE)[:-1], note_of(LINE, b"trailing\n"), note_of(b" " + LINE)),
        *(note_of("— name\n".encode()), note_of("— \n".encode())),
        *(
            note_of(f"— {name} ".encode() + B64 + b"\n")
            for name in ("", "a b", "a\u00a0b", "a\u2003", "a\u0085b", "a+b", "a\tb")
        ),
        *(note_of(f"{dash}name ".encode() + B64 + b"\n") for dash in ("- ", "– ", "—", "—\u00a0")),
        *(note_of(LINE[:-1] + end) for end in (b" \n", b"\r\n")),
        note_of(LINE.replace(b"=\n", b"\n")),
        *(note_of(f"— name {blob}\n".encode()) for blob in ("AAAA", "AAAAAA==")),
        *(note_of(LINE, text=TEXT.replace(b"42", size)) for size in (b"4\x002", b"42\r")),
        *(note_of(LINE, text=TEXT + line) for line in (b"\xff\n", b"\xed\xa0\x80\n", b"\xc0\x80\n")),
    ],
)
def test_other_bytes_are_no_notes(data: bytes) -> None:
    with pytest.raises(MalformedNote):
        open_checkpoint(data, [log_signer().verifier])


def test_the_last_empty_line_parts_text_and_signatures() -> None:
    text = b"one\n\ntwo\n\n\nthree\n"
    note = Note.parse(note_of(LINE, text=text))
    assert note.text == text
    for inner in (b"\n", b"a\n\n", b"\n\n"):
        assert Note.parse(note_of(LINE, text=inner)).text == inner


def test_an_example_of_each_limit() -> None:
    def many(count: int, size: int = 64) -> bytes:
        return note_of(*(Signature(f"n{at}", bytes(4), bytes(size)).line() for at in range(count)))

    assert len(Note.parse(many(SIGNATURES_MAX)).signatures) == SIGNATURES_MAX
    with pytest.raises(MalformedNote, match="signatures"):
        Note.parse(many(SIGNATURES_MAX + 1))
    # "MUST accept at least up to 16 signatures", and ML-DSA-87, the largest named, has 4,627 bytes.
    assert len(Note.parse(many(16, 4627)).signatures) == 16
    filler = b"x" * (NOTE_BYTES_MAX - len(note_of(LINE)) - 1) + b"\n"
    assert len(note_of(LINE, text=TEXT + filler)) == NOTE_BYTES_MAX
    Note.parse(note_of(LINE, text=TEXT + filler))
    with pytest.raises(MalformedNote, match="bytes"):
        Note.parse(note_of(LINE, text=TEXT + b"x" + filler))


@pytest.mark.parametrize(
    ("text", "is_signed"), [(TEXT, False), (TEXT[:-1], True), (b"", True), (b"\xff\n", True)]
)
def test_what_could_not_be_read_is_not_written(text: bytes, is_signed: bool) -> None:
    with pytest.raises(MalformedNote):
        Note(text, (log_signer().sign(TEXT, 0),) * is_signed).encode()


def test_more_signatures_go_to_the_end_and_newer_ones_take_their_place() -> None:
    witness = witness_signer(1)
    first = Note(TEXT, (log_signer().sign(TEXT, 0),))
    second = first.with_signatures([witness.sign(TEXT, TIME_S), log_signer().sign(TEXT, 0)])
    assert [one.name for one in second.signatures] == [ORIGIN, "witness.example/w1"]
    third = second.with_signatures([witness.sign(TEXT, TIME_S + 5)])
    assert len(third.signatures) == 2
    assert cosigned(third, [witness.verifier]) == {"witness.example/w1": TIME_S + 5}
    assert first == Note(TEXT, (log_signer().sign(TEXT, 0),))


@pytest.mark.parametrize(
    ("name", "key_id", "blob"),
    [("", b"1234", b"x"), ("a b", b"1234", b"x"), ("a+b", b"1234", b"x"), ("a\nb", b"1234", b"x"),
     ("a", b"123", b"x"), ("a", b"12345", b"x"), ("a", b"1234", b"")],
)  # fmt: skip
def test_impossible_signatures_are_refused(name: str, key_id: bytes, blob: bytes) -> None:
    with pytest.raises(MalformedNote):
        Signature(name, key_id, blob)


# --- verifier keys --------------------------------------------------------------------------------


def test_a_verifier_key_holds_name_id_and_kind() -> None:
    key = private_key(1)
    public = key.public_key().public_bytes_raw()
    for kind, signer in ((ED25519, Ed25519Signer("n", key)), (COSIGNATURE, CosignatureSigner("n", key))):
        key_id = hashlib.sha256(b"n\n" + bytes((kind,)) + public).digest()[:4]
        vkey = f"n+{key_id.hex()}+{base64.b64encode(bytes((kind,)) + public).decode()}"
        assert signer.verifier == Verifier("n", kind, public) == Verifier.from_vkey(vkey)
        assert signer.verifier.vkey == vkey
        assert signer.verifier.key_id == key_id


GOOD = log_signer().verifier.vkey
NAME, ID, KEY = GOOD.split("+", 2)


def vkey_of(kind: int, public: bytes) -> str:
    typed = bytes((kind,)) + public
    key_id = hashlib.sha256(b"n\n" + typed).digest()[:4]
    return f"n+{key_id.hex()}+{base64.b64encode(typed).decode()}"


@each(
    "text",
    [
        *(
            "",
            NAME,
            f"{NAME}+{ID}",
            f"{NAME}+{ID}+",
            f"+{ID}+{KEY}",
            f"{NAME}x+{ID}+{KEY}",
            f"{NAME} +{ID}+{KEY}",
        ),
        f"{NAME}+{ID.upper() if ID.upper() != ID else 'ABCDEF01'}+{KEY}",
        *(f"{NAME}+{ID[:-1]}+{KEY}", f"{NAME}+0{ID}+{KEY}", f"{NAME}+00000000+{KEY}"),
        *(f"{NAME}+{ID}+{KEY[:-4]}", f"{NAME}+{ID}+{KEY}=", f"{NAME}+{ID}+{KEY}AAAA"),
        *(f" {GOOD}", f"\udc80{GOOD}", f"{GOOD}\udc80", f"{GOOD}\n", f"{NAME}+{ID}+{KEY}" + "A" * 5000),
        *(vkey_of(0x01, bytes(31)), vkey_of(0x01, bytes(33))),
        *(vkey_of(kind, bytes(32)) for kind in (0x02, 0x05, 0x06, 0xFF)),
    ],
)
def test_other_verifier_keys_are_refused(text: str) -> None:
    assert Verifier.from_vkey(GOOD)
    with pytest.raises(Rejected):
        Verifier.from_vkey(text)


# --- signing and checking -------------------------------------------------------------------------


def test_each_kind_signs_what_its_specification_says() -> None:
    log, witness = log_signer(), witness_signer(1)
    assert log.sign(TEXT, TIME_S).blob == private_key(0).sign(TEXT)
    signature = witness.sign(TEXT, TIME_S)
    message = b"cosignature/v1\ntime 1700000000\n" + TEXT
    assert signature.blob == struct.pack(">Q", TIME_S) + private_key(1001).sign(message)
    assert log.verifier.check(TEXT, log.sign(TEXT, TIME_S)) is None
    assert witness.verifier.check(TEXT, signature) == TIME_S


def test_cosignatures_are_bound_to_time_text_kind_and_length() -> None:
    witness = witness_signer(1)
    good = witness.sign(TEXT, TIME_S)

    def check(blob: bytes, text: bytes = TEXT) -> None:
        witness.verifier.check(text, Signature(good.name, good.key_id, blob))

    check(good.blob)
    with pytest.raises(BadTrustedSignature):
        check(good.blob, Checkpoint(ORIGIN, 43, ROOT).text())
    another_time = struct.pack(">Q", TIME_S + 1) + good.blob[8:]
    plain = bytes(8) + private_key(1001).sign(TEXT)
    for blob in (another_time, good.blob[8:], good.blob[:-1], good.blob + b"\x00", plain):
        with pytest.raises(BadTrustedSignature):
            check(blob)
    too_late = 2**63
    message = b"cosignature/v1\ntime %d\n" % too_late + TEXT
    blob = struct.pack(">Q", too_late) + private_key(1001).sign(message)
    with pytest.raises(BadTrustedSignature, match="time"):
        check(blob)


@pytest.mark.parametrize("time_s", [-1, 2**63])
def test_no_cosigner_signs_an_impossible_time(time_s: int) -> None:
    for signer in (witness_signer(1), MlDsaCosigner.from_seed("pq", bytes(32))):
        with pytest.raises(Rejected):
            signer.sign(TEXT, time_s)


def test_a_signature_by_another_key_is_not_checked_as_ones_own() -> None:
    with pytest.raises(BadTrustedSignature):
        log_signer(1).verifier.check(TEXT, log_signer().sign(TEXT, 0))


def test_ml_dsa_signs_the_binary_message() -> None:
    key = MLDSA44PrivateKey.from_seed_bytes(bytes(range(32)))
    signer = MlDsaCosigner.from_seed("pq.example/w", bytes(range(32)))
    verifier = signer.verifier
    assert (verifier.kind, verifier.public) == (ML_DSA_44, key.public_key().public_bytes_raw())
    assert Verifier.from_vkey(verifier.vkey) == verifier
    signature = signer.sign(TEXT, TIME_S)
    assert verifier.check(TEXT, signature) == TIME_S
    origin = bytes((len(ORIGIN),)) + ORIGIN.encode()
    of = struct.pack(">Q", TIME_S) + origin + struct.pack(">QQ", 0, 42) + ROOT
    message = b"subtree/v1\n\x00" + b"\x0cpq.example/w" + of
    key.public_key().verify(signature.blob[8:], message)
    # Extension lines are outside the message; everything else is inside.
    assert verifier.check(TEXT + b"extension\n", signature) == TIME_S
    for other in (
        Checkpoint("other", 42, ROOT),
        Checkpoint(ORIGIN, 43, ROOT),
        Checkpoint(ORIGIN, 42, bytes(32)),
    ):
        with pytest.raises(BadTrustedSignature):
            verifier.check(other.text(), signature)
    for blob in (struct.pack(">Q", 1) + signature.blob[8:], signature.blob[:-1], signature.blob[:72]):
        with pytest.raises(BadTrustedSignature):
            verifier.check(TEXT, Signature(signature.name, signature.key_id, blob))
    with pytest.raises(Rejected, match="255"):
        signer.sign(Checkpoint("o" * 256, 1, ROOT).text(), 1)
    with pytest.raises(MalformedNote):
        verifier.check(b"no checkpoint\n", signature)
    with pytest.raises(Rejected, match="32 bytes"):
        MlDsaCosigner.from_seed("pq.example/w", bytes(31))


@pytest.fixture
def _without_ml_dsa(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older ``cryptography``, whose import of the algorithm fails."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.mldsa", None)


@pytest.mark.usefixtures("_without_ml_dsa")
def test_without_ml_dsa_the_rest_works_and_its_keys_say_what_to_do() -> None:
    verifier = Verifier("pq", ML_DSA_44, bytes(1312))
    with pytest.raises(Misconfigured, match="pip install --upgrade cryptography"):
        verifier.check(TEXT, Signature("pq", verifier.key_id, bytes(2428)))
    with pytest.raises(Misconfigured):
        MlDsaCosigner.from_seed("pq", bytes(32))
    log_signer().verifier.check(TEXT, log_signer().sign(TEXT, 0))


# --- opening --------------------------------------------------------------------------------------


def test_a_checkpoint_is_opened_by_a_key_of_its_log() -> None:
    log, witness = log_signer(), witness_signer(1)
    data = note_of(log.sign(TEXT, 0).line(), witness.sign(TEXT, TIME_S).line())
    opened = open_checkpoint(data, [witness.verifier, log.verifier])
    assert opened.checkpoint == CHECKPOINT
    assert opened.signed_by == (witness.verifier, log.verifier)
    assert opened.note.encode() == data
    assert open_checkpoint(data, [log.verifier]).signed_by == (log.verifier,)
    assert cosigned(opened.note, [witness.verifier, log.verifier]) == {witness.name: TIME_S}


def test_unknown_signatures_are_ignored_whatever_they_hold() -> None:
    log = log_signer()
    same_name = Signature(ORIGIN, b"\x00" * 4, b"junk")
    same_id = Signature("other.example", log.verifier.key_id, b"junk")
    data = note_of(same_name.line(), same_id.line(), log.sign(TEXT, 0).line())
    assert open_checkpoint(data, [log.verifier]).signed_by == (log.verifier,)


def test_without_a_signature_by_the_log_nothing_is_opened() -> None:
    log, witness = log_signer(), witness_signer(1)
    stranger = log_signer(5)
    for signature, verifiers in (
        (stranger.sign(TEXT, 0), [log.verifier]),
        (log.sign(TEXT, 0), []),
        (witness.sign(TEXT, TIME_S), [log.verifier, witness.verifier]),
    ):
        with pytest.raises(NoTrustedSignature):
            open_checkpoint(note_of(signature.line()), verifiers)


def test_a_key_speaks_only_for_the_log_of_its_name() -> None:
    other = log_signer(0, name="example.com/another")
    with pytest.raises(NoTrustedSignature):
        open_checkpoint(note_of(other.sign(TEXT, 0).line()), [other.verifier])


def test_a_known_key_whose_signature_fails_refuses_the_whole_note() -> None:
    log, second, witness = log_signer(), log_signer(7), witness_signer(1)
    good = log.sign(TEXT, 0)
    verifiers = [log.verifier, second.verifier, witness.verifier]
    for signer in (log, second, witness):
        made = signer.sign(Checkpoint(ORIGIN, 41, ROOT).text(), TIME_S)
        for data in (note_of(good.line(), made.line()), note_of(made.line(), good.line())):
            with pytest.raises(BadTrustedSignature):
                open_checkpoint(data, verifiers)
    bad = witness.sign(Checkpoint(ORIGIN, 41, ROOT).text(), TIME_S)
    with pytest.raises(BadTrustedSignature):
        cosigned(Note(TEXT, (good, bad)), [witness.verifier])
    assert cosigned(Note(TEXT, (good, bad)), [witness_signer(2).verifier]) == {}


def test_two_keys_sign_during_a_rotation() -> None:
    old, new = log_signer(0), log_signer(1)
    data = note_of(old.sign(TEXT, 0).line(), new.sign(TEXT, 0).line())
    assert open_checkpoint(data, [old.verifier]).signed_by == (old.verifier,)
    assert open_checkpoint(data, [new.verifier]).signed_by == (new.verifier,)
    known = [old.verifier, new.verifier, old.verifier]
    assert open_checkpoint(data, known).signed_by == (old.verifier, new.verifier)


def test_the_latest_cosignature_of_a_name_counts() -> None:
    witness, pq = witness_signer(1), MlDsaCosigner.from_seed("witness.example/w1", bytes(32))
    note = Note(TEXT, (witness.sign(TEXT, 5), witness.sign(TEXT, 9), pq.sign(TEXT, 7)))
    assert cosigned(note, [witness.verifier, pq.verifier]) == {"witness.example/w1": 9}
    assert cosigned(note, [pq.verifier]) == {"witness.example/w1": 7}


def test_every_changed_byte_of_a_signed_note_is_refused() -> None:
    signer = log_signer()
    data = note_of(signer.sign(TEXT, 0).line())
    for at, byte in enumerate(data):
        changed = [data[:at] + bytes((byte ^ mask,)) + data[at + 1 :] for mask in (0x01, 0x20, 0x80)]
        for bent in (*changed, data[:at] + data[at + 1 :], data[:at]):
            with pytest.raises(Rejected):
                open_checkpoint(bent, [signer.verifier])


def test_a_changed_byte_of_a_cosignature_never_leaves_it_standing() -> None:
    log, witness = log_signer(), witness_signer(1)
    head = note_of(log.sign(TEXT, 0).line())
    line = witness.sign(TEXT, TIME_S).line()
    for at, byte in enumerate(line):
        changed = line[:at] + bytes((byte ^ 1,)) + line[at + 1 :]
        try:
            opened = open_checkpoint(head + changed, [log.verifier, witness.verifier])
        except Rejected:
            continue
        assert opened.signed_by == (log.verifier,)  # the line is now an unknown key's

"""The policy file: its language, its quorums, and each way to get it wrong."""

from __future__ import annotations

from itertools import combinations

import pytest

from node.audit.tlog.policy import ITEMS_MAX, POLICY_BYTES_MAX, WitnessPolicy
from node.core.errors import Rejected
from node.core.signed_note import CosignatureSigner, Ed25519Signer, MlDsaCosigner, Verifier
from tests.each import each
from tests.tlog_memory import log_signer, private_key, witness_signer
from tests.unit.audit.tables import rows

LOG = log_signer().verifier
W = [witness_signer(number).verifier for number in range(6)]
VKEY = [one.vkey for one in W]

# C2SP tlog-policy, "Example policy", with keys filled in.
EXAMPLE = f"""
log {LOG.vkey}

witness X1 {VKEY[0]}
witness X2 {VKEY[1]}
witness X3 {VKEY[2]}
group X-witnesses 2 X1 X2 X3

witness Y1 {VKEY[3]}
witness Y2 {VKEY[4]}
witness Y3 {VKEY[5]}
group Y-witnesses any Y1 Y2 Y3

group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
""".encode()


def test_the_example_of_the_specification() -> None:
    policy = WitnessPolicy.parse(EXAMPLE)
    assert [(one.verifier, one.vkey, one.url) for one in policy.logs] == [(LOG, LOG.vkey, None)]
    assert [one.name for one in policy.witnesses] == ["X1", "X2", "X3", "Y1", "Y2", "Y3"]
    assert [one.verifier for one in policy.witnesses] == W
    assert policy.requires_any
    for count in range(7):
        for chosen in combinations(range(6), count):
            expected = sum(at < 3 for at in chosen) >= 2 and any(at >= 3 for at in chosen)
            assert policy.satisfied([W[at] for at in chosen]) is expected


def test_only_the_named_keys_count() -> None:
    policy = WitnessPolicy.parse(f"witness a {VKEY[0]}\nquorum a\n".encode())
    assert policy.satisfied([W[0], LOG])
    same_name_other_key = CosignatureSigner(W[0].name, private_key(77)).verifier
    same_key_other_name = Verifier("other", W[0].kind, W[0].public)
    same_key_as_log = Ed25519Signer(W[0].name, private_key(1000)).verifier
    assert same_key_as_log.public == W[0].public
    for other in (LOG, W[1], same_name_other_key, same_key_other_name, same_key_as_log):
        assert not policy.satisfied([other])
    assert not policy.satisfied([])


def test_no_quorum_needs_no_witness() -> None:
    policy = WitnessPolicy.parse(b"quorum none\n")
    assert policy.logs == policy.witnesses == ()
    assert policy.satisfied([])
    assert not policy.requires_any
    assert not WitnessPolicy.parse(f"witness a {VKEY[0]}\nquorum none\n".encode()).requires_any


def test_urls_blanks_comments_and_order() -> None:
    text = (
        f"# a comment\n\t # another\n \t\nquorum\tnone \n\twitness  w\t{VKEY[0]} https://witness.example/prefix\t\n"
        + f"group g all w\nlog {LOG.vkey}  https://log.example/ "
    ).encode()
    policy = WitnessPolicy.parse(text)
    assert policy.witnesses[0].url == "https://witness.example/prefix"
    assert policy.logs[0].url == "https://log.example/"
    assert WitnessPolicy.parse(text + b"\n") == policy


def test_names_are_octets() -> None:
    # The second is a Kelvin sign, the last is four characters.
    names = (b"K", "\u212a".encode(), b"\xff", b"\\xff")
    lines = [b"witness %s %s" % (name, VKEY[at].encode()) for at, name in enumerate(names)]
    text = b"\n".join([*lines, b"group g all %s %s" % (names[1], names[2]), b"quorum g", b""])
    policy = WitnessPolicy.parse(text)
    assert policy.satisfied([W[1], W[2]])
    assert not policy.satisfied([W[0], W[2], W[3]])
    # Alike for people, not for the rule.
    assert policy.witnesses[2].name == policy.witnesses[3].name == "\\xff"


def test_words_of_the_language_are_names_too() -> None:
    policy = WitnessPolicy.parse(f"witness all {VKEY[0]}\ngroup any 1 all\nquorum any\n".encode())
    assert policy.satisfied([W[0]])


def test_post_quantum_witnesses_and_logs() -> None:
    pq = MlDsaCosigner.from_seed("pq.example/w", bytes(32)).verifier
    policy = WitnessPolicy.parse(f"log {pq.vkey}\nwitness pq {pq.vkey}\nquorum pq\n".encode())
    assert policy.satisfied([pq])
    assert policy.logs[0].verifier == pq


@each(("lines", "complaint"), rows(__file__, "mistakes.jsonl"))
def test_each_mistake_is_named(lines: str, complaint: str) -> None:
    text = lines.replace("$L", LOG.vkey).replace("$0", VKEY[0]).replace("$1", VKEY[1])
    with pytest.raises(Rejected, match=complaint):
        WitnessPolicy.parse(text.encode() + b"\n")


def test_a_key_that_is_not_text_is_refused() -> None:
    with pytest.raises(Rejected, match="UTF-8"):
        WitnessPolicy.parse(b"log \xff+00000000+AAAA\nquorum none\n")


def test_the_same_key_twice_is_found_under_other_names_and_kinds() -> None:
    other_name = Verifier("renamed.example", W[0].kind, W[0].public)
    with pytest.raises(Rejected, match="same key"):
        WitnessPolicy.parse(f"witness a {VKEY[0]}\nwitness b {other_name.vkey}\nquorum a\n".encode())
    as_cosigner = Verifier(LOG.name, W[0].kind, LOG.public)
    with pytest.raises(Rejected, match="same key"):
        WitnessPolicy.parse(f"log {LOG.vkey}\nlog {as_cosigner.vkey}\nquorum none\n".encode())


def test_size_and_counts_are_bounded() -> None:
    filler = b"#" * (POLICY_BYTES_MAX - len(b"\nquorum none\n"))
    WitnessPolicy.parse(filler + b"\nquorum none\n")
    with pytest.raises(Rejected, match="bytes"):
        WitnessPolicy.parse(b"#" + filler + b"\nquorum none\n")

    def groups(count: int) -> bytes:
        chain = "".join(f"group g{at} any g{at - 1}\n" for at in range(1, count))
        return f"witness w {VKEY[0]}\ngroup g0 any w\n{chain}quorum g{count - 1}\n".encode()

    assert WitnessPolicy.parse(groups(ITEMS_MAX)).satisfied([W[0]])
    with pytest.raises(Rejected, match="more than 256 groups"):
        WitnessPolicy.parse(groups(ITEMS_MAX + 1))

    def keys(kind: str, count: int) -> bytes:
        made = (Verifier("n", 4, at.to_bytes(32, "big")).vkey for at in range(count))
        lines = [kind.format(at=at) + vkey for at, vkey in enumerate(made)]
        return "\n".join([*lines, "quorum none", ""]).encode()

    for kind in ("log ", "witness w{at} "):
        WitnessPolicy.parse(keys(kind, ITEMS_MAX))
        with pytest.raises(Rejected, match="more than 256"):
            WitnessPolicy.parse(keys(kind, ITEMS_MAX + 1))

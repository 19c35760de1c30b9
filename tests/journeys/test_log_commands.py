"""``neuroswarm log …`` and ``explain``: what an operator or a stranger types, with the exit statuses of
scripts."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from node.audit.anchors.files import AnchorFiles, AnchorStatus
from node.audit.decisions.answer_entry import store_entry
from node.audit.decisions.entry import policy_entry
from node.audit.decisions.log import DecisionLog
from node.audit.decisions.moving import move
from node.audit.decisions.shards import Terms
from node.audit.log.archive import FolderArchive
from node.audit.tlog.proofs import Receipt
from node.cli.main import main
from node.core.clock import SystemClock
from node.core.identity import Identity
from node.core.ipld.cid import Cid
from node.core.signed_note import Note
from node.store.lock import DataLock
from tests.log_folders import ORIGIN, leaf, leaves, log_files, note_of, signer, witness, write_log

NOW = SystemClock().now()
CID = str(Cid.of(b"a record"))
REQUEST = "ab" * 16


@dataclass(frozen=True, slots=True)
class Done:
    """What a command printed and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


class Operator:
    """Somebody in a folder of their own who types commands."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "governance_logs"
        self._capture = capture
        self.set()

    def set(self, **settings: str | list[str]) -> None:
        """Write the settings file."""
        lines = [f'data_dir = "{self.data}"', f'governance_dir = "{self.log}"', "[log]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        (self.folder / "neuroswarm.toml").write_text("\n".join(lines), encoding="utf-8")

    def __call__(self, *words: object) -> Done:
        config = ["--config", str(self.folder / "neuroswarm.toml")]
        self._capture.readouterr()
        try:
            status = main([*map(str, words), *config])
        except SystemExit as exc:
            status = int(exc.code or 0)
        out, err = self._capture.readouterr()
        return Done(status, out, err)

    def file(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path


@pytest.fixture
def operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Operator:
    return Operator(tmp_path, capsys)


KEY = signer().verifier.vkey


def test_a_log_folder_is_verified_with_the_key_given_or_the_one_beside_it(operator: Operator) -> None:
    write_log(operator.log, leaves(300))
    done = operator("log", "verify", "--vkey", KEY)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("ok: 300 entries, root ")
    assert f"signed by  {ORIGIN}+" in done.out
    assert "no witness policy is set" in done.out
    done = operator("log", "verify", "--dir", operator.log, "--json")
    assert done.status == 0
    assert "the key beside the log is trusted" in done.err
    shown = done.json
    assert (shown["ok"], shown["size"], shown["entries"], shown["trust"]) == (True, 300, 300, "beside")
    assert (shown["origin"], shown["where"], shown["quorum"], shown["epochs"]) == (ORIGIN, "", None, [])
    vkey = operator.file("key", f"{KEY}\n".encode())
    assert operator("log", "verify", "--vkey", f"@{vkey}").status == 0


def test_damage_is_named_and_its_status_is_1(operator: Operator) -> None:
    write_log(operator.log, leaves(300))
    bundle = operator.log / "tile/entries/001.p/44"
    bundle.write_bytes(bundle.read_bytes().replace(b'"main"', b'"mine"', 1))
    done = operator("log", "verify", "--vkey", KEY)
    assert done.status == 1
    assert done.out.startswith("NOT ok: entry 256: ")
    shown = operator("log", "verify", "--vkey", KEY, "--json").json
    assert (shown["ok"], shown["where"], shown["entries"]) == (False, "entry 256", 256)
    assert operator("log", "verify", "--vkey", signer(seed="another").verifier.vkey).status == 1


def test_what_cannot_be_looked_at_has_status_2(operator: Operator) -> None:
    for words in (
        ["log", "verify"],
        ["log", "verify", "--dir", operator.folder / "nowhere"],
        ["log", "verify", "--url", "http://127.0.0.1:9"],
        ["log", "verify", "--url", "ftp://127.0.0.1/log"],
        ["log", "verify", "--url", "http://127.0.0.1:99999"],
        ["log", "verify", "--url", "http://u:p@127.0.0.1/"],
        ["log", "verify", "--url", "http://127.0.0.1:9", "--dir", "x"],
        ["log", "verify", "--since", operator.folder / "nowhere"],
        ["log", "verify", "--config", operator.folder / "nowhere"],
        ["log", "verify", "--what"],
        ["log", "checkpoint"],
        ["log", "prove", "0"],
        ["log", "prove", "minus one"],
        ["log", "verify-receipt", operator.folder / "nowhere"],
        ["log", "recover"],
        ["log", "recover", "--new-epoch"],
        ["explain", "17"],
    ):
        assert operator(*words).status == 2, words
    write_log(operator.log, leaves(3))
    for words in (
        ["log", "verify", "--vkey", "no key"],
        ["log", "verify", "--vkey", f"@{operator.folder / 'nowhere'}"],
        ["log", "checkpoint", "--policy", operator.folder / "nowhere"],
        ["log", "checkpoint", "--policy", operator.file("policy", b"quorum nobody\n")],
        ["explain", "not/a/name"],
    ):
        done = operator(*words, "--json")
        assert (done.status, done.json["status"]) == (2, 2), words
    assert "exit status: 0 it holds" in " ".join(operator("log", "verify", "--help").out.split())


def test_a_log_that_does_not_continue_an_older_checkpoint_is_refused(operator: Operator) -> None:
    main_branch, branch = leaves(50), [*leaves(20), *leaves(50, "branch")[20:]]
    write_log(operator.log, main_branch)
    older = operator.file("older", note_of(main_branch[:30], [signer()]))
    done = operator("log", "verify", "--vkey", KEY, "--since", older)
    assert (done.status, "continues  the older checkpoint of 30 entries" in done.out) == (0, True)
    fork = operator.file("fork", note_of(branch[:30], [signer()]))
    done = operator("log", "verify", "--vkey", KEY, "--since", fork)
    assert done.status == 1
    assert "NOT ok: the older checkpoint: the log does not continue it" in done.out
    ahead = operator.file("ahead", note_of(leaves(51), [signer()]))
    assert "rolled back" in operator("log", "verify", "--vkey", KEY, "--since", ahead).out
    unknown = operator.file("unknown", note_of(main_branch[:30], [signer(seed="before")]))
    assert "taken at its word" in operator("log", "verify", "--vkey", KEY, "--since", unknown).out


def policy_file(operator: Operator, count: int, *needed: str) -> Path:
    text = f"log {KEY}\n"
    text += "".join(f"witness {name} {witness(name).verifier.vkey}\n" for name in needed)
    text += f"group all {count} {' '.join(needed)}\nquorum all\n"
    return operator.file("policy", text.encode())


def test_the_newest_checkpoint_is_shown_with_its_witnesses(operator: Operator) -> None:
    entries = leaves(9)
    policy = policy_file(operator, 2, "w1", "w2", "w3")
    operator.set(witness_policy=str(policy))
    write_log(operator.log, entries)
    (operator.log / "checkpoint").write_bytes(note_of(entries, [signer(), witness("w2")]))
    done = operator("log", "checkpoint", "--vkey", KEY)
    assert done.status == 0
    assert "size         9\n" in done.out
    assert "1 of 3 witnesses: w2 (2026-09-21 14:13:20 UTC); NO QUORUM" in done.out
    witnessed = note_of(entries[:7], [signer(), witness("w1"), witness("w2")])
    (operator.log / "checkpoint.witnessed").write_bytes(witnessed)
    shown = operator("log", "checkpoint", "--vkey", KEY, "--json").json
    assert (shown["quorum"], shown["witnessed_size"], list(shown["witnesses"])) == (False, 7, ["w2"])
    assert "covers 7 entries" in operator("log", "checkpoint", "--vkey", KEY).out
    (operator.log / "checkpoint").write_bytes(note_of(entries, [signer(), witness("w1"), witness("w2")]))
    assert "2 of 3 witnesses" in operator("log", "verify", "--vkey", KEY).out
    assert operator("log", "verify", "--vkey", KEY, "--json").json["quorum"] is True
    parsed = Note.parse(note_of(entries, [signer(), witness("w1")]))
    lying = replace(parsed.signatures[1], blob=bytes(72))
    (operator.log / "checkpoint").write_bytes(Note(parsed.text, (parsed.signatures[0], lying)).encode())
    assert operator("log", "checkpoint", "--vkey", KEY).status == 1


def test_names_in_a_strangers_log_cannot_write_to_the_terminal(operator: Operator) -> None:
    origin = "evil\x9b2J\u202e.example/log"
    write_log(operator.log, leaves(2), signers=[signer(origin)], origin=origin)
    vkey = ["--vkey", signer(origin).verifier.vkey]
    for words in (["checkpoint"], ["verify"], ["prove", "9"]):
        done = operator("log", *words, *vkey)
        assert all(line.isprintable() for line in (done.out + done.err).splitlines())
    assert "\\x9b2J\\u202e" in operator("log", "checkpoint", *vkey).out


def test_the_raw_note_can_be_had(operator: Operator) -> None:
    note = write_log(operator.log, leaves(2))
    done = operator("log", "checkpoint", "--note", "--vkey", KEY)
    assert (done.status, done.out) == (0, note.decode())
    done = operator("log", "checkpoint", "--note", "--vkey", signer(seed="x").verifier.vkey)
    assert (done.status, done.out) == (1, note.decode())


def test_a_receipt_is_made_and_checked_offline(operator: Operator) -> None:
    entries = leaves(300)
    write_log(operator.log, entries)
    out, leaf_out = operator.folder / "r.tlog-proof", operator.folder / "leaf"
    done = operator("log", "prove", 299, "--vkey", KEY, "--out", out, "--leaf-out", leaf_out)
    assert done.status == 0, done.err
    assert leaf_out.read_bytes() == entries[299]
    printed = operator("log", "prove", 299, "--vkey", KEY).out
    assert printed.encode() == out.read_bytes()
    shown = operator("log", "prove", 299, "--vkey", KEY, "--json").json
    assert (shown["leaf"]["seq"], shown["receipt"]) == (299, printed)
    shutil.rmtree(operator.log)
    done = operator("log", "verify-receipt", out, "--vkey", KEY)
    assert done.status == 0
    assert done.out.startswith(f"ok: entry 299 is in {ORIGIN} (checkpoint of 300 entries)\n")
    assert operator("log", "verify-receipt", out, "--vkey", KEY, "--json").json["leaf"]["seq"] == 299
    bare = operator.file("bare", replace(Receipt.parse(out.read_bytes()), extra=None).encode())
    assert operator("log", "verify-receipt", bare, "--vkey", KEY, "--leaf", leaf_out).status == 0
    assert operator("log", "verify-receipt", bare, "--vkey", KEY).status == 2
    assert operator("log", "verify-receipt", out).status == 2, "nobody says whose log it is"
    other = operator.file("other", entries[298])
    assert operator("log", "verify-receipt", out, "--vkey", KEY, "--leaf", other).status == 1
    damaged = operator.file("damaged", out.read_bytes().replace(b"index 299", b"index 298"))
    assert operator("log", "verify-receipt", damaged, "--vkey", KEY).status == 1
    assert operator("log", "verify-receipt", operator.file("x", b"text"), "--vkey", KEY).status == 1


def test_the_older_form_of_a_receipt_has_no_header_and_no_extra_line(operator: Operator) -> None:
    """As ``spicy`` of filippo.io/torchwood v0.6.1 reads it, which was tried by hand."""
    entries = leaves(300)
    note = write_log(operator.log, entries)
    file = operator.folder / "leaf"
    assert operator("log", "prove", 299, "--vkey", KEY, "--spicy", file).status == 0
    assert file.read_bytes() == entries[299]
    first, *hashes = (operator.folder / "leaf.spicy").read_bytes().partition(b"\n\n")[0].decode().split("\n")
    assert first == "index 299"
    assert [len(one) for one in hashes] == [44] * len(hashes)
    assert (operator.folder / "leaf.spicy").read_bytes().endswith(b"\n\n" + note)


def test_an_entry_that_is_not_under_the_checkpoint_is_not_proved(operator: Operator) -> None:
    write_log(operator.log, leaves(3))
    done = operator("log", "prove", 3, "--vkey", KEY)
    assert done.status == 1
    assert "no entry 3 under its newest checkpoint (3 entries)" in done.err
    tile = operator.log / "tile/0/000.p/3"
    tile.write_bytes(bytes(96))
    assert operator("log", "prove", 1, "--vkey", KEY).status == 1
    tile.unlink()
    assert operator("log", "prove", 1, "--vkey", KEY).status == 2


def test_a_policy_that_names_a_log_s_first_epoch_takes_receipts_of_later_ones(operator: Operator) -> None:
    second = signer(f"{ORIGIN}/2", seed=ORIGIN)
    write_log(operator.log, leaves(20), signers=[second], origin=second.verifier.name)
    out = operator.folder / "receipt"
    assert operator("log", "prove", 7, "--vkey", KEY, "--out", out).status == 0
    policy = operator.file("policy", f"log {KEY}\nquorum none\n".encode())
    assert operator("log", "verify-receipt", out, "--policy", policy).status == 0
    other = operator.file("other", f"log {signer(seed='another').verifier.vkey}\nquorum none\n".encode())
    assert operator("log", "verify-receipt", out, "--policy", other).status == 1


def test_the_witness_policy_is_asked_of_receipts(operator: Operator) -> None:
    entries = leaves(20)
    write_log(operator.log, entries)
    out = operator.folder / "receipt"
    policy = policy_file(operator, 1, "w1", "w2")
    done = operator("log", "prove", 5, "--policy", policy, "--vkey", KEY, "--out", out)
    assert (done.status, "NO QUORUM" in done.err) == (0, True)
    assert operator("log", "verify-receipt", out, "--vkey", KEY).status == 0
    assert operator("log", "verify-receipt", out, "--vkey", KEY, "--policy", policy).status == 1
    (operator.log / "checkpoint.witnessed").write_bytes(note_of(entries[:10], [signer(), witness("w2")]))
    assert operator("log", "prove", 5, "--policy", policy, "--vkey", KEY, "--out", out).status == 0
    done = operator("log", "verify-receipt", out, "--policy", policy)
    assert (done.status, "w2 (" in done.out, "10 entries" in done.out) == (0, True, True)
    done = operator("log", "prove", 15, "--policy", policy, "--vkey", KEY, "--json")
    assert (done.json["quorum"], done.json["size"]) == (False, 20)


Answer = Callable[[BaseHTTPRequestHandler, bytes | None], None]


def _reply(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", *header: str) -> None:
    handler.send_response(status)
    if header:
        handler.send_header(*header)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _plain(handler: BaseHTTPRequestHandler, data: bytes | None) -> None:
    _reply(handler, 404 if data is None else 200, data or b"")


def _zipped(handler: BaseHTTPRequestHandler, data: bytes | None) -> None:
    if data is None or "gzip" not in handler.headers["Accept-Encoding"]:
        _plain(handler, data)
    else:
        _reply(handler, 200, gzip.compress(data), "Content-Encoding", "gzip")


def _bomb(handler: BaseHTTPRequestHandler, data: bytes | None) -> None:
    _zipped(handler, bytes(30_000_000))


def _cut_gzip(handler: BaseHTTPRequestHandler, data: bytes | None) -> None:
    _reply(handler, 200, gzip.compress(data or b"")[:-9], "Content-Encoding", "gzip")


def _redirect(handler: BaseHTTPRequestHandler, data: bytes | None) -> None:
    _reply(handler, 302, b"", "Location", "/elsewhere")


def _busy(handler: BaseHTTPRequestHandler, data: bytes | None) -> None:
    _reply(handler, 503)


def _nothing(handler: BaseHTTPRequestHandler, data: bytes | None) -> None:
    handler.close_connection = True


def _one_by_one(handler: BaseHTTPRequestHandler, data: bytes | None) -> None:
    """A server that closes each connection though it said that it would keep it."""
    _plain(handler, data)
    handler.close_connection = True


@contextmanager
def served(files: Mapping[str, bytes], answer: Answer = _plain) -> Iterator[str]:
    """The files of a log at a loopback address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body in one packet

        def do_GET(self) -> None:
            answer(self, files.get(self.path.removeprefix("/logs/decisions/")))

        def log_message(self, *args: object) -> None:
            """Nothing is printed: the commands' own output is what is looked at."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("answer", [_plain, _zipped, _one_by_one])
def test_a_log_behind_an_address_is_checked_the_same_way(operator: Operator, answer: Answer) -> None:
    entries = leaves(600)
    entries[300] = leaf(300, {"v": 1, "kind": "answer", "request": REQUEST, "decision": "served"})
    with served(log_files(entries), answer) as url:
        for address in (f"{url}/", f"{url}/logs/decisions"):
            assert operator("log", "verify", "--url", address, "--vkey", KEY).status == 0
        assert operator("log", "verify", "--url", url, "--json").json["trust"] == "beside"
        assert operator("log", "checkpoint", "--url", url).status == 0
        done = operator("log", "prove", 511, "--url", url, "--vkey", KEY)
        assert (done.status, Receipt.parse(done.out.encode()).index) == (0, 511)
        done = operator("explain", REQUEST, "--url", url, "--vkey", KEY)
        assert (done.status, "The node answered a question." in done.out) == (0, True)
        assert operator("log", "verify", "--url", f"{url}/elsewhere").status == 2


@pytest.mark.parametrize(
    ("answer", "status"),
    [(_redirect, 2), (_busy, 2), (_nothing, 2), (_bomb, 1), (_cut_gzip, 1)],
)
def test_a_server_that_misbehaves_is_no_ones_proof(operator: Operator, answer: Answer, status: int) -> None:
    with served(log_files(leaves(3)), answer) as url:
        done = operator("log", "verify", "--url", url, "--vkey", KEY)
    assert done.status == status
    assert len(done.err.splitlines()) == 1


def test_a_missing_tile_behind_an_address_is_named(operator: Operator) -> None:
    files = log_files(leaves(300))
    del files["tile/0/001.p/44"]
    with served(files) as url:
        done = operator("log", "verify", "--url", url, "--vkey", KEY)
    assert (done.status, done.out) == (1, "NOT ok: tile/0/001.p/44: tile/0/001.p/44 is missing\n")


class Writer:
    """A node's log as it really is written, without the rest of the node."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.identity = Identity.load_or_create(operator.data / "keys", NOW)

    def write(self, entries: Sequence[tuple[dict[str, Any], dict[str, str]]], **options: Any) -> list[int]:
        async def run() -> list[int]:
            log = await DecisionLog.open(
                self._operator.log,
                self.identity.decisions_origin,
                self.identity.log_signers,
                SystemClock(),
                keys=self._operator.data / "keys",
                terms=Terms(**options),
            )
            try:
                return [(await log.append(entry, private_texts=private)).index for entry, private in entries]
            finally:
                await log.close()

        return asyncio.run(run())


def start(number: int = 0) -> tuple[dict[str, Any], dict[str, str]]:
    entry, private = policy_entry(event="start", policy=f"p{number}", software="s", settings_digest="0" * 64)
    return dict(entry), private


def answered(request: str = REQUEST) -> tuple[dict[str, Any], dict[str, str]]:
    entry = {"v": 1, "kind": "answer", "request": request, "decision": "served", "class": "generative"}
    return entry, {"query": "canary", "cid": CID}


def stored(request: str = REQUEST) -> tuple[dict[str, Any], dict[str, str]]:
    entry, private = store_entry(
        request=request, outcome="stored", reason="stored", scope="shared", policy="p", cid=CID
    )
    return dict(entry), private


def test_the_nodes_own_certificates_are_trusted_for_its_own_log(operator: Operator) -> None:
    writer = Writer(operator)
    writer.write([start(number) for number in range(5)])
    done = operator("log", "verify", "--json")
    assert (done.status, done.err) == (0, "")
    assert (done.json["trust"], done.json["size"]) == ("own", 5)
    old = (operator.log / "checkpoint").read_bytes()
    rotation = writer.identity.next_key("decisions", NOW)
    writer.identity.commit(rotation)
    writer.identity.adopt(rotation)
    writer.write([start()])
    older = operator.file("older", old)
    since = operator("log", "verify", "--since", older, "--json").json["since"]
    assert since == {"size": 5, "is_signed": True}
    out = operator.folder / "receipt"
    assert operator("log", "prove", 5, "--out", out).status == 0
    assert operator("log", "verify-receipt", out, "--json").json["trust"] == "own"
    (operator.log / "vkey").write_text("")
    assert operator("log", "verify").status == 0, "what lies beside the log is not asked"
    write_log(operator.folder / "another", leaves(2))
    assert operator("log", "verify", "--dir", operator.folder / "another", "--json").json["trust"] == "beside"


def test_a_forged_log_of_this_nodes_origin_does_not_pass_by_the_key_beside_it(operator: Operator) -> None:
    origin = Writer(operator).identity.decisions_origin
    write_log(operator.log, leaves(3), signers=[signer(origin)], origin=origin)
    done = operator("log", "verify")
    assert (done.status, done.out.startswith("NOT ok: checkpoint: ")) == (1, True)


def test_a_new_epoch_is_begun_and_the_closed_one_stays_checked(operator: Operator) -> None:
    writer = Writer(operator)
    writer.write([start(number) for number in range(5)])
    backup = shutil.copytree(operator.log, operator.folder / "backup")
    writer.write([start(number) for number in range(3)])
    shutil.rmtree(operator.log)
    backup.rename(operator.log)  # three entries are gone that were signed
    with DataLock.acquire(operator.data):
        assert operator("log", "recover", "--new-epoch").status == 2
    done = operator("log", "recover", "--new-epoch")
    assert done.status == 0, done.err
    assert done.out.startswith("epoch 2 has begun: ")
    assert "3 of them are not in the folder any more" in done.out
    done = operator("log", "verify")
    assert done.status == 0, done.out
    assert "epoch 1    ok: 5 entries; 3 more had been signed and are lost" in done.out
    [first] = operator("log", "verify", "--json").json["epochs"]
    assert (first["ok"], first["entries"], first["lost"], first["is_trusted"]) == (True, 5, 3, True)
    assert "A new log begins" in operator("explain", 0).out
    vkey = writer.identity.vkey("decisions")
    assert operator("log", "verify", "--vkey", vkey).status == 0, "a key goes on from epoch to epoch"
    assert operator("log", "verify", "--dir", operator.log / "epochs/1").status == 0
    tile = operator.log / "epochs/1/tile/0/000.p/5"
    right = tile.read_bytes()
    tile.write_bytes(right[:-1] + bytes([right[-1] ^ 1]))
    done = operator("log", "verify")
    assert (done.status, done.out.startswith("NOT ok: epochs/1: entry 4: ")) == (1, True)
    tile.write_bytes(right)
    done = operator("log", "recover", "--new-epoch", "--json")
    assert (done.json["epoch"], done.json["lost"]) == (3, 0)
    second, first = operator("log", "verify", "--json").json["epochs"]
    assert (second["ok"], second["lost"], first["ok"], first["lost"]) == (True, 0, True, 3)
    (operator.log / "epochs/1").rename(operator.folder / "archive")
    done = operator("log", "verify")
    assert (done.status, "epoch 1    not here" in done.out) == (0, True)


def test_a_log_in_shards_is_checked_as_one(operator: Operator) -> None:
    writer = Writer(operator)
    writer.write([start(), answered(), *(start(number) for number in range(10))], shard_entries=4)
    done = operator("log", "verify", "--json")
    assert done.status == 0, done.out
    epochs = done.json["epochs"]
    assert len(epochs) >= 3
    assert all(epoch["ok"] and epoch["is_trusted"] for epoch in epochs)
    for what in (REQUEST, CID):
        shown = operator("explain", what, "--json").json
        first = (1, writer.identity.decisions_origin)
        assert (shown["index"], shown["origin"]) == first, "in the first shard"
    assert operator("explain", "cd" * 16).status == 1


def test_moved_epochs_are_verified_proved_and_explained(operator: Operator) -> None:
    writer = Writer(operator)
    writer.write([start(), answered(), *(start(number) for number in range(10))], shard_entries=4)
    receipt = operator.folder / "before.receipt"
    assert operator("log", "prove", 1, "--epoch", 1, "--out", receipt).status == 0
    archive = operator.folder / "archive"
    archive.mkdir()
    for number in (1, 2):
        asyncio.run(move(operator.log, number, FolderArchive(archive), SystemClock()))
    shown = operator("log", "verify", "--json")
    assert shown.status == 0, shown.out
    assert [one["is_absent"] for one in shown.json["epochs"]] == [False] * len(shown.json["epochs"])
    assert [one["number"] for one in shown.json["epochs"]][-2:] == [2, 1]
    again = operator.folder / "again.receipt"
    assert operator("log", "prove", 1, "--epoch", 1, "--out", again).status == 0
    assert again.read_bytes() == receipt.read_bytes()
    assert operator("log", "verify-receipt", receipt).status == 0
    assert operator("log", "prove", 0, "--epoch", 99).status == 2
    explained = operator("explain", REQUEST, "--json").json
    assert (explained["index"], explained["origin"]) == (1, writer.identity.decisions_origin)
    assert operator("log", "verify", "--dir", operator.log / "epochs/1").status == 0
    assert operator("log", "verify", "--dir", archive / writer.identity.decisions_origin / "1").status == 0
    archive.rename(operator.folder / "elsewhere")
    done = operator("log", "verify")
    assert (done.status, "mount it" in done.err) == (2, True)
    more = f'\n[archive]\nto = "{operator.folder / "elsewhere"}"\n'
    config = operator.folder / "neuroswarm.toml"
    config.write_text(config.read_text() + more)
    assert operator("log", "verify").status == 0


def test_an_answer_is_explained_by_request_number_and_record_with_its_proof(operator: Operator) -> None:
    writer = Writer(operator)
    others = [answered(f"{number:032x}") for number in range(4)]
    first, *_, index, after, _ = writer.write([*others, answered(), stored(), start()])
    for what in (REQUEST, index):
        done = operator("explain", what)
        assert done.status == 0, done.err
        assert done.out.startswith(f"Entry {index} of the decision log")
        assert f"Entry {after} of the decision log" in done.out
        assert "The answer of a request was stored." in done.out
        assert f"Proof: entry {index} is in the log {writer.identity.decisions_origin}" in done.out
        assert "hashes lead from the entry to the root" in done.out
    shown = operator("explain", CID, "--json").json
    assert [leaf["seq"] for leaf in shown["leaves"]] == [index, after]
    assert shown["also"] == list(range(first, index)), "found by the commitment's key"
    receipt = operator.file("receipt", shown["receipt"].encode())
    assert operator("log", "verify-receipt", receipt).status == 0
    (operator.data / "keys" / "commitments-2-1").unlink()
    assert operator("explain", CID).status == 1, "without the key a commitment says nothing"
    assert not (operator.data / "keys" / "commitments-2-1").exists(), "a reader makes no key table"
    assert operator("explain", "cd" * 16).status == 1
    assert operator("explain", "99999").status == 1


def test_a_public_record_is_found_by_its_cid_anywhere_in_the_log(operator: Operator) -> None:
    entries = leaves(600)
    entries[3] = leaf(3, {"v": 1, "kind": "answer", "request": REQUEST, "decision": "served", "cid": CID})
    entries[400] = leaf(400, {"v": 1, "kind": "tombstone", "reason": "client_delete", "target": CID})
    write_log(operator.log, entries)
    done = operator("explain", CID, "--vkey", KEY)
    assert done.out.startswith("Entry 3 of the decision log")
    assert "Also about it: entries 400." in done.out


def test_an_entry_that_is_not_what_the_checkpoint_covers_is_not_explained(operator: Operator) -> None:
    entries = leaves(5)
    entries[2] = leaf(2, {"v": 1, "kind": "answer", "request": REQUEST, "decision": "served"})
    write_log(operator.log, entries)
    bundle = operator.log / "tile/entries/000.p/5"
    bundle.write_bytes(bundle.read_bytes().replace(b'"served"', b'"denied"'))
    done = operator("explain", REQUEST, "--vkey", KEY)
    assert (done.status, done.out) == (1, "")


def test_anchors_are_listed_with_no_word_stronger_than_their_state(operator: Operator) -> None:
    done = operator("log", "anchor", "status")
    assert (done.status, done.out) == (0, "off: no calendar is named in log.anchor_calendars\n")
    operator.set(anchor_calendars=["http://127.0.0.1:9"])
    assert operator("log", "anchor", "status").out == "nothing has been queued yet\n"
    note = note_of(leaves(4), [signer()])
    digest = hashlib.sha256(note).hexdigest()
    status = AnchorStatus(
        "opentimestamps", "queued", ORIGIN, 4, digest, NOW, NOW, NOW, error="nobody answers"
    )
    AnchorFiles(operator.data / "anchors").save(status, note=note)
    done = operator("log", "anchor", "status")
    assert done.out.startswith(f"queued     4 entries of {ORIGIN}, opentimestamps, since ")
    assert "anchored" not in done.out
    [row] = operator("log", "anchor", "status", "--json").json["anchors"]
    assert (row["state"], row["block_height"], row["error"]) == ("queued", None, "nobody answers")
    (operator.data / "anchors" / f"{status.name}.json").write_text("{}")
    assert operator("log", "anchor", "status").status == 1

"""Where a command finds a log, and whose signature it takes: a folder or an address, and verifier keys.

Keys, in this order: those given (``--vkey``); this node's own, read from its certificates, where the log is
this node's; else the keys that lie beside the log. The last proves only that the log fits itself, and the
command says so. Everything read is untrusted and bounded. Knows nothing of what entries say, and changes
nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from node.audit.decisions.epoch_check import keys_of
from node.audit.decisions.moved import source_in
from node.audit.decisions.origin import epoch_of
from node.audit.log.archive import archives_of
from node.audit.log.reader import CHECKPOINT, VKEY, VKEY_BYTES_MAX, Source
from node.audit.tlog.policy import POLICY_BYTES_MAX, LogLine, WitnessPolicy
from node.core.errors import BadInput, NodeError, NotFound, Rejected, Unavailable
from node.core.record import KeyRecord, decode, public_key_of
from node.core.settings import Settings
from node.core.signed_note import ED25519, NOTE_BYTES_MAX, Checkpoint, Verifier

GIVEN, OWN, BESIDE = "given", "own", "beside"
"""Whose word the keys are: the caller's, this node's certificates', the log's own."""

_CONNECT_S = 10.0
_RESOURCE_S = 60.0
"""How long one file of a log may take in all."""
_CHUNK_BYTES = 64 * 1024
_CERTIFICATE_BYTES_MAX = 16 * 1024


# --- where ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A log: ``source`` reads it, ``below`` a log under it (``epochs/1``), ``name`` is for people."""

    name: str
    source: Source
    below: Callable[[str], Source]


@contextlib.contextmanager
def place_of(args: argparse.Namespace, settings: Settings) -> Iterator[Place]:
    """The log that the options name, for as long as the context lasts. Raises ``BadInput``."""
    if not args.url:
        directory = Path(args.dir or settings.governance_dir)
        archives = archives_of(settings.archive)
        source = source_in(directory, archives)
        yield Place(str(directory), source, lambda path: source_in(directory, archives, path))
        return
    url = log_address(args.url)
    with contextlib.ExitStack() as connections:

        def behind(address: str) -> HttpSource:
            return connections.enter_context(contextlib.closing(HttpSource(address)))

        yield Place(url, behind(url), lambda path: behind(f"{url}/{path}"))


def log_address(url: str) -> str:
    """The prefix of a log; for a node's bare address that of its decision log. Raises ``BadInput``."""
    parts = urlsplit(url)
    try:
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or parts.query or parts.fragment or "@" in parts.netloc:
        said = f"{url!r} is no address of a log such as http://127.0.0.1:8642/logs/decisions"
        raise BadInput(said, field="url")
    path = parts.path.rstrip("/") or "/logs/decisions"
    return f"{parts.scheme}://{parts.netloc}{path}"


class HttpSource:
    """A log behind an address, over one connection that is kept. No redirect is followed."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._url = url
        self._prefix = parts.path
        self._http = kind(parts.hostname or "", parts.port, timeout=_CONNECT_S)
        self._turn = asyncio.Lock()

    async def read(self, path: str, bytes_max: int) -> bytes:
        """See ``Source.read``."""
        async with self._turn:
            is_done = False
            try:
                async with asyncio.timeout(_RESOURCE_S):
                    data = await asyncio.to_thread(self._read, path, bytes_max)
                is_done = True
            except TimeoutError as exc:
                raise Unavailable(f"{self._url}/{path} did not come within {_RESOURCE_S:.0f} s") from exc
            finally:
                if not is_done:
                    self._break_off()
            return data

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def _break_off(self) -> None:
        """Wake the thread that may still be reading; the next call begins a new connection."""
        if (connected := self._http.sock) is not None:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def _read(self, path: str, bytes_max: int) -> bytes:
        was_kept = self._http.sock is not None
        try:
            return self._get(path, bytes_max)
        except (OSError, HTTPException) as exc:
            self._http.close()
            if not was_kept:
                raise self._unanswered(exc) from exc
        try:  # the other side may have closed an idle connection
            return self._get(path, bytes_max)
        except (OSError, HTTPException) as exc:
            self._http.close()
            raise self._unanswered(exc) from exc

    def _unanswered(self, exc: Exception) -> Unavailable:
        return Unavailable(f"nobody answers at {self._url} ({str(exc) or type(exc).__name__})")

    def _get(self, path: str, bytes_max: int) -> bytes:
        headers = {"Accept-Encoding": "gzip, identity"}  # recommended by tlog-tiles; bundles may come zipped
        self._http.request("GET", f"{self._prefix}/{path}", headers=headers)
        with self._http.getresponse() as response:
            status, encoding = response.status, (response.getheader("Content-Encoding") or "identity").lower()
            if status == 200 and encoding in ("identity", "gzip"):
                body = _bounded(response, bytes_max + _CHUNK_BYTES)
                data = _unzipped(body, bytes_max) if encoding == "gzip" else body
                if len(data) <= bytes_max:
                    return data
                raise Rejected(f"{self._url}/{path} has more than {bytes_max} bytes")
            self._http.close()
        if status in (403, 404, 410):  # object stores say 403 for what they do not have
            raise NotFound(f"there is no {path} at {self._url}")
        if 300 <= status < 400:
            raise Unavailable(
                f"{self._url} redirects elsewhere, which is not followed; give that address itself"
            )
        raise Unavailable(f"{self._url}/{path} cannot be had (status {status}, {encoding})")


def _bounded(response: HTTPResponse, bytes_max: int) -> bytes:
    body = bytearray()
    while chunk := response.read1(_CHUNK_BYTES):
        body += chunk
        if len(body) > bytes_max:
            raise Rejected(f"an answer has more than {bytes_max} bytes")
    return bytes(body)


def _unzipped(body: bytes, bytes_max: int) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    try:
        data = unzip.decompress(body, bytes_max + 1)
    except zlib.error as exc:
        raise Rejected("an answer is not the gzip that it says") from exc
    if len(data) <= bytes_max and not unzip.eof:
        raise Rejected("an answer is gzip that ends too early")
    return data


# --- whose signature ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trust:
    """The keys of a log's checkpoints and whose word they are (``GIVEN``, ``OWN``, ``BESIDE``)."""

    keys: tuple[Verifier, ...]
    whose: str

    @property
    def remark(self) -> str:
        """What a person has to know about it; empty where nothing is unusual."""
        if self.whose != BESIDE:
            return ""
        return (
            "no --vkey was given, so the key beside the log is trusted: this shows that the log fits itself, "
            "not whose it is"
        )


async def trust_of(args: argparse.Namespace, settings: Settings, place: Place, note: bytes) -> Trust:
    """The keys to check ``note``, a checkpoint of the log at ``place``, with. Raises ``BadInput``,
    ``NotFound``, ``Rejected``, ``Unavailable``."""
    if (found := trust_without_place(args, settings, note)) is not None:
        return found
    keys = keys_of(await place.source.read(VKEY, VKEY_BYTES_MAX))
    return Trust(tuple(keys), BESIDE)


def trust_without_place(args: argparse.Namespace, settings: Settings, note: bytes) -> Trust | None:
    """The keys given, or this node's own if the checkpoint ``note`` is of its log. Raises ``BadInput``."""
    given = _given(args.vkey) if args.vkey else []
    try:
        origin = Checkpoint.of_note(note).origin
    except Rejected:
        return Trust(tuple(given), GIVEN) if given else None  # whoever opens it says what is wrong with it
    if given:
        # A key goes on from epoch to epoch; its name is that of the log that it signs.
        base, _ = epoch_of(origin)
        later = [Verifier(origin, one.kind, one.public) for one in given if one.name == base != origin]
        return Trust((*given, *later), GIVEN)
    own = own_keys(Path(settings.data_dir) / "keys", origin)
    return Trust(tuple(own), OWN) if own else None


def _given(text: str) -> list[Verifier]:
    try:
        return keys_of(file_bytes(text[1:], VKEY_BYTES_MAX) if text.startswith("@") else text.encode())
    except Rejected as exc:
        raise BadInput(f"--vkey: {exc}", field="vkey") from exc


def own_keys(directory: Path, origin: str) -> list[Verifier]:
    """The keys that this node's root certifies for the log ``origin``: the one that signs and those in their
    overlap. Empty where it is another's log. Reads certificates only: no secret, and nothing is changed."""
    try:
        root = (directory / "root.did").read_text(encoding="ascii").strip()
        base, _ = epoch_of(origin)
        name, _, use = base.rpartition("/")
        if f"{root.removeprefix('did:key:')}.neuroswarm" != name:
            return []
        paths = sorted(directory.glob(f"{use}*.cert"))
        certificates = [file_bytes(str(path), _CERTIFICATE_BYTES_MAX) for path in paths]
    except (OSError, ValueError, NodeError):
        return []
    keys = []
    for data in certificates:
        with contextlib.suppress(Rejected):
            record = decode(data)
            if isinstance(record, KeyRecord) and record.issuer == record.key == root and record.use == use:
                keys.append(Verifier(origin, ED25519, public_key_of(record.subject)))
    return keys


def policy_of(args: argparse.Namespace, settings: Settings) -> WitnessPolicy | None:
    """The witness policy of ``--policy`` or of the setting; None where there is none. Raises ``BadInput``."""
    path = args.policy or settings.log.witness_policy
    if not path:
        return None
    try:
        return WitnessPolicy.parse(file_bytes(path, POLICY_BYTES_MAX))
    except Rejected as exc:
        raise BadInput(f"{path}: {exc}", field="policy") from exc


def with_epochs(policy: WitnessPolicy, note: bytes) -> WitnessPolicy:
    """The policy for the log of the checkpoint ``note``: a line that names a log's first epoch names its
    later ones too, which have the same key under their own names."""
    with contextlib.suppress(Rejected):
        origin = Checkpoint.of_note(note).origin
        base, number = epoch_of(origin)
        first = [line.verifier for line in policy.logs if number > 1 and line.verifier.name == base]
        later = [LogLine(Verifier(origin, one.kind, one.public), None) for one in first]
        return replace(policy, logs=(*policy.logs, *later))
    return policy


def file_bytes(name: str, bytes_max: int) -> bytes:
    """A file of a bounded size; ``-`` is standard input. Raises ``BadInput``."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(bytes_max + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(bytes_max + 1)
    except OSError as exc:
        raise BadInput(f"cannot read {name}: {exc.strerror or exc}", field="file") from exc
    if len(data) > bytes_max:
        raise BadInput(f"{name} has more than {bytes_max} bytes", field="file")
    return data


async def newest(place: Place) -> bytes:
    """The newest checkpoint of the log. Raises ``NotFound`` (there is no log), ``Rejected``,
    ``Unavailable``."""
    try:
        return await place.source.read(CHECKPOINT, NOTE_BYTES_MAX)
    except NotFound as exc:
        raise NotFound(f"there is no log at {place.name}: it has no {CHECKPOINT}") from exc


def names_of(verifiers: Sequence[Verifier]) -> list[str]:
    """Keys as people tell them apart: name and key id."""
    return [f"{one.name}+{one.key_id.hex()}" for one in verifiers]

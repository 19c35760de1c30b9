"""HNSW graphs on disk: one file per large partition, beside the vectors, believed only when whole and theirs.

A file saves building the graph anew, which takes minutes where loading takes seconds. It is a copy of a
copy: the vectors' file (``vector_file``) says which rows there are up to which watermark, and a node counts
only if that file gives the same vector for one of its CIDs (``Graph.confirm``). The two files need not have
been written at one moment: what only one of them knows is dead, or is added anew. A file that is cut off,
altered, of another model or format is passed over with a warning, and the graph is built again.
All here blocks: a coroutine calls it through ``asyncio.to_thread``.

Format ``hnsw/v1``, numbers little endian:

====== ============ ==============================================================================
offset bytes        what
====== ============ ==============================================================================
0      n            the graph as usearch writes it, float16 vectors included
n      8            magic ``NSWGRAPH``
...    4            format version, 1
...    4            dim
...    32           SHA-256 of the embedding model's weights
...    4            expansion in searching that the guard chose
...    2            length of scope; scope in UTF-8
...    2            length of context, or 65,535 for none; context in UTF-8
...    4            number of nodes' labels m
...    m times      4 number of CIDs, each 1 length and binary CID
...    8            n
...    8            length of everything from the magic up to here
...    32           SHA-256 of everything before; nothing follows
====== ============ ==============================================================================
"""

from __future__ import annotations

import hashlib
import io
import logging
import mmap
import os
import struct
from collections.abc import Container, Mapping
from pathlib import Path
from typing import BinaryIO

from node.cache.index.flat_index import ROWS_MAX, Partition
from node.cache.index.hnsw_index import CONNECTIVITY, EXPANSIONS, Graph, new_core
from node.cache.index.usearch_library import MetricKind, ScalarKind
from node.cache.index.vector_file import (
    U32,
    U64,
    VERSION,
    HashingReader,
    digest_bytes,
    remove_files,
    replacing,
    short_cid,
    short_text,
    short_texts,
)
from node.core.errors import Rejected, Unavailable
from node.core.ipld.cid import Cid

log = logging.getLogger("neuroswarm.index")

SUFFIX = ".nswgraph"

_MAGIC = b"NSWGRAPH"
_HEADER = struct.Struct("<8sII32sI")
_TAIL = struct.Struct("<QQ32s")
_READ_BYTES = 2**20
_SAVE_SHARE = 20
"""A graph is written anew when a twentieth of its rows is new: they are merged again after a restart."""
_NAME_DIGITS = 16


def path_for(directory: Path, model_digest: str, partition: Partition) -> Path:
    """The file of this partition: the model's digest and the start of one over scope and context."""
    named = b"".join(short_text(part) for part in partition)
    part = hashlib.sha256(named).hexdigest()[:_NAME_DIGITS]
    return directory / f"{digest_bytes(model_digest).hex()}-{part}{SUFFIX}"


# --- writing --------------------------------------------------------------------------------------


def save_all(directory: Path, graphs: Mapping[Partition, Graph], *, model_digest: str) -> None:
    """Write the graphs to which much was added since they were written last, and delete the files of this
    model's partitions that have none any more. Raises ``Unavailable``."""
    paths = {path_for(directory, model_digest, key): key for key in graphs}
    for path, key in paths.items():
        graph = graphs[key]
        if not path.exists() or (graph.added - graph.saved) * _SAVE_SHARE > len(graph):
            added = graph.added
            save(path, graph, key, model_digest=model_digest)
            graph.saved = added
    remove_others(directory, paths, model_digest=model_digest)


def save(path: Path, graph: Graph, partition: Partition, *, model_digest: str) -> None:
    """Replace ``path`` as ``replacing`` does. The graph's nodes must not change meanwhile; searches may go
    on. Raises ``Unavailable``."""
    with replacing(path, "the HNSW index") as temporary:
        try:
            graph.core.save(str(temporary), progress=_go_on)
        except RuntimeError as exc:  # how usearch reports what the disk refuses
            raise Unavailable(f"the HNSW index cannot be saved to {path}: {exc}") from exc
        with temporary.open("r+b") as file:
            _append_names(file, graph, partition, digest_bytes(model_digest))


def _go_on(done: int, of: int) -> bool:
    """Called for each node: without it the library would keep Python's lock while it writes gigabytes."""
    return True


# The library checks what stands here, and does not understand postponed annotations.
_go_on.__annotations__ = {"done": int, "of": int, "return": bool}


def _append_names(file: BinaryIO, graph: Graph, partition: Partition, digest: bytes) -> None:
    seal = hashlib.sha256()
    length = 0
    while data := file.read(_READ_BYTES):
        seal.update(data)
        length += len(data)
    members = graph.members
    names = [
        _HEADER.pack(_MAGIC, VERSION, graph.dim, digest, graph.expansion),
        *(short_text(part) for part in partition),
        U32.pack(len(members)),
    ]
    for cids in members:
        names.append(U32.pack(len(cids)))
        names += map(short_cid, cids)
    trailer = b"".join(names)
    trailer += U64.pack(length) + U64.pack(len(trailer))
    seal.update(trailer)
    file.write(trailer + seal.digest())


def remove_others(directory: Path, keep: Container[Path], *, model_digest: str = "") -> int:
    """Delete every graph's file (of this model, if one is named) but those; how many. Raises
    ``Unavailable``."""
    return remove_files(directory, f"{model_digest}*{SUFFIX}", keep, "old HNSW indexes")


# --- reading --------------------------------------------------------------------------------------


def load_all(directory: Path, *, model_digest: str, dim: int) -> dict[Partition, Graph]:
    """The graphs of this model; none of their rows is found before it is confirmed. What is not usable is
    logged and left out."""
    found: dict[Partition, Graph] = {}
    for path in sorted(directory.glob(f"{digest_bytes(model_digest).hex()}-*{SUFFIX}")):
        try:
            partition, graph = load(path, model_digest=model_digest, dim=dim)
        except (Rejected, Unavailable) as exc:
            log.warning("%s is built again from the vectors: %s", path.name, exc)
        else:
            found[partition] = graph
    return found


def load(path: Path, *, model_digest: str, dim: int) -> tuple[Partition, Graph]:
    """Steps: 1 SHA-256 of the whole; 2 header and names; 3 the graph itself, whose parser trusts its
    input. Raises ``Rejected`` (not usable), ``Unavailable`` (cannot be read)."""
    try:
        with path.open("rb") as file:
            length, names_length = _check_seal(file)
            file.seek(length)
            names = HashingReader(io.BytesIO(file.read(names_length)))
            partition, expansion, members = _read_names(names, digest_bytes(model_digest), dim)
            if path.name != path_for(path.parent, model_digest, partition).name:
                raise Rejected("it belongs to another scope or context")
            core = new_core(dim)
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
                view = memoryview(whole)[:length]
                try:
                    core.load(view, progress=_go_on)
                finally:
                    view.release()
    except OSError as exc:
        raise Unavailable(f"the HNSW file cannot be read: {exc.strerror}") from exc
    except (RuntimeError, ValueError, MemoryError) as exc:
        raise Rejected(f"the HNSW file is not usable: {exc}") from exc
    kind = (core.ndim, core.dtype, core.metric_kind, core.connectivity)
    if kind != (dim, ScalarKind.F16, MetricKind.IP, CONNECTIVITY) or len(core) > len(members):
        raise Rejected("its graph is of another kind or size")
    graph = Graph(dim, core, members)
    graph.expansion = expansion
    return partition, graph


def _check_seal(file: BinaryIO) -> tuple[int, int]:
    size = os.fstat(file.fileno()).st_size
    if size < _TAIL.size:
        raise Rejected("it is cut off")
    seal, left = hashlib.sha256(), size - hashlib.sha256().digest_size
    while left:
        data = file.read(min(left, _READ_BYTES))
        if not data:
            raise Rejected("it is cut off")
        seal.update(data)
        left -= len(data)
    file.seek(size - _TAIL.size)
    length, names_length, digest = _TAIL.unpack(file.read(_TAIL.size))
    if digest != seal.digest():
        raise Rejected("its SHA-256 does not match")
    if length + names_length + _TAIL.size != size:
        raise Rejected("its lengths do not match")
    return int(length), int(names_length)


def _read_names(
    reader: HashingReader, digest: bytes, dim: int
) -> tuple[Partition, int, list[tuple[Cid, ...]]]:
    [expansion] = reader.header(_HEADER, _MAGIC, "an HNSW file", digest, dim)
    if expansion not in EXPANSIONS:
        raise Rejected(f"an expansion of {expansion} is not one of ours")
    partition = short_texts(reader)
    count = reader.whole(U32)
    if count > 2 * ROWS_MAX:
        raise Rejected(f"it claims {count} nodes")
    members = [tuple(reader.cid() for _ in range(reader.whole(U32))) for _ in range(count)]
    return partition, expansion, members

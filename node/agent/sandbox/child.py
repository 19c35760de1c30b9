"""The process in which a model's code runs: one run, then it ends.

It reads one job from standard input, judges the syntax, closes the walls, says that it has started, and from
then on tells what the code prints and how it ended, a line of JSON each. Nothing is kept for another run.
"""

from __future__ import annotations

import ast
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import msgspec

from node.agent.sandbox.ran import ERROR_CHARS, End, Job, Said, Started
from node.agent.sandbox.rules import modules, refusal
from node.models.llama.child import leave_the_network, protocol_out, stay_small

_NICE = 5
_PIECE_CHARS = 8_192
_RUNNERS = {"monty": "node.agent.sandbox.in_monty", "python": "node.agent.sandbox.in_python"}
Send = Callable[[Said], None]


def plain(text: str, most: int = ERROR_CHARS) -> str:
    """Its first characters, in what UTF-8 can say."""
    return text[:most].encode("utf-8", "replace").decode()


def pieces(text: str) -> list[str]:
    """Short enough for the reader, who stops the run when he has enough."""
    text = plain(text, len(text))
    return [text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS)]


def leave_the_folder() -> None:
    """Into a folder that is empty and stays so: it is removed as soon as this process is in it."""
    try:
        folder = tempfile.mkdtemp(prefix="neuroswarm-run-")
        os.chdir(folder)
        Path(folder).rmdir()
    except OSError:
        os.chdir("/")  # nothing can be written on this system


def judged(job: Job) -> ast.Module | End:
    """The code's syntax, or why nothing of it runs."""
    try:
        tree = ast.parse(job.code)
    except SyntaxError as exc:
        return End("syntax", error=plain(f"SyntaxError: {exc.msg}"), line=exc.lineno or 0)
    except (ValueError, RecursionError, MemoryError) as exc:
        return End("syntax", error=plain(f"the code cannot be read: {exc}"))
    found = refusal(tree, modules(job.limits.runner))
    return tree if found is None else End("refused", error=plain(found.reason), line=found.line)


def main() -> None:
    """Run the job and end."""
    out = protocol_out()

    def send(said: Said) -> None:
        try:
            out.write(msgspec.json.encode(said) + b"\n")
            out.flush()
        except OSError:
            os._exit(0)  # nobody listens any more

    stay_small(_NICE)
    leave_the_network()
    leave_the_folder()
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    job = msgspec.json.decode(sys.stdin.buffer.readline(), type=Job)
    job = msgspec.structs.replace(job, code=job.code.replace("\r\n", "\n").replace("\r", "\n"))
    tree = judged(job)
    if isinstance(tree, End):
        send(Started())
        send(tree)
    else:
        import_module(_RUNNERS[job.limits.runner]).run(job, tree, send, out.fileno())
    os._exit(0)


if __name__ == "__main__":
    main()

"""Settings of the agent."""

from __future__ import annotations

from dataclasses import dataclass

from node.core.setting_fields import between, one_of


@dataclass(frozen=True, slots=True)
class Agent:
    """``code_*``: the sandbox in which a model's code runs. ``code_runner``: which interpreter, or none;
    ``code_time_s``: of one run; ``code_memory_bytes``: beyond what the interpreter takes;
    ``code_output_chars``: of what it prints; ``code_recursion``: calls deep; ``code_file_bytes``: of each
    file that it saves; ``code_at_once``: runs beside each other."""

    code_runner: str = one_of("monty", "python", "none")
    code_time_s: float = between(0.1, 30.0, 600)
    code_memory_bytes: int = between(16 * 2**20, 256 * 2**20, 2**36)
    code_output_chars: int = between(100, 20_000, 1_000_000)
    code_recursion: int = between(50, 500, 1_000)
    code_file_bytes: int = between(1_024, 2**20, 16 * 2**20)
    code_at_once: int = between(1, 1, 64)

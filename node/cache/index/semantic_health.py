"""What health says of look-up by meaning. Pure."""

from __future__ import annotations

from node.cache.index.engine import Choice, Engine
from node.core.model import Check

_EXACT_GOES_ON = "exact, slot and keyword look-up go on"


def why_none(trouble: str) -> str:
    """Why no engine serves."""
    return trouble or "no embedder is loaded yet"


def checks(
    serving: Engine | None, coming: Engine | None, choice: Choice, trouble: str, left_out: int
) -> list[Check]:
    """The embedder, the look-up, and how far embedding anew has come where that is not done. ``trouble``: why
    the wanted engine is not in place; ``left_out``: questions that it fails on."""
    progress = _progress(serving, coming, left_out)
    found = [_embedder(serving, choice, trouble), _semantic(serving, trouble)]
    return found if progress is None else [*found, progress]


def _embedder(serving: Engine | None, choice: Choice, trouble: str) -> Check:
    if serving is None:
        again = "" if choice.is_none else "; it is tried again"
        said = f"semantic look-up is off: {why_none(trouble)}{again}; {_EXACT_GOES_ON}"
        return Check("embedder", "warn", said)
    if why := serving.why_unwell():
        return Check("embedder", "warn", f"{why}; {_EXACT_GOES_ON}")
    if trouble:
        return Check("embedder", "warn", f"{serving.info.model} serves meanwhile: {trouble}")
    return serving.embedder.health()


def _semantic(serving: Engine | None, trouble: str) -> Check:
    if serving is None:
        return Check("semantic", "warn", f"disabled: {why_none(trouble)}")
    vectors = len(serving.keeper.index)
    if why := serving.why_unwell():
        return Check("semantic", "warn", f"disabled: {why}", observed=vectors, unit="vectors")
    if why := serving.keeper.index.trouble:
        return Check("semantic", "warn", f"enabled, but {why}", observed=vectors, unit="vectors")
    return Check("semantic", "pass", "enabled", observed=vectors, unit="vectors")


def _progress(serving: Engine | None, coming: Engine | None, questions_left_out: int) -> Check | None:
    wanted = coming or serving
    if wanted is None:
        return None
    done, total = wanted.keeper.done, wanted.keeper.total
    left_out = f"; {questions_left_out} questions were left out" if questions_left_out else ""
    if done >= total and coming is None:
        if not questions_left_out:
            return None
        return Check("reembedding", "warn", f"done{left_out}: {wanted.info.model} fails on them")
    if coming is not None and serving is not None:
        meanwhile, status = f"{serving.info.model} serves meanwhile", "pass"
    else:
        meanwhile, status = "look-up by meaning finds only what is done", "warn"
    said = f"{done} of {total} stored questions are embedded anew by {wanted.info.model}; {meanwhile}"
    return Check("reembedding", status, said + left_out, observed=done, unit=f"of {total} questions")

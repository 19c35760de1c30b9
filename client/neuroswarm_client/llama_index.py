"""A node as a LlamaIndex model: ``Settings.llm = NeuroSwarm()``. Needs the extra ``llama-index``."""

from __future__ import annotations

import os
from typing import Any

from llama_index.llms.openai_like import OpenAILike

from neuroswarm_client.client import ADDRESS, API_KEY


class NeuroSwarm(OpenAILike):
    """``model``: ``neuroswarm`` is the whole node, ``neuroswarm/<upstream>`` its cache in front of a model.
    The temperature is OpenAI's default, for another one is a context of its own in the cache."""

    def __init__(
        self,
        model: str = "neuroswarm",
        *,
        address: str = ADDRESS,
        api_key: str | None = None,
        temperature: float = 1.0,
        **more: Any,
    ) -> None:
        key = os.environ.get(API_KEY, "") if api_key is None else api_key
        given = {"is_chat_model": True, "context_window": 8_192, "timeout": 65.0, "max_retries": 0, **more}
        super().__init__(
            model=model,
            api_base=f"{address.rstrip('/')}/v1",
            api_key=key or "none",  # the package wants one; a node on this machine asks for none
            temperature=temperature,
            **given,
        )

    @classmethod
    def class_name(cls) -> str:
        return "NeuroSwarm"

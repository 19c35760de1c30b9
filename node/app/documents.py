"""What a community has written: its store, its vectors, and the jobs that bring folders in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from node.app.data_files import DOCUMENTS_FILE, renewed
from node.app.engines import token_count, token_vectors
from node.app.storage import VERSION, Ground
from node.core.clock import Clock
from node.core.errors import Misconfigured, NodeError, Unavailable
from node.core.model import Check
from node.core.ports import Embedded, EmbedderInfo, Semantics, Vector
from node.core.scheduler import Scheduler
from node.core.settings import Settings
from node.knowledge.accounts import Accounts
from node.knowledge.corpus import StoredCorpus, document_of
from node.knowledge.describe import Describer
from node.knowledge.desk import DocumentDesk
from node.knowledge.ingest import Ingestor, Runs
from node.knowledge.retrieve import Search
from node.knowledge.rows import Changed
from node.knowledge.store import DocumentStore
from node.knowledge.used import UsedDocuments, Withdraw
from node.knowledge.vectors import DocumentVectors, Texts
from node.privacy import private_reason
from node.store.writer import SqliteFile

if TYPE_CHECKING:
    from node.models.embedders.multilingual import MultilingualEmbedder

log = logging.getLogger("neuroswarm.documents")

USED_FILE = "used_documents.sqlite"
CATCH_UP_EVERY_S = 60
COMPARE_EVERY_S = 60
SCRUB_EVERY_S = 900
_NAMED_MAX = 3
BEING_READ = "are being read again"
_KNOWN = "documents"
_GONE = (
    "{count} documents were here, and their file is gone: folders are read again, what was uploaded has to "
    "be sent again, or restore a backup"
)
_RENEWED = (
    "the file was damaged: what is whole in it was kept, and documents are read again from their bytes; "
    "those that are missing have to be sent again where no folder has them"
)


async def ended(task: asyncio.Task[None]) -> None:
    """End it; what it leaves is found at the next start."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Vectors:
    """The embedder that serves now, as the search wants it: texts to vectors."""

    semantics: Semantics

    @property
    def info(self) -> EmbedderInfo:
        return self.semantics.info

    @property
    def sample(self) -> Vector | None:
        return None

    def health(self) -> Check:
        return next(iter(self.semantics.health()), Check("embedder", "pass"))

    async def close(self) -> None:
        """The embedder is not this one's to close."""

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """As ``Embedder.embed``. Raises ``Unavailable``."""
        return [None if one is None else one.vector for one in await self.semantics.embed(texts)]


class OwnTexts:
    """The multilingual embedder, as the vectors of documents want it."""

    def __init__(self, embedder: MultilingualEmbedder) -> None:
        self._embedder, self.info = embedder, embedder.info

    async def embed(self, texts: Sequence[str]) -> list[Embedded | None]:
        """As ``Semantics.embed``."""
        found = await self._embedder.embed(texts)
        return [None if one is None else Embedded(one, self.info) for one in found]


def own_embedder(settings: Settings, clock: Clock) -> MultilingualEmbedder | None:
    """The embedder of documents, None where they share the node's. Raises ``Misconfigured``: it is asked for
    and not installed."""
    wanted = settings.documents.embedder
    if wanted == "same" or (wanted == "auto" and settings.embed.engine != "local"):
        return None
    try:
        from node.models.embedders.multilingual import MultilingualEmbedder

        return MultilingualEmbedder(settings.embed, clock)
    except (ImportError, Unavailable) as exc:
        if wanted == "auto":
            return None
        raise Misconfigured(f"setting documents.embedder is multilingual: {exc}") from exc


@dataclass(frozen=True, slots=True)
class Library:
    """Everything about documents. ``corpus``: what is searched."""

    desk: DocumentDesk
    store: DocumentStore
    vectors: DocumentVectors
    corpus: StoredCorpus
    used: UsedDocuments
    accounts: Accounts
    search: Search
    own: MultilingualEmbedder | None = None
    is_renewed: bool = False
    """The file was damaged, and is made anew from what is whole in it."""
    known: int = 0
    """How many documents there were when this was last looked at, if there are none now: the file is gone."""

    @property
    def files(self) -> tuple[SqliteFile, ...]:
        return self.store.file, self.used.file

    async def follow(
        self, withdraw: Withdraw, erase: Withdraw, scheduler: Scheduler, stack: AsyncExitStack
    ) -> None:
        """Withdraw the answers whose documents changed while nobody listened, erase those whose documents
        were removed, and from here on both: at once, and again every ``COMPARE_EVERY_S`` for a while, for an
        answer may be under way and a disk be full. Raises ``Unavailable``."""

        async def compare() -> None:
            documents = map(document_of, await self.store.all())
            await self.used.compare(documents, withdraw, self.desk.clock.monotonic(), erase)

        async def again() -> None:
            if self.used.has_work:
                await compare()

        due = asyncio.Event()

        async def follow() -> None:
            while True:
                await due.wait()
                due.clear()
                try:
                    await compare()
                except NodeError as exc:
                    log.warning("event=document_answers_not_withdrawn reason=%s", exc)

        def hear(changed: Changed) -> None:
            if self.used.knows(changed.cids):
                due.set()

        await compare()
        self.store.listeners.append(hear)
        stack.push_async_callback(ended, asyncio.create_task(follow(), name="withdraw document answers"))
        scheduler.every(COMPARE_EVERY_S, "compare_documents", again)

    def schedule(self, scheduler: Scheduler, describer: Describer | None) -> None:
        """Look at the folders of the settings now and again, embed what is owed, and describe what a
        description is wanted of."""
        if self.desk.settings.folders:
            scheduler.soon("ingest_at_start", self.desk.look)
            scheduler.every(self.desk.settings.every_s, "ingest_folders", self.desk.look)
        scheduler.every(CATCH_UP_EVERY_S, "embed_documents", self._catch_up)
        if describer is not None:
            scheduler.every(CATCH_UP_EVERY_S, "describe_documents", describer.work)
        scheduler.soon("mend_documents_at_start", self.desk.ingestor.reread)
        scheduler.every(CATCH_UP_EVERY_S, "mend_documents", self.desk.ingestor.reread)
        scheduler.every(CATCH_UP_EVERY_S, "log_documents", self.accounts.tell)
        scheduler.every(SCRUB_EVERY_S, "scrub_documents", self.store.scrub)

    async def _catch_up(self) -> None:
        if self.vectors.is_served:
            await self.vectors.catch_up()

    async def probe(self) -> Check:
        """How many documents are here, for ``/health``."""
        lost = sorted(self.store.sealer.lost)[:_NAMED_MAX]
        try:
            counts = await self.store.counts()
        except NodeError as exc:
            return Check("documents", "warn", f"documents cannot be counted: {exc}")
        text = f"{counts['missing']} missing; {counts['chunks']} chunks, {len(self.vectors)} vectors"
        if counts["documents"] and self.search.no_embedder:
            text += "; found by keywords alone, as documents.use_fallback (RAG_USE_FALLBACK) says"
        elif counts["documents"] and not self.vectors.is_served:
            text += "; found by keywords alone, for no embedder serves now"
        is_gone = self.known and not counts["documents"]
        trouble = [
            *([_GONE.format(count=self.known)] if is_gone else []),
            *([_RENEWED] if self.is_renewed else []),
            *(
                [f"{len(self.store.dropped)} could not be read and were dropped"]
                if self.store.dropped
                else []
            ),
            *([f"{len(self.store.unreadable)} are damaged and read again"] if self.store.unreadable else []),
            *(
                f"the key of {scope} is not in {self.store.sealer.path_of_keys}: put it back"
                for scope in lost
            ),
        ]
        if self.own is not None and (own := self.own.health()).status != "pass":
            trouble.append(f"documents are found by keywords only: {own.output}")
        if counts["owed"]:
            trouble.append(f"{counts['owed']} {BEING_READ}")
        if self.store.has_bad_words:
            trouble.append("the index of keywords is damaged and made anew")
        status: Literal["pass", "warn"] = "warn" if trouble else "pass"
        said = "; ".join((*trouble, text))
        return Check("documents", status, said, observed=counts["documents"], unit="documents")


async def nearness(own: MultilingualEmbedder, question: str, texts: Sequence[str]) -> list[float]:
    """See ``answer.documents.Nearness``."""
    [asked] = await own.questions.embed([question])
    least, most = own.questions.cosines
    return [
        0.0 if asked is None or one is None else (float(asked @ one) - least) / (most - least)
        for one in await own.embed(texts)
    ]


async def open_documents(
    ground: Ground, semantics: Semantics, note_erased: Callable[[Sequence[str]], Awaitable[object]]
) -> Library:
    """Open it; ``note_erased`` enters what backups must not bring back. Of a damaged
    file what is whole is kept, and the rest read again. Raises ``CorruptState``, ``Unavailable``."""
    path, clock, settings = ground.data_dir / DOCUMENTS_FILE, ground.clock, ground.settings
    store, is_renewed = await renewed(path, clock, lambda: DocumentStore.open(path))
    ground.stack.push_async_callback(store.close)
    count = token_count()
    own = own_embedder(settings, clock)
    texts: Texts = semantics
    if own is not None:
        ground.stack.push_async_callback(own.close)
        texts = OwnTexts(own)
    vectors = await DocumentVectors.open(store, texts, count, clock, hnsw_above=settings.cache.hnsw_above)
    ground.stack.push_async_callback(vectors.close)
    used_path = ground.data_dir / USED_FILE
    used, _ = await renewed(used_path, clock, lambda: UsedDocuments.open(used_path))
    ground.stack.push_async_callback(used.close)
    accounts = Accounts(store, used, ground.recorder, note_erased, VERSION)
    ingestor = Ingestor(store, vectors, settings.documents, count, private_reason, accounts)
    await ingestor.settle()
    runs = Runs(ingestor)
    ground.stack.push_async_callback(runs.close)
    corpus = StoredCorpus(store, vectors)
    tokens = token_vectors(settings)
    if tokens is not None:
        ground.stack.push_async_callback(tokens.close)
    search = Search(
        corpus,
        Vectors(semantics) if own is None else own.questions,
        descriptions=StoredCorpus(store, vectors, about=True),
        tokens=tokens,
        no_embedder=settings.documents.use_fallback,
        cosines=(0.0, 1.0) if own is None else own.questions.cosines,
    )
    desk = DocumentDesk(store, corpus, ingestor, runs, settings.documents, clock, search)
    known = await _known(ground, store)
    return Library(desk, store, vectors, corpus, used, accounts, search, own, is_renewed, known)


async def _known(ground: Ground, store: DocumentStore) -> int:
    """How many documents were here, where there are none now; noted anew at the end, and kept where the file
    is gone."""
    noted = await ground.state.get_meta(_KNOWN)
    before = int(noted) if noted and noted.isdigit() else 0
    is_gone = before > 0 and (await store.counts())["documents"] == 0

    async def note() -> None:
        try:
            count = (await store.counts())["documents"]
            if count or not is_gone:
                await ground.state.set_meta(_KNOWN, str(count))
        except NodeError as exc:
            log.warning("event=documents_not_counted reason=%s", exc)

    ground.stack.push_async_callback(note)
    return before if is_gone else 0

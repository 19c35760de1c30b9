"""A stand-in for an S3-compatible store on loopback: objects of one bucket, in memory.

It speaks four calls (put, get, head, list with a prefix, in pages of ``PAGE``), looks whether a request bears
the right key's name and does not check its signature: for that there is a real server among the engines
(``s3``). ``is_away`` has it answer 503.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from xml.sax.saxutils import escape

from aiohttp import web

BUCKET, KEY_ID, SECRET = "cold", "test-key", "test-secret"
PAGE = 100


class S3StandIn:
    """``objects`` by key."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.is_away = False
        self.puts = 0
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        if self.is_away:
            return web.Response(status=503)
        if f"Credential={KEY_ID}/" not in request.headers.get("Authorization", ""):
            return web.Response(status=403, text="<Error><Code>InvalidAccessKeyId</Code></Error>")
        bucket, _, key = request.path.removeprefix("/").partition("/")
        if bucket != BUCKET:
            return web.Response(status=404, text="<Error><Code>NoSuchBucket</Code></Error>")
        if request.method == "PUT":
            self.objects[key] = await request.read()
            self.puts += 1
            return web.Response(headers={"ETag": '"e"'})
        if not key:
            return self._listed(request)
        if key not in self.objects:
            return web.Response(status=404, text="<Error><Code>NoSuchKey</Code></Error>")
        headers = {"ETag": '"e"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        return web.Response(body=self.objects[key], headers=headers)

    def _listed(self, request: web.Request) -> web.Response:
        prefix, after = request.query.get("prefix", ""), request.query.get("continuation-token", "")
        keys = sorted(key for key in self.objects if key.startswith(prefix) and key > after)
        page, more = keys[:PAGE], len(keys) > PAGE
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self.objects[key])}</Size><ETag>e</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key in page
        )
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        said = f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{rows}"
        return web.Response(
            text=f"<ListBucketResult>{said}</ListBucketResult>", content_type="application/xml"
        )


@asynccontextmanager
async def s3_stand_in() -> AsyncIterator[S3StandIn]:
    """One, for as long as the block lasts."""
    store = S3StandIn()
    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", store.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    store.url = f"http://{host}:{port}"
    try:
        yield store
    finally:
        await runner.cleanup()

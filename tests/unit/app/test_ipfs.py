"""Where the clients of this node's router are sent."""

from __future__ import annotations

import pytest

from node.app.ipfs import multiaddrs


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8642", ("/ip4/127.0.0.1/tcp/8642/http",)),
        ("http://[::1]:8642", ("/ip6/::1/tcp/8642/http",)),
        ("http://node.example:80", ("/dns/node.example/tcp/80/http",)),
        ("http://0.0.0.0:8642", ()),
        ("http://[::]:8642", ()),
    ],
)
def test_only_an_address_that_leads_here_is_announced(url: str, expected: tuple[str, ...]) -> None:
    assert multiaddrs(url, ()) == expected
    assert multiaddrs(url, ["/dns/a.example/tcp/443/https"]) == ("/dns/a.example/tcp/443/https",)

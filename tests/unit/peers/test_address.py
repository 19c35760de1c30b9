from __future__ import annotations

import pytest

from node.errors import Rejected
from node.ipfs.ipns import IpnsName
from node.peers.address import ADDRESS_CHARS_MAX, address_of

NAME = IpnsName.of(bytes(range(32)))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://127.0.0.1:8642/", "http://127.0.0.1:8642"),
        (" HTTPS://Peer.Example ", "https://peer.example"),
        ("http://[::1]:80", "http://[::1]:80"),
        (NAME.text, NAME.text),
        (NAME.peer_id, NAME.text),
        (f"/ipns/{NAME.text}", NAME.text),
    ],
)
def test_one_spelling(text: str, address: str) -> None:
    assert address_of(text) == address
    assert address_of(address) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "peer.example",
        "ftp://peer.example",
        "http://",
        "http://peer:0",
        "http://peer:99999",
        "http://user@peer",
        "http://peer/path",
        "http://peer?x",
        "http://peer#x",
        "http://[::1",
        "http://bücher.example",
        "k51nonsense",
        "http://" + "a" * ADDRESS_CHARS_MAX,
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(Rejected):
        address_of(text)

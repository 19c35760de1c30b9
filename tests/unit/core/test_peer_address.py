from __future__ import annotations

import pytest

from node.core.errors import Rejected
from node.core.ipld.ipns import IpnsName
from node.core.peer_address import ADDRESS_CHARS_MAX, address_of, is_public, told_address
from tests.each import each

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


@each(
    "text",
    [
        *("", "peer.example", "ftp://peer.example", "http://", "http://peer:0", "http://peer:99999"),
        *("http://user@peer", "http://peer/path", "http://peer?x", "http://peer#x", "http://[::1"),
        *("http://bücher.example", "k51nonsense", "http://" + "a" * ADDRESS_CHARS_MAX),
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(Rejected):
        address_of(text)


# --- where others may send this node --------------------------------------------------------------

INSIDE = [
    *("0.0.0.0", "10.0.0.7", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1"),
    *("198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.7"),
    *("64:ff9b::10.0.0.7", "64:ff9b::7f00:1", "2002:7f00:1::1", "2001:0:7f00:1::1", "fc00::1", "fe80::1"),
    *("fe80::1%eth0", "fec0::1", "ff02::1", "2001:db8::1"),
]
OUTSIDE = ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"]


@each("host", [*INSIDE, "one.example", "localhost", "", "2130706433", "127.1"])
def test_what_is_not_on_the_public_internet(host: str) -> None:
    assert not is_public(host)


@pytest.mark.parametrize("host", OUTSIDE)
def test_what_is_on_the_public_internet(host: str) -> None:
    assert is_public(host)
    shown = f"[{host}]" if ":" in host else host
    assert told_address(f"http://{shown}:8642") is not None


@each("by", ["", "http://peer.example", "http://192.168.1.2:8642", NAME.text])
@each(
    "host",
    [
        *(f"[{host}]" if ":" in host else host for host in INSIDE),
        *("localhost", "LOCALHOST.", "intranet", "printer.local", "printer.local.", "db.internal"),
        *("2130706433", "127.1", "0x7f.1"),
    ],
)
def test_nobody_is_led_inside(host: str, by: str) -> None:
    assert told_address(f"http://{host}:8642", by) is None


def test_who_is_on_this_machine_names_others_on_it_by_their_numbers() -> None:
    for by in ("http://127.0.0.1:8642", "http://[::1]:8642"):
        assert told_address("http://127.0.0.1:8652", by) == "http://127.0.0.1:8652"
        assert told_address("http://[::1]:8652", by) == "http://[::1]:8652"
        assert told_address("http://localhost:8652", by) is None
        assert told_address("http://192.168.1.2:8652", by) is None
        assert told_address("http://169.254.169.254", by) is None


@pytest.mark.parametrize("text", ["https://one.example:8642", NAME.text, f"/ipns/{NAME.peer_id}"])
def test_names_and_other_places_are_taken(text: str) -> None:
    assert told_address(text) == address_of(text)


@pytest.mark.parametrize("text", ["", "ftp://one.example", "https://one.example/path", "k51nonsense"])
def test_what_is_no_address_is_not_taken(text: str) -> None:
    assert told_address(text) is None

from __future__ import annotations

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from node.api.downloads import attachment
from node.api.negotiate import CAR, RAW, Wanted, accepted, negotiate
from node.core.errors import BadInput


@pytest.mark.parametrize(
    ("query", "accept", "name", "dups"),
    [
        ({"format": "raw"}, "", "raw", False),
        ({"format": "car"}, "", "car", False),
        ({}, RAW, "raw", False),
        ({}, CAR, "car", False),
        ({}, RAW.upper(), "raw", False),
        ({"format": "car"}, RAW, "car", False),
        ({"format": "raw"}, CAR, "raw", False),
        ({"format": "raw"}, "text/html", "raw", False),
        ({"format": ""}, RAW, "raw", False),
        ({}, f"{RAW}, {CAR}", "raw", False),
        ({}, f"{RAW};q=0.5, {CAR};q=0.9", "car", False),
        ({}, f"{RAW};q=0, {CAR};q=0.001", "car", False),
        ({}, f"text/html, */*;q=0.8, {CAR};q=0.1", "car", False),
        ({}, f"{CAR};order=foo, {CAR};order=dfs;dups=y;q=0.5", "car", True),
        ({}, f"{CAR};order=foo, {RAW};q=0.1", "raw", False),
        ({}, f'{CAR} ; version="1" ; DUPS=Y', "car", True),
        ({"format": "car"}, f"{CAR};dups=y", "car", True),
        ({"format": "car", "car-dups": "n"}, f"{CAR};dups=y", "car", False),
        ({"format": "car", "car-order": "dfs"}, f"{CAR};order=foo", "car", False),
        ({"car-dups": "y"}, CAR, "car", True),
        ({"format": "car", "car-version": "1", "car-order": "unk"}, "", "car", False),
        ({"format": "raw", "car-dups": "y"}, "", "raw", True),
    ],
)
def test_what_is_wanted(query: dict[str, str], accept: str, name: str, dups: bool) -> None:
    wanted = negotiate(query, accept)
    assert (wanted.name, wanted.dups and name == "car") == (name, dups and name == "car")


@pytest.mark.parametrize("accept", ["", "*/*", "application/*", "*/*;q=0.1, application/*", f"{RAW};q=0"])
def test_naming_no_form_is_a_bad_request(accept: str) -> None:
    with pytest.raises(BadInput, match="format=raw"):
        negotiate({}, accept)


@pytest.mark.parametrize(
    ("query", "accept"),
    [
        ({"format": "tar"}, ""),
        ({"format": "dag-json"}, RAW),
        ({}, "text/html"),
        ({}, "text/html,application/xhtml+xml,*/*;q=0.8"),
        ({}, f"{CAR};version=2"),
        ({}, f"{CAR};order=bfs"),
        ({"format": "car"}, f"{CAR};dups=maybe"),
    ],
)
def test_what_is_not_served_is_not_acceptable(query: dict[str, str], accept: str) -> None:
    with pytest.raises(web.HTTPNotAcceptable):
        negotiate(query, accept)


@pytest.mark.parametrize(
    "query",
    [
        {"format": "car", "car-version": "2"},
        {"format": "car", "car-order": "bfs"},
        {"format": "car", "car-dups": "yes"},
        {"format": "ipns-record"},
    ],
)
def test_a_query_that_cannot_be_met_is_a_bad_request(query: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        negotiate(query, "")


@pytest.mark.parametrize(
    ("query", "accept", "location"),
    [
        ({"format": "raw"}, "", None),
        ({"format": "raw"}, RAW, None),
        ({"format": "raw"}, "text/html", None),
        ({}, RAW, {"format": "raw"}),
        ({"format": "raw"}, CAR, {"format": "raw"}),
        ({}, f"{CAR};version=1;dups=y", {"format": "car", "car-version": "1", "car-dups": "y"}),
        ({"format": "car"}, f"{CAR};order=dfs", {"format": "car", "car-order": "dfs"}),
        ({"format": "car", "car-order": "dfs"}, f"{CAR};order=unk", None),
    ],
)
def test_an_address_that_needs_no_accept_header(
    query: dict[str, str], accept: str, location: dict[str, str] | None
) -> None:
    wanted = negotiate(query, accept)
    assert (wanted.query if wanted.is_location_due else None) == location


def test_content_types() -> None:
    assert Wanted("raw", True, {}, False).content_type == RAW
    assert Wanted("car", True, {}, False).content_type == f"{CAR}; version=1; order=dfs; dups=y"
    assert Wanted("car", False, {}, False).content_type == f"{CAR}; version=1; order=dfs; dups=n"


@given(st.text(st.characters(codec="latin-1"), max_size=60) | st.from_regex(r"[a-z/;=,q.01 \"*]{0,60}"))
def test_any_accept_header_is_read(header: str) -> None:
    weights = [entry.weight for entry in accepted(header)]
    assert weights == sorted(weights, reverse=True)
    assert all(0 < weight <= 1 for weight in weights)


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("a b.bin", 'attachment; filename="a b.bin"'),
        ("тест.pdf", "attachment; filename=\"____.pdf\"; filename*=UTF-8''%D1%82%D0%B5%D1%81%D1%82.pdf"),
        ('a"b\\c/d\r\ne', "attachment; filename=\"a_b_c_d__e\"; filename*=UTF-8''a%22b%5Cc%2Fd%0D%0Ae"),
    ],
)  # fmt: skip
def test_file_names(name: str, header: str) -> None:
    assert attachment(name) == header

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from node.api.downloads import attachment
from node.api.negotiate import CAR, DAG_JSON, IPNS_RECORD, RAW, Wanted, accepted, negotiate, readable
from node.core.errors import BadInput
from tests.each import each
from tests.unit.pipeline.tables import cells, sections

ROWS = sections(__file__, "negotiate.txt")

TYPES = {"RAW": RAW, "CAR": CAR, "DAG_JSON": DAG_JSON, "RAW_UPPER": RAW.upper()}


def read(row: str) -> list[str]:
    """The cells of a row, with the types that it names; of a header that is not there nothing."""
    query, accept, *rest = cells(row)
    return [query, "" if accept == "none" else accept.format(**TYPES), *rest]


def query_of(text: str) -> dict[str, str]:
    return {} if text == "none" else dict(parse_qsl(text, keep_blank_values=True))


@each("row", ROWS["wanted"])
def test_what_is_wanted(row: str) -> None:
    query, accept, name, dups = read(row)
    wanted = negotiate(query_of(query), accept)
    assert (wanted.name, "dups" if wanted.dups and name == "car" else "-") == (name, dups)


@pytest.mark.parametrize("accept", ["", "*/*", "application/*", "*/*;q=0.1, application/*", f"{RAW};q=0"])
def test_naming_no_form_is_a_bad_request(accept: str) -> None:
    with pytest.raises(BadInput, match="format=raw"):
        negotiate({}, accept)


@pytest.mark.parametrize("row", ROWS["not acceptable"])
def test_what_is_not_served_is_not_acceptable(row: str) -> None:
    query, accept = read(row)
    with pytest.raises(web.HTTPNotAcceptable):
        negotiate(query_of(query), accept)


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


@each("row", ROWS["location"])
def test_an_address_that_needs_no_accept_header(row: str) -> None:
    query, accept, location = read(row)
    wanted = negotiate(query_of(query), accept)
    due = wanted.query if wanted.is_location_due else None
    assert due == (None if location == "-" else query_of(location))


@pytest.mark.parametrize(
    ("query", "accept", "name"),
    [
        ("none", "text/html, */*;q=0.8", "html"),
        ("none", f"text/html;q=0.8, {IPNS_RECORD}", None),
        ("none", f"{IPNS_RECORD};q=0.8, text/html", "html"),
        ("none", "application/json", "json"),
        ("none", f"{RAW}, text/html;q=0.9", None),
        ("none", "*/*", None),
        ("format=dag-json", IPNS_RECORD, "dag-json"),
        ("format=ipns-record", "text/html", None),
        ("format=raw", "text/html", None),
    ],
)
def test_who_asks_for_a_form_to_read(query: str, accept: str, name: str | None) -> None:
    wanted = readable(query_of(query), accept)
    assert (None if wanted is None else wanted.name) == name


def test_content_types() -> None:
    assert Wanted("raw", True, {}, False).content_type == RAW
    assert Wanted("car", True, {}, False).content_type == f"{CAR}; version=1; order=dfs; dups=y"
    assert Wanted("json", False, {}, False).content_type == "application/json"
    assert Wanted("dag-json", False, {}, False).content_type == DAG_JSON
    assert Wanted("html", False, {}, False).content_type == "text/html; charset=utf-8"
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
    assert attachment(name, "inline") == header.replace("attachment", "inline", 1)

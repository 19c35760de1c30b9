from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import Misconfigured
from node.knowledge import profiles, ranking


def test_reciprocal_rank_sums_over_the_lists() -> None:
    fused = ranking.reciprocal_rank([[1, 2, 3], [3, 1]], 60)
    assert fused == pytest.approx({1: 1 / 61 + 1 / 62, 3: 1 / 63 + 1 / 61, 2: 1 / 62})
    assert list(fused) == [1, 3, 2]


def test_the_fused_profile_takes_20_and_20_into_5() -> None:
    one = profiles.profile("fused")
    assert (one.keyword, one.dense, one.passages, one.k) == (20, 20, 5, 60)


def test_the_file_profile_weighs_vector_tags_and_keywords() -> None:
    weights = profiles.profile("file").weights
    assert weights == {"vector": 0.55, "tags": 0.25, "bm25": 0.20}
    assert ranking.weighed({"vector": 0.8, "tags": 0.5, "bm25": 1.0}, weights) == pytest.approx(0.765)
    assert ranking.weighed({"vector": 0.8}, weights) == pytest.approx(0.44)


def test_weights_that_do_not_sum_to_one_and_unknown_fields_are_refused() -> None:
    row = {"kind": "file", "weights": {"vector": 0.5, "tags": 0.25}, "floor": {"cosine": 0, "coverage": 0}}
    with pytest.raises(Misconfigured, match=r"sum to 0\.75"):
        profiles.made("mine", row)
    with pytest.raises(Misconfigured, match="kind is one of"):
        profiles.made("mine", {"kind": "best"})
    with pytest.raises(Misconfigured, match="there is no search profile 'best'"):
        profiles.profile("best")
    with pytest.raises(Misconfigured, match="passages"):
        profiles.made("mine", {**row, "weights": {}})


@pytest.mark.parametrize(("raw", "share"), [(25, 0.5), (15, 0.119), (35, 0.881)])
def test_maxsim_is_normalised_by_a_sigmoid(raw: float, share: float) -> None:
    assert ranking.normalised(raw) == pytest.approx(share, abs=5e-4)


@pytest.mark.parametrize(
    ("raw", "name"),
    [(14.9, "poor"), (15, "moderate"), (24.9, "moderate"), (25, "good"), (35, "good"), (35.1, "excellent")],
)
def test_bands(raw: float, name: str) -> None:
    assert ranking.band(raw) == name


def test_maxsim_takes_the_best_token_of_the_text_for_each_of_the_question() -> None:
    question = np.array([[1, 0], [0, 1]], np.float32)
    text = np.array([[1, 0], [0.6, 0.8]], np.float32)
    assert ranking.maxsim(question, text) == pytest.approx(1.8)
    assert ranking.full_maxsim(question, text) == pytest.approx(1.8 * 16)
    assert ranking.maxsim(question, text[:0]) == 0.0


def test_status_costs() -> None:
    penalties = profiles.profile().penalties
    aged = {status: ranking.aged(0.5, status, penalties) for status in ("current", "draft", "legacy")}
    assert aged == pytest.approx({"current": 0.5, "draft": 0.45, "legacy": 0.4})


def test_42_tags_and_none_beside_them() -> None:
    tags = profiles.packaged_tags()
    assert len(tags.names) == 42
    assert tags.kept(["github", "HR", "human-resources", "github"]) == ("github",)
    assert tags.of("When is the code freeze on GitHub?") == ("deploy-process", "github")
    assert tags.of("Is the freezer in the cellar?") == ()
    assert ranking.tag_share(tags.of("nothing of it"), ("github",)) == 0.0


@given(st.lists(st.lists(st.integers(0, 50), unique=True, max_size=20), max_size=3))
def test_what_stands_first_on_all_lists_is_first(lists: list[list[int]]) -> None:
    fused = ranking.reciprocal_rank([[99, *one] for one in lists], 60)
    assert not lists or next(iter(fused)) == 99
    assert set(fused) == {one for ids in lists for one in ids} | ({99} if lists else set())


@given(st.lists(st.integers(0, 40)))
def test_runs_hold_each_ordinal_once_and_do_not_touch(ordinals: list[int]) -> None:
    runs = ranking.runs(ordinals)
    assert [one for first, last in runs for one in range(first, last + 1)] == sorted(set(ordinals))
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(runs))

"""Texts that name nothing: noise from a keyboard is told from abbreviations and hard words."""

from __future__ import annotations

import pytest

from node.language.reading import read
from node.pipeline.understanding.rules import names_nothing

NOISE = """
asdfghjkl | sdkjfhskdjfh | qwrtz plkj | zxcvbnm zxcvbnm | xj7 kq2 zz | h4x 9kd 2pp | what is it | how
"""
WORDS = """
btc | btc xrp | mp3 vs flac | mp3 mp4 | ps5 | h2o co2 | rtx 4090 | html css | https | k8s tls | b12 d3 k2
nfl nhl mlb | rhythm | Angstschrei | catchphrase | knightsbridge | Borschtsch | 2+2 | 天気 | что такое азот
pfffft | asdfghjkl bitcoin
"""


@pytest.mark.parametrize(
    ("table", "nothing"), [(NOISE, True), (WORDS, False)], ids=["noise", "may mean something"]
)
def test_noise_names_nothing_and_words_that_may_mean_something_do(table: str, nothing: bool) -> None:
    texts = table.strip().replace("\n", " | ").split(" | ")
    assert [text for text in texts if names_nothing(read(text).words) is not nothing] == []

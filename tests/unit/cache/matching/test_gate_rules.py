"""The gate's general rules, one by one: who acts, small words that change a question, and what may differ."""

from __future__ import annotations

import pytest

from node.cache.keys import keyword_key
from node.cache.matching.compare import respelled
from node.cache.matching.features import Item
from node.cache.matching.gate import agree
from node.cache.matching.stem import canonical

ANOTHER = [
    # who acts
    ("How do burglars trick neighbours?", "How do I trick a burglar?"),
    ("How do lawyers cheat?", "how to cheat a lawyer"),
    ("How many judges does the senate appoint?", "How many judges appoint the senate?"),
    ("Which clubs does the league fine?", "Which clubs fine the league?"),
    # and, or
    ("Can guests swim and dive?", "Can guests swim or dive?"),
    ("Do I need a permit or a stamp?", "Do I need a permit and a stamp?"),
    # what it is, what it does, whether there is any
    ("What does insulin do?", "What is insulin?"),
    ("What can I do with a lathe?", "What is a lathe?"),
    ("Is there any dark energy?", "What is dark energy?"),
    ("What is it like to be a twin?", "What is it like to have a twin?"),
    ("What is farming?", "What is a farm?"),
    ("What color is the moon?", "What is the moon?"),
    # advice, possibility, looking back
    ("Which file should I open?", "Which file can I open?"),
    ("What should I do in a flood?", "What should I have done in a flood?"),
    # whom it is about
    ("What relaxes the mind?", "What relaxes your mind?"),
    ("How do I add a form to my page?", "How do I add a form to your page?"),
    ("How do I calm a dog?", "How do I get a dog to calm me?"),
    ("What is art?", "What is art for you?"),
    ("How do I thank someone I met?", "How do I thank someone she met?"),
    ("What pattern is this?", "What is a pattern?"),
    ("How do I learn cooking?", "How do I learn to like cooking?"),
    ("How do I sell my poems secretly?", "How do I sell my secret poems?"),
    # time
    ("Who is winning the race?", "Who won the race?"),
    ("Who is the director of the museum?", "Who was the director of the museum?"),
    ("Who is the founder of Rome?", "Who will be the founder of Rome?"),
    ("Find a one way ticket to Oslo", "Find a ticket to Oslo"),
    # near names and words
    ("What is infection control?", "What is inflection control?"),
    ("What is a stationary shop?", "What is a stationery shop?"),
    ("What does an employer do?", "What does an employee do?"),
    ("What are nitrates?", "What are nitrites?"),
    # symbols
    ("What does # mean?", "What does @ mean?"),
    ("What does ** do in Python?", "What does // do in Python?"),
    ("What does \u2764 mean?", "What does \U0001f494 mean?"),
    # what is denied
    ("Why isn't the pump running?", "Why is the pump running?"),
    ("Which is green and not ripe?", "Which is not green and ripe?"),
]
SAME = [
    ("Who founded Athens?", "Who is the founder of Athens?"),
    ("Who was the inventor of the zip?", "Who invented the zip?"),
    ("Who is the author of Ulysses?", "Who wrote Ulysses?"),
    ("Who is the composer of Aida?", "Who was the composer of Aida?"),
    ("How can one clean a flute?", "How do I clean a flute?"),
    ("How one can clean a flute?", "What is the best way to clean a flute?"),
    ("Which city is Norway's capital?", "What is the capital of Norway?"),
    ("What is the tallest tower in the world?", "What is the tallest tower?"),
    ("Why isn't my phone charging?", "Why is my phone not charging?"),
    ("cats vs dogs", "What is the difference between cats and dogs?"),
    ("How do cats and dogs differ?", "difference between dogs and cats"),
    ("How does a cat differ from a dog?", "What is the difference between a cat and a dog?"),
    ("Haydn was born where?", "Where was Haydn born?"),
    ("What is the role of the kidney?", "What does the kidney do?"),
    ("What is the treatment for gout?", "How do you treat gout?"),
    ("How can tea be brewed?", "How do I brew tea?"),
    ("Would you kindly list the moons of Mars", "list the moons of Mars"),
    ("What is the environmnet agency?", "What is the environment agency?"),
    ("What is the goverment of Chad?", "What is the government of Chad?"),
    ("Are there any museums in Graz?", "What museums are in Graz?"),
    ("In general, how do kites fly?", "How do kites fly?"),
    ("How much does a baker earn?", "What is the salary of a baker?"),
]


@pytest.mark.parametrize(("asked", "stored"), ANOTHER)
def test_a_small_word_makes_another_question(asked: str, stored: str) -> None:
    for one, other in ((asked, stored), (stored, asked)):
        verdict = agree(one, other)
        assert verdict.veto is not None
        assert not verdict.serve
    assert keyword_key(asked) != keyword_key(stored)


@pytest.mark.parametrize(("asked", "stored"), SAME)
def test_what_may_differ(asked: str, stored: str) -> None:
    for one, other in ((asked, stored), (stored, asked)):
        verdict = agree(one, other)
        assert verdict.veto is None, verdict.reason
        assert verdict.u <= 0.05


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("licence", "license"),
        ("defence", "defense"),
        ("anaemia", "anemia"),
        ("haemorrhage", "hemorrhage"),
        ("potatoes", "potato"),
        ("invaded", "invade"),
        ("encoding", "encode"),
        ("subscribed", "subscribe"),
        ("tyres", "tire"),
        ("recieve", "receive"),
        ("symptoms", "signs"),
    ],
)
def test_one_word_in_two_spellings_meets(one: str, other: str) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"), [("fence", "fense"), ("founded", "found"), ("engineer", "engineering")]
)
def test_alike_words_stay_apart(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


def word(text: str, kind: str = "word") -> Item:
    return Item(text, kind, text, "", 0, False, 0)


@pytest.mark.parametrize(
    ("one", "other", "slip"),
    [
        ("accomodate", "accommodate", True),
        ("photosyntesis", "photosynthesis", True),
        ("mortagge", "mortgage", True),
        ("environmnet", "environment", True),
        ("symptons", "symptoms", True),
        ("inflection", "infection", False),
        ("simulate", "stimulate", False),
        ("congenial", "congenital", False),
        ("interment", "internment", False),
        ("prescribe", "proscribe", False),
        ("complement", "compliment", False),
        ("hyperactive", "hypoactive", False),
        ("microeconomics", "macroeconomics", False),
        ("contract", "contact", False),
        ("word", "wrod", False),
    ],
)
def test_a_slip_of_the_pen_is_no_other_word(one: str, other: str, slip: bool) -> None:
    assert respelled(word(one), word(other)) is slip
    assert respelled(word(other), word(one)) is slip
    assert not respelled(word(one, "name"), word(other, "name"))

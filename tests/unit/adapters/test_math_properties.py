"""Generated inputs: the grammar against ``Fraction``, printing against parsing, and any text at all."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from adapters.math_calculator.evaluation import evaluate
from adapters.math_calculator.numbers import Budget, Refused, Undefined
from adapters.math_calculator.parser import parse
from adapters.math_calculator.solution import Solution
from adapters.math_calculator.tokens import tokenise
from adapters.math_calculator.tree import Bin, Call, Factorial, Neg, Node, Num, Percent, show
from adapters.math_calculator.understand import understand
from adapters.math_calculator.words import ENGLISH, LANGUAGES

TODAY = date(2026, 1, 1)

numerals = st.one_of(
    st.integers(0, 10**6).map(lambda n: Num(Fraction(n))),
    st.tuples(st.integers(0, 10**6), st.integers(1, 6)).map(lambda p: Num(Fraction(p[0], 10 ** p[1]))),
)


def _grow(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "mod"]), children, children).map(lambda t: Bin(*t)),
        children.map(Neg),
        st.tuples(children, st.integers(0, 5)).map(lambda t: Bin("^", t[0], Num(Fraction(t[1])))),
    )


trees = st.recursive(numerals, _grow, max_leaves=12)


def _expected(node: Node) -> Fraction:
    """Straight arithmetic, without estimates or grammar."""
    if isinstance(node, Num):
        assert node.value is not None
        return node.value
    if isinstance(node, Neg):
        return -_expected(node.arg)
    assert isinstance(node, Bin)
    left, right = _expected(node.left), _expected(node.right)
    if node.op == "+":
        return left + right
    if node.op == "-":
        return left - right
    if node.op == "*":
        return left * right
    if node.op == "/":
        return left / right
    if node.op == "mod":
        return left % right
    if left == right == 0:
        raise ZeroDivisionError
    return Fraction(left ** int(right))


@given(trees)
def test_agrees_with_fraction_arithmetic(node: Node) -> None:
    try:
        value = evaluate(parse(tokenise(show(node), ENGLISH)).node, Budget())
    except Undefined:
        try:
            _expected(node)
        except ZeroDivisionError:
            return
        raise
    except Refused:
        return
    assert value == _expected(node)


anything = st.recursive(
    numerals,
    lambda children: st.one_of(
        _grow(children),
        children.map(Percent),
        children.map(Factorial),
        st.tuples(children.map(Percent), children).map(lambda t: Bin("of", *t)),
        children.map(lambda arg: Call("sqrt", (arg,))),
        st.lists(children, min_size=2, max_size=4).map(lambda args: Call("average", tuple(args))),
    ),
    max_leaves=12,
)


@given(anything)
def test_printing_then_parsing_agrees(node: Node) -> None:
    text = show(node)
    assert parse(tokenise(text, ENGLISH)).node == node
    assert show(parse(tokenise(text, ENGLISH)).node) == text


@given(st.tuples(st.sampled_from("+-*/"), anything, anything).map(lambda t: Bin(*t)))
def test_spacing_and_wrappers_do_not_change_the_question(node: Node) -> None:
    plain = understand("=" + show(node), TODAY)
    wrapped = understand(f"Hello, please calculate {show(node)} ?", TODAY)
    assert plain == wrapped
    assert plain is not None


_WORDS = (
    "what is the of a one two hundred and half third percent plus minus times x e pi sqrt root average sum "
    "to in km m feet days until between from 2024-01-01 25 december % ! ^ ( ) , . 5 10 1/2 0 -1 1e9 how "
    "many convert round is mW C F ½ ² √ ° 5'10\" £3 log base 2 was ist mal und cuánto es más"
)
words = st.sampled_from(_WORDS.split())
texts = st.one_of(
    st.text(max_size=80),
    st.lists(words, max_size=14).map(" ".join),
    st.lists(words, max_size=14).map("".join),
    st.text(alphabet="0123456789+-*/^%!().,e ×√²x", max_size=40),
)


@given(texts)
def test_any_text_is_answered_or_left_alone(text: str) -> None:
    solution = understand(text, TODAY)
    assert solution is None or isinstance(solution, Solution)
    if solution is None or solution.refused is not None:
        return
    assert solution.sentence
    assert solution.sentence[-1] == "."
    if solution.answer is not None:
        again = understand("=" + solution.expr, TODAY)
        assert again is not None
        assert (again.expr, again.answer, again.unit) == (solution.expr, solution.answer, solution.unit)


@given(st.integers(0, 999_999_999))
def test_english_number_words_read_back(number: int) -> None:
    assert parse(tokenise(_in_words(number), ENGLISH)).node == Num(Fraction(number))


def _in_words(number: int) -> str:
    """British style, written independently of the tables' grammar: one hundred and twenty-one."""
    small = {value: key for key, value in ENGLISH.small.items() if key != "fourty"}
    if number < 100:
        return small[number].replace(" ", "-")
    for size, name in ((10**6, "million"), (10**3, "thousand"), (100, "hundred")):
        if number >= size:
            head = f"{_in_words(number // size)} {name}"
            rest = number % size
            if not rest:
                return head
            return f"{head} {'and ' if rest < 100 else ''}{_in_words(rest)}"
    raise AssertionError


def test_the_small_numbers_of_every_language_are_complete() -> None:
    for language in LANGUAGES:
        assert set(language.small.values()) >= set(range(100)), language.code
        for phrase, value in language.small.items():
            if language.code == "en" or value > 1:
                assert parse(tokenise(f"{phrase} + 1", language)).node == Bin(
                    "+", Num(Fraction(value)), Num(Fraction(1))
                )


@given(st.dates(), st.integers(-4_000, 4_000))
def test_moving_and_counting_days_agree(start: date, days: int) -> None:
    try:
        end = start + timedelta(days=days)
    except OverflowError:
        return
    moved = understand(f"what date is {abs(days)} days {'before' if days < 0 else 'after'} {start}", TODAY)
    assert moved is not None
    assert moved.answer == end.isoformat()
    counted = understand(f"how many days between {start} and {end}", TODAY)
    assert counted is not None
    assert counted.answer == str(abs(days))

"""The grammar: tokens to a tree, a tree to canonical text and to a value.

    sum      = product (("+" | "-") product)*
    product  = unary (("*" | "/" | "mod" | "of" after a fraction | nothing) unary)*
    unary    = ("-" | "+") unary | power
    power    = postfix ["^" unary] | percentage ("of" | "off") unary
    postfix  = primary ("!" | "%" | "squared" | "cubed" | superscript | "degrees")*
    primary  = number | constant | "(" sum ")" | function ["of"] (arguments | power)

Rules: "200 + 10%" adds ten percent of 200; "%" before an operand is the remainder; "A into B" is B / A.
Canonical text (``show``) reads back to the same tree. ``evaluate`` never recurses deeper than parsing
allowed.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adapters.math_calculator.numbers import Refused
from adapters.math_calculator.tokens import NotMath, Token
from adapters.math_calculator.tree import (
    TOP_ARITY,
    Bin,
    Call,
    Const,
    Factorial,
    Neg,
    Node,
    Num,
    Percent,
    call,
    number,
    ratio,
)

DEPTH_MAX = 40

_UNMISTAKABLE = frozenset({"√", "∛", "sqrt", "cbrt", "cos", "ln", "factorial", "twice", "thrice"})
"""Function names that are no ordinary words, so that "sqrt 16" alone is a calculation."""


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.bare_calls = False

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def op(self, *texts: str) -> str:
        """Take the next token if it is one of these operators, and return it, else nothing."""
        token = self.peek()
        if token is not None and token.kind == "op" and token.text in texts:
            self.at += 1
            return token.text
        return ""

    def starts_operand(self) -> bool:
        token = self.peek()
        return token is not None and (token.kind in ("num", "frac", "func", "const") or token.text == "(")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise Refused(
                f"the expression is nested deeper than {DEPTH_MAX} levels, which is this calculator's limit"
            )

    def sum(self) -> Node:
        left = self.product()
        while op := self.op("+", "-"):
            left = Bin(op, left, self.product())
        return left

    def product(self) -> Node:
        left = self.unary()
        while True:
            if op := self.op("*", "/", "mod"):
                left = Bin(op, left, self.unary())
            elif self.op("into"):
                left = Bin("/", self.unary(), left)
            elif (isinstance(left, Bin) and left.op == "/" and self.op("of")) or self.implied():
                left = Bin("*", left, self.unary())
            else:
                return left

    def implied(self) -> bool:
        """A product without a sign: 2(3+4), (1+2)(3), 2 pi, 2 sqrt(9); never two numbers in a row."""
        token = self.peek()
        if token is None:
            return False
        return token.kind in ("func", "const") or (token.kind == "op" and token.text == "(")

    def unary(self) -> Node:
        op = self.op("-", "+", "neg")
        if not op:
            return self.power()
        self.deeper()
        arg = self.unary()
        self.depth -= 1
        return arg if op == "+" else Neg(arg)

    def power(self) -> Node:
        base = self.postfix()
        if isinstance(base, Percent):
            if self.op("of"):
                return self.nested(lambda: Bin("of", base, self.unary()))
            if self.op("off"):
                return self.nested(lambda: Bin("-", self.unary(), base))
        if self.op("^"):
            return self.nested(lambda: Bin("^", base, self.unary()))
        return base

    def nested(self, make: Callable[[], Node]) -> Node:
        self.deeper()
        node = make()
        self.depth -= 1
        return node

    def postfix(self) -> Node:
        node = self.primary()
        count = 0
        while True:
            token = self.peek()
            if token is None:
                return node
            if token.kind == "sup":
                self.at += 1
                node = Bin("^", node, number(token.index))
            elif self.op("!"):
                node = Factorial(node)
            elif self.op("squared"):
                node = Bin("^", node, number(2))
            elif self.op("cubed"):
                node = Bin("^", node, number(3))
            elif self.op("deg"):
                node = Call("deg", (node,))
            elif token.kind == "op" and token.text == "%":
                self.at += 1
                if self.starts_operand():
                    self.at -= 1
                    self.tokens[self.at] = Token("op", "mod")
                    return node
                node = Percent(node)
            else:
                return node
            count += 1
            if count > DEPTH_MAX:
                raise Refused(
                    f"more than {DEPTH_MAX} signs after one number are beyond this calculator's limit"
                )

    def primary(self) -> Node:
        token = self.peek()
        if token is None:
            raise NotMath("an operand is missing")
        self.at += 1
        if token.kind == "num":
            return Num(token.value, token.text)
        if token.kind == "frac" and token.value is not None:
            node = ratio(token.value)
            if self.op("of"):
                return self.nested(lambda: Bin("*", node, self.unary()))
            return node
        if token.kind == "const":
            return Const(token.text)
        if token.kind == "func":
            return self.function(token)
        if token.kind == "op" and token.text == "(":
            self.deeper()
            node = self.sum()
            if not self.op(")"):
                raise NotMath("a parenthesis is not closed")
            self.depth -= 1
            return node
        raise NotMath(f"unexpected {token.text!r}")

    def function(self, token: Token) -> Node:
        top = self.at == 1
        if token.text in TOP_ARITY and not top:
            raise NotMath(f"{token.text} is a whole question")
        self.deeper()
        args: list[Node] = []
        introduced = self.op("of")
        if self.op("("):
            args.append(self.sum())
            while self.op(","):
                args.append(self.sum())
            if not self.op(")"):
                raise NotMath("a parenthesis is not closed")
            if token.text in TOP_ARITY and self.peek() is not None:
                raise NotMath(f"{token.text} is a whole question")
        else:
            if not introduced:
                self.bare_calls = token.text not in _UNMISTAKABLE or self.bare_calls
            args.append(self.unary())
            if not introduced and isinstance(args[0], Call) and args[0].name == "deg":
                self.bare_calls = False
        self.depth -= 1
        if token.index:
            args.append(number(token.index))
        return call({"√": "sqrt", "∛": "cbrt"}.get(token.text, token.text), *args)


@dataclass(frozen=True, slots=True)
class Parsed:
    """``is_bare_call`` marks a function applied without parentheses or "of": log 4."""

    node: Node
    is_bare_call: bool


def parse(tokens: list[Token]) -> Parsed:
    """The tree of all ``tokens``. Raises ``NotMath`` when they are not one expression, ``Refused`` when they
    nest too deep."""
    parser = _Parser(list(tokens))
    node = parser.sum()
    if parser.peek() is not None:
        raise NotMath("something is left over")
    return Parsed(node, parser.bare_calls)

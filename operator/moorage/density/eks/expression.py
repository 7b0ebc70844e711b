"""nodeadm's `maxPodsExpression`: whole numbers of CEL over `default_enis`, `ips_per_eni` and `max_pods`.

What nodeadm does with it is `CalcMaxPods` of awslabs/amazon-eks-ami: a result from 1 to 2^31-1 counts, anything else, a
name that is not there included, is logged and the image's own number is used. Of CEL this reads what makes numbers out
of numbers: + - * / %, comparisons, && || !, and `condition ? a : b`, which is how a cap is written.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from moorage.quoting import quoted

MOST = 2**31 - 1
_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_]\w*|&&|\|\||[<>=!]=|[-+*/%()<>!?:])")
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("<", "<=", ">", ">=", "==", "!="),
    ("+", "-"),
    ("*", "/", "%"),
)
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class ExpressionError(ValueError):
    """An expression without a usable result; the message says why."""


def evaluate(expression: str, *, default_enis: int, ips_per_eni: int, max_pods: int) -> int:
    """Return the max pods that an expression makes.

    Raises ExpressionError where nodeadm would fall back to `max_pods`.
    """
    names = {"default_enis": default_enis, "ips_per_eni": ips_per_eni, "max_pods": max_pods}
    parser = _Parser(_tokens(expression), names)
    value = parser.ternary()
    if parser.at < len(parser.tokens):
        raise ExpressionError(f"{quoted(parser.tokens[parser.at])} is not expected there")
    if isinstance(value, bool):
        raise ExpressionError("the result is true or false, and must be a number")
    if not 1 <= value <= MOST:
        raise ExpressionError(f"the result {value} is not from 1 to {MOST}")
    return value


def _tokens(expression: str) -> list[str]:
    found, at = [], 0
    text = expression.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(f"{quoted(text[at:].strip()[:10])} cannot be read")
        found.append(match[1])
        at = match.end()
    return found


@dataclass(slots=True)
class _Parser:
    """Reads and computes at once; both branches of a condition are computed, as both are checked by CEL."""

    tokens: list[str]
    names: Mapping[str, int]
    at: int = 0

    def ternary(self) -> int:
        value = self.binary(0)
        if not self.take("?"):
            return value
        yes = self.ternary()
        if not self.take(":"):
            raise ExpressionError("':' is missing after '?'")
        no = self.ternary()
        if not isinstance(value, bool):
            raise ExpressionError("what is before '?' must be true or false")
        return yes if value else no

    def binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self.unary()
        value = self.binary(level + 1)
        while self.at < len(self.tokens) and self.tokens[self.at] in _LEVELS[level]:
            sign = self.tokens[self.at]
            self.at += 1
            value = _apply(sign, value, self.binary(level + 1))
        return value

    def unary(self) -> int:
        if self.take("-"):
            return -_number(self.unary())
        if self.take("!"):
            value = self.unary()
            if not isinstance(value, bool):
                raise ExpressionError("'!' needs true or false")
            return not value
        if self.take("("):
            value = self.ternary()
            if not self.take(")"):
                raise ExpressionError("')' is missing")
            return value
        return self.atom()

    def atom(self) -> int:
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        self.at += 1
        if token.isdigit():
            return int(token)
        if token in self.names:
            return self.names[token]
        known = ", ".join(self.names)
        raise ExpressionError(f"{quoted(token)} is no number and none of {known}" if token else "it ends too early")

    def take(self, token: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at] == token:
            self.at += 1
            return True
        return False


def _number(value: int) -> int:
    if isinstance(value, bool):
        raise ExpressionError("true and false are no numbers to compute with")
    return value


def _apply(sign: str, left: int, right: int) -> int:
    if sign in ("&&", "||"):
        if not (isinstance(left, bool) and isinstance(right, bool)):
            raise ExpressionError(f"{quoted(sign)} needs true or false on both sides")
        return (left and right) if sign == "&&" else (left or right)
    left, right = _number(left), _number(right)
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" | "%":
            if right == 0:
                raise ExpressionError("it divides by zero")
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # CEL rounds towards zero
            return quotient if sign == "/" else left - quotient * right
        case _:
            return _COMPARE[sign](left, right)

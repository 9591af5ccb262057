"""The query language of the table of runs: texts become trees of store/run_table/query.py (decision 36)."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args

from store.run_table import query
from store.run_table.query import Comparison, HasText, IsIn, Name, Not, Order, Place, QueryError, Value

MAX_DEPTH = 50  # of parentheses and `not`
GRAMMAR = r"""
    ?query: conjunction ("or"i conjunction)* -> any
    ?conjunction: negation ("and"i negation)* -> all
    ?negation: "not"i negation -> opposite
        | "(" query ")"
        | comparison
    ?comparison: name OPERATOR value -> comparison
        | name "in"i "(" value ("," value)* ")" -> is_in
        | name "not"i "in"i "(" value ("," value)* ")" -> is_not_in
        | STRING -> has_text
    name: NAME -> name
        | QUOTED -> name
        | NAME "(" (NAME | QUOTED) ")" -> figure
    value: WORD -> word
        | STRING -> string
    orders: order ("," order)*
    order: [DESCENDING] name
    OPERATOR: "!=" | "<=" | ">=" | "!~" | "=" | "<" | ">" | "~"
    DESCENDING: "-"
    NAME: /[^\W\d][\w.:\/@-]*/i
    QUOTED: /`(?:[^`]|``)+`/
    STRING: /"(?:[^"]|"")*"|'(?:[^']|'')*'/
    WORD: /[^\s()",'`=!<>~]+/
    %ignore /\s+/
"""
EXPECTED = {
    "NAME": "a field",
    "QUOTED": "",
    "STRING": "",
    "WORD": "a value",
    "OPERATOR": "an operator (= != < <= > >= ~ !~)",
    "IN": "in",
    "NOT": "not",
    "AND": "and",
    "OR": "or",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "DESCENDING": "-",
    "$END": "the end",
}


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, start=["query", "orders", "name"], parser="lalr", lexer="contextual")


def parse_query(text: str) -> query.Query:
    """Return the tree of a query; raise QueryError with the place and what was expected there."""
    if _depth(text) > MAX_DEPTH:
        raise QueryError(f"at most {MAX_DEPTH} parentheses and `not` in a query", Place(0, len(text)))
    found: query.Query = _parse(text, "query")
    return found


def parse_orders(text: str) -> list[Order]:
    """Return the fields of an order: `-best(accuracy), batch`."""
    found: list[Order] = _parse(text, "orders")
    return found


def parse_name(text: str) -> Name:
    """Return the field of a column: `batch`, `last(loss)`."""
    found: Name = _parse(text, "name")
    return found


def _depth(text: str) -> int:
    return text.count("(") + len(re.findall(r"\bnot\b", text, re.IGNORECASE))


def _parse(text: str, start: str) -> Any:
    try:
        return _Trees().transform(_parser().parse(text, start=start))
    except UnexpectedInput as error:
        raise _query_error(error, text) from None


def _query_error(error: UnexpectedInput, text: str) -> QueryError:
    expected = _words(error)
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        token, start = str(error.token), error.token.start_pos or 0
        return QueryError(f"expected {expected}, not {token!r}", Place(start, start + len(token)))
    if isinstance(error, UnexpectedCharacters):
        at = int(error.pos_in_stream or 0)
        if text[at] in "\"'`":
            return QueryError(f"the quote {text[at]} is not closed", Place(at, len(text)))
        return QueryError(f"expected {expected}, not {text[at]!r}", Place(at, at + 1))
    return QueryError(f"expected {expected} at the end of the query", Place(len(text), len(text)))


def _words(error: UnexpectedInput) -> str:
    if isinstance(error, UnexpectedToken):
        names: Iterable[str] = error.accepts or error.expected
    else:
        names = getattr(error, "allowed", ()) or ()
    words = [EXPECTED[name] for name in EXPECTED if name in set(names) and EXPECTED[name]]
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]])) or "nothing more"


@v_args(inline=True)
class _Trees(Transformer[Token, object]):
    """Makes the tree of a query from the parser's tree."""

    def any(self, *parts: query.Query) -> query.Query:
        return parts[0] if len(parts) == 1 else query.Any(parts)

    def all(self, *parts: query.Query) -> query.Query:
        return parts[0] if len(parts) == 1 else query.All(parts)

    def opposite(self, of: query.Query) -> Not:
        return Not(of)

    def comparison(self, name: Name, sign: Token, value: Value) -> Comparison:
        return Comparison(name, str(sign), value)

    def is_in(self, name: Name, *values: Value) -> IsIn:
        return IsIn(name, values)

    def is_not_in(self, name: Name, *values: Value) -> Not:
        return Not(IsIn(name, values))

    def has_text(self, text: Token) -> HasText:
        return HasText(_inside(text))

    def name(self, name: Token) -> Name:
        return Name(_name(name), _place(name))

    def figure(self, figure: Token, metric: Token) -> Name:
        start, end = _place(figure).start, _place(metric).end + 1
        return Name(_name(metric), Place(start, end), str(figure).lower())

    def word(self, value: Token) -> Value:
        return Value(str(value), _place(value))

    def string(self, value: Token) -> Value:
        return Value(_inside(value), _place(value), is_quoted=True)

    def order(self, sign: Token | None, name: Name) -> Order:
        return Order(name, sign is not None)

    def orders(self, *orders: Order) -> list[Order]:
        return list(orders)


def _name(token: Token) -> str:
    return _inside(token) if token.startswith("`") else str(token)


def _inside(token: Token) -> str:
    """Return what is between quotes, of which a doubled one stands for one."""
    quote = token[0]
    return str(token)[1:-1].replace(2 * quote, quote)


def _place(token: Token) -> Place:
    start = token.start_pos or 0
    return Place(start, start + len(token))

"""Parser of YAML and JSON documents; its errors name the line."""

import json
from collections.abc import Hashable, Sequence
from math import isfinite
from typing import Any

import yaml

from contract.yaml_scalars import PLAIN_SCALARS

MAX_DEPTH = 50
MAX_PLACE = 200  # characters of a field's name in a message
MAX_NODES = 100_000  # with aliases expanded: a few lines of YAML aliases can expand to billions of values
TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map"))
BASES = {"0x": 16, "0o": 8}


class DocumentError(ValueError):
    """The text is not a valid document; the message names the line if possible."""


class _Loader(yaml.SafeLoader):
    """A YAML loader with the scalars of YAML 1.2: 1e-3 and 0x1F are numbers, `on` and 2026-01-01 are strings."""

    yaml_implicit_resolvers: dict[str, Any] = {}
    _nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Raise DocumentError at the first value beyond the limit, before the rest of the text is parsed."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise DocumentError(f"the document has more than {MAX_NODES:,} values")
        return super().compose_node(parent, index)

    def fetch_flow_collection_start(self, token_class: type[yaml.Token]) -> None:
        """Raise DocumentError at the first bracket beyond the limit: the scanner's work grows with levels x tokens."""
        super().fetch_flow_collection_start(token_class)
        self._refuse_depth()

    def add_indent(self, column: int) -> bool:
        """Raise DocumentError at the first indentation beyond the limit, as for brackets."""
        is_deeper: bool = super().add_indent(column)
        self._refuse_depth()
        return is_deeper

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return an object whose field names are the texts as they are written, as in JSON: 08 is "08"."""
        for key, _ in node.value:
            key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)

    def _refuse_depth(self) -> None:
        if self.flow_level + len(self.indents) > MAX_DEPTH:
            raise DocumentError(f"line {self.line + 1}: the document has more than {MAX_DEPTH} nested levels")


for scalars in PLAIN_SCALARS:
    _Loader.add_implicit_resolver(scalars.tag, scalars.pattern, scalars.first_characters)


def _number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node)
    return int(text, BASES.get(text[:2], 10))


# PyYAML follows YAML 1.1, in which 010 is eight and 0o10 a text.
_Loader.add_constructor("tag:yaml.org,2002:int", _number)


def read_document(text: str | bytes) -> dict[str, Any]:
    """Parse a YAML or JSON document that is an object; raise DocumentError for any other text."""
    try:
        loaded = json.loads(text, object_pairs_hook=_unique_fields)
    except RecursionError as error:
        raise DocumentError("the document has too many nested levels") from error
    except DocumentError:
        raise
    except ValueError:  # the text is not JSON, so it may be YAML
        loaded = _read_yaml(text)
    if not isinstance(loaded, dict):
        raise DocumentError(f"the document is a {type(loaded).__name__}, not an object of fields and values")
    _refuse_unstorable(loaded, [])
    return loaded


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raise DocumentError for a repeated field."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise DocumentError(f"the field '{name}' is given twice")
        found[name] = value
    return found


def _refuse_unstorable(value: Any, path: list[str]) -> None:
    """Raise DocumentError for values that no database stores: surrogates, NUL, infinity, deep nesting."""
    if len(path) > MAX_DEPTH:
        raise DocumentError(f"the document has more than {MAX_DEPTH} nested levels")
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            problem = f"{ascii(value)[:80]} contains a NUL or surrogate character; remove the character"
            raise DocumentError(f"{_place(path)}{problem}")
    elif isinstance(value, float):
        if not isfinite(value):
            problem = f"{value} is not a finite number; write a number that a float64 can hold, or a text in quotes"
            raise DocumentError(f"{_place(path)}{problem}")
    elif isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _refuse_unstorable(name, path)
            path.append(str(name))
            _refuse_unstorable(inner, path)
            path.pop()


def _place(path: Sequence[str]) -> str:
    """Return the field of a value, as the beginning of a message."""
    return f"{'.'.join(path)[:MAX_PLACE]}: " if path else ""


def _read_yaml(text: str | bytes) -> Any:
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise DocumentError("the document is empty")
        _refuse_excess(node)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise DocumentError(f"{where}{error.problem or error.context}") from error
    except DocumentError:
        raise
    except (yaml.YAMLError, ValueError, KeyError) as error:  # KeyError: `!!bool maybe`
        raise DocumentError(str(error).splitlines()[0]) from error
    except RecursionError as error:
        raise DocumentError("the document has too many nested levels") from error


def _refuse_excess(root: yaml.Node) -> None:
    """Raise DocumentError for repeated fields, values that contain themselves, and aliases that expand too far."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(node: yaml.Node) -> int:
        if node.tag not in TAGS:
            raise DocumentError(f"line {node.start_mark.line + 1}: values of type {node.tag} are not supported")
        if id(node) in open_nodes:
            raise DocumentError(f"line {node.start_mark.line + 1}: a value contains itself")
        if id(node) not in sizes:
            open_nodes.add(id(node))
            sizes[id(node)] = 1 + sum(size(child) for child in _children(node))
            open_nodes.discard(id(node))
        if sizes[id(node)] > MAX_NODES:
            raise DocumentError(f"the document expands to more than {MAX_NODES:,} values")
        return sizes[id(node)]

    size(root)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if not isinstance(node, yaml.MappingNode):
        return []
    seen: set[Hashable] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise DocumentError(f"line {key.start_mark.line + 1}: a field name must be a plain string")
        if key.value == "<<" and key.style is None:
            merge = "merge keys (<<) are not supported: write their fields here"
            raise DocumentError(f"line {key.start_mark.line + 1}: {merge}")
        if key.value in seen:
            raise DocumentError(f"line {key.start_mark.line + 1}: the field '{key.value}' is given twice")
        seen.add(key.value)
    return [value for _, value in node.value]

"""The texts of one field of a spec: its type with its bounds, its default and its unit."""

import json
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from contract.reference.parts import models_in

NAMES = {"integer": "integer", "number": "number", "string": "text", "boolean": "true or false"}
UNITS = {  # of the fields whose names end in these words
    "_s": "seconds",
    "minutes": "minutes",
    "_gb": "GiB",
    "_gib": "GiB",
    "epochs": "epochs",
    "epoch": "epochs",
    "milestones": "epochs",
    "steps": "steps",
    "batch": "samples",
    "samples": "samples",
    "height": "pixels",
    "width": "pixels",
    "size": "pixels",
    "max_length": "words",
}
NO_UNITS = {("convnet", "width"): "channels"}


def unit_of(kinds: list[str], name: str) -> str:
    """Return the unit of a field; empty if it has none."""
    for kind in kinds:
        if (kind, name) in NO_UNITS:
            return NO_UNITS[kind, name]
    return next((unit for end, unit in UNITS.items() if name == end.removeprefix("_") or name.endswith(end)), "")


def default_of(field: FieldInfo) -> str:
    """Return the default as in YAML; `required` if there is none."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        kind = getattr(value, "kind", None)
        return f"`{{kind: {kind}}}`" if kind else "all defaults"
    return f"`{json.dumps(value)}`" if not isinstance(value, str) else f"`{value}`" if value else "empty"


def type_of(field: FieldInfo, schema: dict[str, Any]) -> str:
    """Return the type of a field from its JSON schema, in words."""
    if models_in(field.annotation):
        many = {"array": "list of ", "object": "names, each with "}.get(_inner(schema).get("type", ""), "")
        return f"{many}part" + (" or null" if _allows_null(schema) else "")
    return _type(schema)


def _type(schema: dict[str, Any]) -> str:
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(one) for one in choices))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    match schema.get("type"):
        case "null":
            return "null"
        case "array":
            return f"list of {_plural(_type(schema.get('items', {})))}"
        case "object":
            return "object"
        case str(kind):
            return NAMES[kind] + _bounds(schema)
        case _:
            return "any value"


def _plural(name: str) -> str:
    word, _, bounds = name.partition(" ")
    many = {"integer": "integers", "number": "numbers", "text": "texts", "any": "any", "object": "objects"}.get(
        word, word
    )
    return f"{many} {bounds}".strip()


def _bounds(schema: dict[str, Any]) -> str:
    """Return the bounds of a number as `0 <= x < 1`; bounds that only a float's range needs are left out."""
    low = [f"{schema[key]:g} {sign} x" for key, sign in (("exclusiveMinimum", "<"), ("minimum", "<=")) if key in schema]
    highs = [(schema[key], sign) for key, sign in (("exclusiveMaximum", "<"), ("maximum", "<=")) if key in schema]
    high = [f"{sign} {limit:,}" for limit, sign in highs if limit < 1e9]
    if not low:
        return f" x {high[0]}" if high else ""
    return f" {low[0]}{' ' + high[0] if high else ''}"


def _inner(schema: dict[str, Any]) -> dict[str, Any]:
    choices: list[dict[str, Any]] = schema.get("anyOf", [])
    return next((one for one in choices if one.get("type") != "null"), schema)


def _allows_null(schema: dict[str, Any]) -> bool:
    return any(one.get("type") == "null" for one in schema.get("anyOf", []))

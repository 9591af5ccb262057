"""The pages docs/reference*.md: one table for each part of a spec."""

from functools import cache
from typing import Any

from contract.reference.field_text import default_of, type_of, unit_of
from contract.reference.parts import Part, find_parts, models_in
from contract.spec.base import Spec

RUNS, NETS, PARTS = "reference.md", "reference-nets.md", "reference-parts.md"
SEARCH, VOLUMES = "reference-search.md", "reference-volumes.md"
ON_RUNS_PAGE = {"rule", "collective", "tensor"}  # parts of an engine run that say how its ranks share the work
MADE = """`make reference` makes this page from the models in `contract/spec`; a test fails if the page is older.
The [guide](guide.md) explains how the parts work together. A part with kinds is an object with a field `kind`; `x`
in a type stands for the value. A field that is not listed is an error.
"""
HEADS = {
    RUNS: f"# Reference: experiments and runs\n\n{MADE}\nOther pages have the engine's: ",
    NETS: f"# Reference: nets and data of an engine run\n\n{MADE}\n[Another page](reference.md) has ",
    PARTS: f"# Reference: parts of an engine run\n\n{MADE}\n[Another page](reference.md) has ",
    SEARCH: f"# Reference: searches\n\n{MADE}\n[Another page](reference.md) has ",
    VOLUMES: f"# Reference: inference over volumes\n\n{MADE}\n[Another page](reference.md) has ",
}


def render_pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    parts = find_parts()
    of_page = {page: [part for part in parts if _page_of(part) == page] for page in HEADS}
    other = dict.fromkeys(HEADS, of_page[RUNS]) | {RUNS: [*of_page[NETS], *of_page[PARTS]]}
    links = {part.models: f"[{part.title}]({_address(part)})" for part in parts}
    return {
        page: HEADS[page]
        + ", ".join(links[part.models] for part in other[page])
        + ". This page: "
        + ", ".join(f"[{part.title}](#{_anchor(part.title)})" for part in found)
        + ".\n"
        + "".join(_section(part, links) for part in found)
        for page, found in of_page.items()
    }


def _page_of(part: Part) -> str:
    if part.is_of_search:
        return SEARCH
    if part.title.startswith("program.volume"):
        return VOLUMES
    if part.title.split(".")[0] in ("model", "data"):
        return NETS
    return PARTS if part.is_of_engine and part.title not in ON_RUNS_PAGE else RUNS


def _address(part: Part) -> str:
    return f"{_page_of(part)}#{_anchor(part.title)}"


def _section(part: Part, links: dict[tuple[type[Spec], ...], str]) -> str:
    lines = [f"\n## {part.title}\n"]
    if len(part.models) == 1:
        lines.append(_sentence(part.models[0]) + "\n")
    else:
        lines += [f"- {_kinds_text(model)}: {_sentence(model)}" for model in part.models] + [""]
    if rows := _rows(part, links):
        lines += [*_head(len(part.models) > 1), *rows]
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(has_kinds: bool) -> list[str]:
    columns = ["field", *(["kinds"] if has_kinds else []), "type", "default", "unit", "meaning"]
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def _rows(part: Part, links: dict[tuple[type[Spec], ...], str]) -> list[str]:
    """Return a row for each field; kinds with the same field share a row."""
    of_row: dict[tuple[str, ...], list[str]] = {}
    for model in part.models:
        properties = _properties(model)
        for name, field in model.model_fields.items():
            if name == "kind" and len(part.models) > 1:
                continue
            kind = type_of(field, properties[name])
            if inner := models_in(field.annotation):
                linked = [links[inner]] if inner in links else [links[(one,)] for one in inner]
                kind = kind.replace("part", " or ".join(linked))
            row = f"`{name}`", kind, default_of(field), unit_of(_kinds(model), name), _one_line(field.description or "")
            of_row.setdefault(row, []).extend(_kinds(model))
    every = [kind for model in part.models for kind in _kinds(model)]
    rows = []
    for (name, *texts), kinds in of_row.items():
        which = "all" if kinds == every else ", ".join(f"`{kind}`" for kind in kinds)
        cells = [name, *([which] if len(part.models) > 1 else []), *texts]
        rows.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return rows


def _kinds(model: type[Spec]) -> list[str]:
    if "kind" not in model.model_fields:
        return [model.__name__]
    schema = _properties(model)["kind"]
    return list(schema.get("enum") or [schema["const"]])


@cache
def _properties(model: type[Spec]) -> dict[str, Any]:
    properties: dict[str, Any] = model.model_json_schema()["properties"]
    return properties


def _kinds_text(model: type[Spec]) -> str:
    return ", ".join(f"`{kind}`" for kind in _kinds(model))


def _sentence(model: type[Spec]) -> str:
    return _one_line(model.__doc__ or "")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _anchor(title: str) -> str:
    return title.replace(" ", "-").replace(".", "")

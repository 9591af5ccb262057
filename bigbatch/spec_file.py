"""Reader of experiment files. `base` may name another file in the same folder or below, shared by experiments."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bigbatch.errors import DocumentRefused
from bigbatch.sweeps.points_file import read_points
from contract.validation import ValidationIssue
from contract.yaml_reader import DocumentError, read_document


def read_spec(name: str) -> dict[str, Any]:
    """Return an experiment from a YAML or JSON file ("-": standard input), with the content of its base file."""
    if name != "-":
        return _with_base(Path(name), [])
    document = _parsed(sys.stdin.buffer.read(), "standard input", field="")
    if isinstance(document.get("base"), str):
        raise _refusal("standard input", "standard input has no folder, so `base` cannot name a file", field="base")
    return document


def _with_base(path: Path, above: Sequence[Path], *, field: str = "") -> dict[str, Any]:
    """Return the document at `path` with its base file's content; `above`: the files that name this file."""
    document = _parsed(_bytes(path, above, field=field), str(path), field=field)
    for part, place in [(document, ""), *_steps_of(document)]:
        if isinstance(part.get("base"), str):
            part["base"] = _base_of(path, part["base"], above, field=f"{place}base")
    return document if above else _with_points(document, path)


def _with_points(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the document with the points of the file that the sampler of its search names, if it names one."""
    search = document.get("search")
    sampler = search.get("sampler") if isinstance(search, dict) else None
    if not isinstance(sampler, dict) or not isinstance(sampler.get("file"), str):
        return document
    field = "search.sampler.file"
    named = _named_file(path, sampler["file"], field=field)
    try:
        points = read_points(named.name, _bytes(named, [path], field=field))
    except ValueError as error:
        raise _refusal(str(path), f"'{named}' is no list of points: {error}", field=field) from error
    others = {name: value for name, value in sampler.items() if name != "file"}
    return {**document, "search": {**document["search"], "sampler": {**others, "points": points}}}


def _steps_of(document: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the steps of a workflow, each with its place in the document."""
    steps = document.get("steps")
    listed = enumerate(steps) if isinstance(steps, list) else ()
    return [(step, f"steps.{number}.") for number, step in listed if isinstance(step, dict)]


def _base_of(path: Path, name: str, above: Sequence[Path], *, field: str) -> Any:
    """Return the base run of the file `name`, which the file at `path` names."""
    chain = [*above, path.resolve()]
    named = _named_file(path, name, field=field)
    if named.resolve() in chain:
        cycle = " -> ".join(file.name for file in [*chain, named.resolve()])
        raise _refusal(str(path), f"the base files form a cycle: {cycle}", field=field)
    base = _with_base(named, chain, field=field)
    return base.get("base", base)


def _named_file(path: Path, name: str, *, field: str) -> Path:
    """Return the file `name` in the folder of `path` or below; a foreign spec must not read other files."""
    folder = path.parent.resolve()
    if Path(name).is_absolute():
        message = f"'{name}' is absolute; name a file in the folder of {path.name} or below"
        raise _refusal(str(path), message, field=field)
    try:
        inside = (folder / name).resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError) as error:  # a cycle of links, or a NUL in the name
        raise _refusal(str(path), f"{name!r} cannot be found: {error}", field=field) from error
    if not inside:
        raise _refusal(str(path), f"'{name}' is outside the folder of {path.name}", field=field)
    return path.parent / name


def _bytes(path: Path, above: Sequence[Path], *, field: str) -> bytes:
    parent = str(above[-1]) if above else str(path)
    try:
        if above and not path.is_file():  # a pipe or device may never end
            raise FileNotFoundError(2, "not an existing regular file")
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _refusal(parent, f"'{path}' cannot be read: {reason}", field=field) from error


def _parsed(text: bytes, name: str, *, field: str) -> dict[str, Any]:
    try:
        return read_document(text)
    except DocumentError as error:
        raise _refusal(name, str(error), field=field) from error


def _refusal(name: str, message: str, *, field: str) -> DocumentRefused:
    """Return the error; `field` is empty for an error of the whole document."""
    return DocumentRefused(f"{name} is not a valid experiment", [ValidationIssue(path=field, message=message)])

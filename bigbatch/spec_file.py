"""Reader of experiment files. `base` may name another file in the same folder or below, shared by experiments."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bigbatch.errors import DocumentRefused
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
    if isinstance(document.get("base"), str):
        chain = [*above, path.resolve()]
        named = _base_file(path, document["base"])
        if named.resolve() in chain:
            cycle = " -> ".join(file.name for file in [*chain, named.resolve()])
            raise _refusal(str(path), f"the base files form a cycle: {cycle}", field="base")
        base = _with_base(named, chain, field="base")
        document["base"] = base.get("base", base)
    return document


def _base_file(path: Path, name: str) -> Path:
    """Return the file `name` in the folder of `path` or below; a foreign spec must not read other files."""
    folder = path.parent.resolve()
    if Path(name).is_absolute():
        raise _refusal(
            str(path), f"'{name}' is absolute; name a file in the folder of {path.name} or below", field="base"
        )
    try:
        inside = (folder / name).resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError) as error:  # a cycle of links, or a NUL in the name
        raise _refusal(str(path), f"{name!r} cannot be found: {error}", field="base") from error
    if not inside:
        raise _refusal(str(path), f"'{name}' is outside the folder of {path.name}", field="base")
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

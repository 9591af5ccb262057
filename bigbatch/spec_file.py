"""An experiment as a file, whose `base` may be another file beside or below it, so that sweeps share one."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bigbatch.errors import DocumentRefused
from contract.validation import Fault
from contract.yaml_reader import DocumentError, read


def read_spec(name: str) -> dict[str, Any]:
    """Read an experiment from a YAML or JSON file ("-": standard input), its base put in place."""
    if name != "-":
        return _with_base(Path(name), [])
    document = _parsed(sys.stdin.buffer.read(), "standard input", field="")
    if isinstance(document.get("base"), str):
        raise _refusal(
            "standard input", "what comes from standard input has no folder to look for a file in", field="base"
        )
    return document


def _with_base(path: Path, above: Sequence[Path], *, field: str = "") -> dict[str, Any]:
    """The document at `path`, its base read from the file it names; `above` are the files that led here."""
    document = _parsed(_bytes(path, above, field=field), str(path), field=field)
    if isinstance(document.get("base"), str):
        chain = [*above, path.resolve()]
        named = _beside(path, document["base"])
        if named.resolve() in chain:
            circle = " -> ".join(file.name for file in [*chain, named.resolve()])
            raise _refusal(str(path), f"the files name each other in a circle: {circle}", field="base")
        base = _with_base(named, chain, field="base")
        document["base"] = base.get("base", base)
    return document


def _beside(path: Path, name: str) -> Path:
    """The file `name` in the folder of `path` or below; a spec from elsewhere must not reach what it is not shown."""
    folder = path.parent.resolve()
    if Path(name).is_absolute():
        raise _refusal(
            str(path), f"'{name}' is absolute; name a file in the folder of {path.name} or below", field="base"
        )
    try:
        inside = (folder / name).resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a NUL
        raise _refusal(str(path), f"{name!r} cannot be found: {error}", field="base") from error
    if not inside:
        raise _refusal(str(path), f"'{name}' leads outside the folder of {path.name}", field="base")
    return path.parent / name


def _bytes(path: Path, above: Sequence[Path], *, field: str) -> bytes:
    teller = str(above[-1]) if above else str(path)
    try:
        if above and not path.is_file():  # no pipe or device: reading one may never end
            raise FileNotFoundError(2, "there is no such file")
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _refusal(teller, f"'{path}' cannot be read: {reason}", field=field) from error


def _parsed(text: bytes, name: str, *, field: str) -> dict[str, Any]:
    try:
        return read(text)
    except DocumentError as error:
        raise _refusal(name, str(error), field=field) from error


def _refusal(name: str, message: str, *, field: str) -> DocumentRefused:
    """The error; `field` is empty where the document as a whole is at fault."""
    return DocumentRefused(f"{name} is no experiment", [Fault(path=field, message=message)])

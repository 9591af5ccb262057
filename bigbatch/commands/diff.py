"""`bigbatch diff`: show how two runs differ in spec, code and environment."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.terminal.output import print_json, print_table, print_text
from contract.api.reproduction import RunDifferences, ValueDifference
from contract.api.snapshots import FileDifference


def diff(
    run: Annotated[int, typer.Argument(metavar="RUN", help="A run.")],
    other: Annotated[int, typer.Argument(metavar="OTHER", help="The run to compare with.")],
    *,
    as_json: Json = False,
) -> None:
    """Show how two runs differ: fields of their specs, files of their code, and their environments."""
    with Client() as client:
        found = client.differences(run, other)
    if as_json:
        print_json(found)
    else:
        _print(found)


def _print(found: RunDifferences) -> None:
    heads = ("", f"run {found.run}", f"run {found.other}")
    _print_values("spec", heads, found.spec)
    if found.code:
        print_text(f"\ncode: {len(found.code.files)} of {found.code.total} differing files")
        for file in found.code.files:
            print_text(_format_file(file))
    else:
        print_text(f"\ncode: {found.code_note}")
    if found.environment_note:
        print_text(f"\nenvironment: {found.environment_note}")
    else:
        print()
        _print_values("environment", heads, found.environment)


def _print_values(title: str, heads: Sequence[str], values: Sequence[ValueDifference]) -> None:
    if not values:
        print_text(f"{title}: no difference")
        return
    print_text(f"{title}:")
    print_table(heads, ((one.path, _format(one.first), _format(one.second)) for one in values))


def _format(value: object) -> str:
    return "-" if value is None else _format_text(value) if isinstance(value, str) else _in_one_word(value)


def _format_text(text: str) -> str:
    """Return a text, in quotes if it would look like another value: "1" beside 1."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _in_one_word(text)


def _in_one_word(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _format_file(file: FileDifference) -> str:
    if file.diff is None:
        return f"{file.change} {file.path}: {file.note}"
    return f"{file.change} {file.path}\n{file.diff.rstrip()}"

"""`bigbatch rename`, `note`, `tag` and `archive`: change labels of experiments and runs."""

import sys
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.lifecycle.repeat import IsRun, Number
from contract.api.labels import ExperimentChange, RunChange


def rename(
    number: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
) -> None:
    """Give an experiment another name; its spec stays as it was submitted."""
    with Client() as client:
        print(f"experiment {number}: {client.change_experiment(number, ExperimentChange(name=name)).name}")


def note(
    number: Number,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Markdown; - reads standard input.")] = "",
    run: IsRun = False,
    *,
    add: Annotated[bool, typer.Option("--add", help="Add TEXT below the present notes.")] = False,
) -> None:
    """Print the notes of an experiment or a run, or with TEXT replace them."""
    with Client() as client:
        present = client.run(number).notes if run else client.experiment(number).notes
        new = sys.stdin.read() if text == "-" else text
        if new:
            present = f"{present.rstrip()}\n\n{new}" if add and present.strip() else new
            _change(client, number, RunChange(notes=present), is_run=run)
    print(present)


def tag(
    number: Number,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TAG...", help="A tag to add; -TAG after -- removes it.")
    ] = None,
    run: IsRun = False,
    *,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="TAG", help="A tag to remove.")] = None,
) -> None:
    """Add and remove tags of an experiment or a run, and print its tags."""
    removed = [*(remove or []), *(word[1:] for word in words or [] if word.startswith("-"))]
    added = [word for word in words or [] if not word.startswith("-")]
    with Client() as client:
        found = _change(client, number, RunChange(add_tags=added, remove_tags=removed), is_run=run)
    print(" ".join(found))


def archive(
    numbers: Annotated[list[int], typer.Argument(metavar="ID...", help="Experiments, or runs with --run.")],
    run: IsRun = False,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Show them in lists again.")] = False,
) -> None:
    """Hide experiments or runs from lists; they stay as they are, and `list --archived` shows them."""
    with Client() as client:
        for number in numbers:
            _change(client, number, RunChange(archived=not undo), is_run=run)
    verb = "shown in lists again" if undo else "archived"
    print(f"{verb}: {'run' if run else 'experiment'} {', '.join(map(str, numbers))}")


def _change(client: Client, number: int, change: RunChange, *, is_run: bool) -> list[str]:
    """Carry out a change; return the tags."""
    if is_run:
        return client.change_run(number, change).tags
    wider = ExperimentChange.model_validate(change.model_dump(exclude_unset=True))
    return client.change_experiment(number, wider).tags

"""`bigbatch rename`, `assign`, `note`, `tag`, `archive` and `leave-out`: change labels of experiments and runs."""

import sys
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from bigbatch.client import Client
from bigbatch.commands.lifecycle.repeat import IsRun, Number
from bigbatch.commands.options import Ids, OfRuns
from bigbatch.errors import BigbatchError
from contract.api.labels import ExperimentChange, RunChange
from contract.validation import issues_of

Change = TypeVar("Change", RunChange, ExperimentChange)


def rename(
    number: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
) -> None:
    """Give an experiment another name; its spec stays as it was submitted."""
    change = _checked(ExperimentChange, name=name)
    with Client() as client:
        print(f"experiment {number}: {client.change_experiment(number, change).name}")


def assign(
    number: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")],
    *,
    owner: Annotated[str | None, typer.Option(metavar="NAME", help="Its new owner.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help='Its new project; "": no project.')] = None,
) -> None:
    """Give an experiment another owner or project, and print both."""
    change = _checked(ExperimentChange, owner=owner, project=project)
    with Client() as client:
        found = client.change_experiment(number, change)
    print(f"experiment {number}: owner {found.owner or 'unknown'}, project {found.project or 'none'}")


def note(
    number: Number,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Markdown; - reads standard input.")] = "",
    run: IsRun = False,
    *,
    add: Annotated[bool, typer.Option("--add", help="Add TEXT below the present notes.")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the notes.")] = False,
) -> None:
    """Print the notes of an experiment or a run, or with TEXT replace them."""
    if clear and text:
        raise BigbatchError("--clear removes the notes: give no TEXT with it")
    with Client() as client:
        present = client.run(number).notes if run else client.experiment(number).notes
        new = sys.stdin.read() if text == "-" else text
        if new or clear:
            present = f"{present.rstrip()}\n\n{new}" if add and present.strip() else new
            _change(client, number, _checked(RunChange, notes=present), is_run=run)
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
    change = _checked(RunChange, add_tags=added, remove_tags=removed)
    with Client() as client:
        found = _change(client, number, change, is_run=run)
    print(" ".join(found))


def archive(
    numbers: Ids,
    run: OfRuns = False,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Show them in lists again.")] = False,
) -> None:
    """Hide experiments or runs from lists; they stay as they are, and `list --archived` shows them."""
    with Client() as client:
        for number in numbers:
            _change(client, number, RunChange(archived=not undo), is_run=run)
    verb = "shown in lists again" if undo else "archived"
    print(f"{verb}: {'run' if run else 'experiment'} {', '.join(map(str, numbers))}")


def leave_out(
    numbers: Annotated[list[int], typer.Argument(metavar="RUN...", help="The runs.")],
    *,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why: the answer shows it to everybody.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Let answers count them again.")] = False,
) -> None:
    """Leave runs out of the answers of their experiment, with the reason; they stay as they are."""
    if undo == bool(reason.strip()):
        raise BigbatchError("give the reason by --reason TEXT, or --undo")
    change = _checked(RunChange, left_out=reason.strip())
    with Client() as client:
        for number in numbers:
            client.change_run(number, change)
    verb = "counted in answers again" if undo else "left out of answers"
    print(f"{verb}: run {', '.join(map(str, numbers))}")


def _change(client: Client, number: int, change: RunChange, *, is_run: bool) -> list[str]:
    """Carry out a change; return the tags."""
    if is_run:
        return client.change_run(number, change).tags
    wider = ExperimentChange.model_validate(change.model_dump(exclude_unset=True))
    return client.change_experiment(number, wider).tags


def _checked(kind: type[Change], **values: Any) -> Change:
    """Return the change; raise BigbatchError that names each value which is not allowed."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise BigbatchError("; ".join(f"{issue.path}: {issue.message}" for issue in issues_of(error))) from error

"""`bigbatch views`: list, save, rename and delete the saved views of the dashboard."""

from typing import Annotated
from urllib.parse import urlencode

import typer
from pydantic import ValidationError

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.errors import BigbatchError
from bigbatch.terminal.output import print_json, print_table
from contract.api.saved.views import View, ViewChange, ViewPage
from contract.validation import issues_of

Id = Annotated[int, typer.Argument(metavar="ID", help="The view.")]
app = typer.Typer(
    name="views",
    help="List, save, rename and delete saved views.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def views(context: typer.Context, as_json: Json = False) -> None:
    """List the saved views with their addresses."""
    if context.invoked_subcommand is not None:
        return
    with Client() as client:
        found = client.views()
        if as_json:
            print_json(found)
            return
        rows = [(str(view.id), view.name, view.page.value, view.owner or "-", _address(client, view)) for view in found]
        print_table(("id", "name", "page", "owner", "address"), rows)


@app.command()
def save(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    where: Annotated[str, typer.Argument(metavar="[WHERE]", help="A query, as of `bigbatch runs`.")] = "",
    *,
    sort: Annotated[str, typer.Option(help="Fields, each with - for the reverse order: '-best(loss), batch'.")] = "",
    column: Annotated[list[str] | None, typer.Option(help="A field to show; repeat it.")] = None,
    group_by: Annotated[list[str] | None, typer.Option(help="A field of the grouping; repeat it.")] = None,
) -> None:
    """Save a view of the table of runs, and print its address."""
    fields = {"where": where, "sort": sort, "columns": ",".join(column or []), "group": ",".join(group_by or [])}
    query = urlencode({name: value for name, value in fields.items() if value})
    with Client() as client:
        try:
            view = client.save_view(name, ViewPage.RUNS, query)
        except ValidationError as error:
            raise BigbatchError(f"{issues_of(error)[0].path}: {issues_of(error)[0].message}") from error
        print(f"view {view.id}: {_address(client, view)}")


@app.command()
def rename(view_id: Id, name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")]) -> None:
    """Give a view another name."""
    _change(view_id, name=name)


@app.command()
def delete(
    view_id: Id, *, undo: Annotated[bool, typer.Option("--undo", help="Undo a deletion, within a day.")] = False
) -> None:
    """Delete a view; --undo returns it."""
    _change(view_id, deleted=not undo)


def _change(view_id: int, **fields: str | bool) -> None:
    try:
        change = ViewChange.model_validate(fields)
    except ValidationError as error:
        raise BigbatchError(f"{issues_of(error)[0].path}: {issues_of(error)[0].message}") from error
    with Client() as client:
        view = client.change_view(view_id, change)
    print(
        f"view {view.id}: {view.name}"
        + (f", deleted (undo: bigbatch views delete {view.id} --undo)" if view.deleted_at else "")
    )


def _address(client: Client, view: View) -> str:
    return f"{client.pages_url}/views/{view.id}"

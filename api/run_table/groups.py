"""Groups of the table of runs: mean, deviation and range of figures over the runs with equal values in some fields."""

from collections.abc import Collection, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from api.database import Reading
from api.errors import Invalid
from api.http.statuses import LIST
from api.parameters import NO_NUL, Limit
from api.run_table.group_order import Group, numbers_of, sort_groups
from api.run_table.language import parse_name
from api.run_table.selection import ColumnName, Selected, in_parameter
from api.run_table.table import column_of
from api.run_table.written import written_value
from contract.api.run_table import GroupFigure, RunGroup, RunGroups, TableColumn
from contract.validation import ValidationIssue
from store.run_table.columns import Kind, shown
from store.run_table.fields import Field, find_column, find_field
from store.run_table.groups import Key, grouped
from study.spread import spread_of

router = APIRouter(prefix="/runs", tags=["runs"])
MAX_BY = 5
MAX_FIGURES = 30
MAX_QUERY = 2000  # characters, as of the parameter `where`
By = Annotated[
    Sequence[ColumnName],
    Query(
        min_length=1,
        max_length=MAX_BY,
        description="Fields whose values the runs of a group share; repeat it. A run with several tags is in the "
        "group of each of them.",
        examples=[["batch", "optimizer"]],
    ),
]
Figures = Annotated[
    Sequence[ColumnName],
    Query(
        max_length=MAX_FIGURES,
        description="Fields with numbers whose mean, deviation and range each group has; repeat it.",
        examples=[["best(heldout_accuracy)", "duration"]],
    ),
]
GroupSort = Annotated[
    str | None,
    Query(
        max_length=500,
        pattern=NO_NUL,
        description="Fields of the grouping, figures (by their means) and `count`, each with - in front for the "
        "reverse order; without it the groups are in the order of their values. Groups without a value come last.",
        examples=["-best(heldout_accuracy)"],
    ),
]


@router.get("/groups", responses=LIST)
def get_run_groups(
    db: Reading,
    selected: Selected,
    by: By,
    figure: Figures = (),
    sort: GroupSort = None,
    limit: Limit = 100,
) -> RunGroups:
    """Return the groups of the selected runs, with the spread of figures over each."""
    find = find_field if selected.experiment is None else find_column
    keys = in_parameter("by", lambda: [find(db, parse_name(name)) for name in by])
    fields = in_parameter("figure", lambda: [find(db, parse_name(name)) for name in figure])
    columns = [column_of(name, field) for name, field in zip(figure, fields, strict=True)]
    _check(by, keys, columns)
    count, found = grouped(db, *selected.conditions(db), by=keys, fields=fields)
    groups = [Group(key, members) for key, members in found.items()]
    sort_groups(groups, sort, by=by, figures=figure)
    texts = {(place, value) for key in found for place, value in enumerate(key) if isinstance(value, str)}
    return RunGroups(
        total=len(groups),
        runs=count,
        by=[column_of(name, field) for name, field in zip(by, keys, strict=True)],
        columns=columns,
        groups=[
            _shown(group, query_of(by, group.values, selected.where, texts), len(figure)) for group in groups[:limit]
        ],
    )


def _check(by: Sequence[str], keys: Sequence[Field], columns: Sequence[TableColumn]) -> None:
    issues = [
        ValidationIssue(path="by", message=f"the moment {name} differs in every run: group by another field")
        for name, field in zip(by, keys, strict=True)
        if column_of(name, field).kind == Kind.MOMENT
    ]
    issues += [
        ValidationIssue(path="figure", message=f"{column.name} has no numbers")
        for column in columns
        if column.kind in (Kind.TEXT, Kind.MOMENT)
    ]
    if issues:
        raise Invalid("the groups are not valid", issues)


def _shown(group: Group, where: str | None, figures: int) -> RunGroup:
    return RunGroup(
        values=[shown(value) for value in group.values],
        count=group.members.runs,
        figures=[_figure(numbers_of(group, at)) for at in range(figures)],
        where=where,
    )


def _figure(numbers: Sequence[float]) -> GroupFigure | None:
    if not numbers:
        return None
    spread = spread_of(numbers)
    return GroupFigure(
        count=spread.count, mean=spread.mean, deviation=spread.deviation, least=spread.least, most=spread.most
    )


def query_of(by: Sequence[str], key: Key, where: str | None, texts: Collection[tuple[int, str]]) -> str | None:
    """Return the query for the runs of a group among those of `where`; None if it is too long to be asked.

    A number in a query finds the text that reads so as well: where this is one of `texts`, the values of other groups
    by their places, the query excludes it.
    """
    parts = [f"({where.strip()})"] if where and where.strip() else []
    for place, (name, value) in enumerate(zip(by, key, strict=True)):
        written = written_value(value)
        parts.append(f"{name} = {written}")
        if isinstance(value, int | float) and (place, written) in texts:
            parts.append(f"{name} != {written_value(written)}")
    found = " and ".join(parts)
    return found if len(found) <= MAX_QUERY else None

"""Groups of runs in a terminal: a line for each, with mean and deviation of each figure."""

from bigbatch.terminal.csv_output import print_csv
from bigbatch.terminal.output import print_json, print_table
from contract.api.run_table import Cell, GroupFigure, RunGroup, RunGroups


def print_groups(found: RunGroups, *, as_json: bool, as_csv: bool) -> None:
    """Print the groups as a table, as JSON, or as comma-separated values with a column for each number."""
    if as_json:
        print_json(found)
        return
    fields, figures = [one.name for one in found.by], [one.name for one in found.columns]
    if as_csv:
        parts = ("count", "mean", "deviation", "least", "most")
        heads = [*fields, "runs", *(f"{name} {part}" for name in figures for part in parts)]
        print_csv(heads, [_row(group, parts) for group in found.groups])
        return
    rows = [
        [*map(_text, group.values), str(group.count), *(_spread(figure) for figure in group.figures)]
        for group in found.groups
    ]
    print_table([*fields, "runs", *figures], rows)
    if found.total > len(found.groups):
        print(f"{len(found.groups)} of {found.total} groups: --limit shows more")


def _row(group: RunGroup, parts: tuple[str, ...]) -> list[Cell]:
    figures = [None if figure is None else getattr(figure, part) for figure in group.figures for part in parts]
    return [*group.values, group.count, *figures]


def _spread(figure: GroupFigure | None) -> str:
    if figure is None:
        return "-"
    return _text(figure.mean) if figure.deviation is None else f"{figure.mean:.6g} ± {figure.deviation:.2g}"


def _text(value: Cell) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else str(value)

"""The comparison of two programs: their own metrics, times and parameters side by side."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bigbatch.client import Client
from bigbatch.errors import BigbatchError
from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import format_figure, format_seconds, format_steps, own_series, print_table
from contract.api.curves import Column
from contract.api.responses import RunDetail
from contract.differences import differences
from contract.lifecycle.state import State
from contract.spec.grid.value_text import PARAMETERS, describe_value
from study.spread import run_seconds

SHOWN = 20  # metrics
REMARKS = (
    "the time is from the first start to the end, with the waits between attempts: a program reports no training time",
    "there is one run of each: repeat both with other seeds before you rely on a difference (show --over seed)",
)


def compare_programs(client: Client, baseline: RunDetail, other: RunDetail, *, as_json: bool) -> None:
    """Print the metrics that both programs report, their times, and the fields in which their specs differ."""
    for run in (baseline, other):
        if run.state is not State.DONE:
            raise BigbatchError(f"no fair comparison: run {run.id} is {run.state}, not done")
    names = [name for name in own_series(baseline) if name in other.latest][:SHOWN]
    pairs = [(run, _figures(client.points(run.id, names).series if names else {})) for run in (baseline, other)]
    found = differences(baseline.spec.model_dump(mode="json"), other.spec.model_dump(mode="json"))
    changed = {one.path.removeprefix(PARAMETERS): (one.first, one.second) for one in found}
    if as_json:
        sides = [{"run": run.id, "run_s": run_seconds(run), "metrics": figures} for run, figures in pairs]
        by_path = {path: {"baseline": old, "other": new} for path, (old, new) in changed.items()}
        print(json.dumps({"baseline": sides[0], "other": sides[1], "differences": by_path}, indent=2))
        return
    heads = ("", *(f"run {run.id}" for run, _ in pairs))
    differing = [(path, describe_value(old), describe_value(new)) for path, (old, new) in changed.items()]
    print_table(heads, [*differing, *_rows(pairs, names)])
    for remark in REMARKS:
        print_message(remark)


def _figures(series: Mapping[str, Column]) -> dict[str, dict[str, float]]:
    """Return the last, the least and the most value of each series that has a number."""
    values = {name: [value for value in column.values if value is not None] for name, column in series.items()}
    return {name: {"last": some[-1], "least": min(some), "most": max(some)} for name, some in values.items() if some}


def _rows(pairs: list[tuple[RunDetail, dict[str, Any]]], names: list[str]) -> Iterator[tuple[str, ...]]:
    yield ("time", *(format_seconds(run_seconds(run)) for run, _ in pairs))
    yield ("steps", *(format_steps(run, " of ") for run, _ in pairs))
    for name in names:
        for part in ("last", "least", "most"):
            yield (f"{name}, {part}", *(format_figure(figures.get(name, {}).get(part)) for _, figures in pairs))

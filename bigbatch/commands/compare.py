"""`bigbatch compare`: the speed-up of one run over another to the same accuracy."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.commands.program.compare import compare_programs
from bigbatch.errors import BigbatchError
from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import format_percent, print_table, print_text
from bigbatch.terminal.units import format_duration
from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.recorded.run import RecordedSpec
from study.comparison import Comparison, Unfair
from study.comparison import compare as compare_trials
from study.trial import NAMES, Mark, Trial, trial


class UnfairComparison(BigbatchError):
    """The comparison of the two runs would be misleading."""


def compare(
    baseline: Annotated[int, typer.Argument(metavar="BASELINE", help="The run to compare with.")],
    other: Annotated[int, typer.Argument(metavar="RUN", help="The run whose speed-up is computed.")],
    accuracy: Annotated[
        float | None, typer.Option(min=0, max=1, help="Target accuracy, 0 to 1; default: the baseline's best.")
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Show a run's speed-up to the same accuracy and the specs of both runs; of programs their metrics side by side."""
    with Client() as client:
        runs = client.run(baseline), client.run(other)
        is_engine = {run.spec.kind == "engine" for run in runs}
        if len(is_engine) == 2:
            raise UnfairComparison("no fair comparison: one run is of your own program, the other of the engine")
        if is_engine == {False}:
            compare_programs(client, *runs, as_json=as_json)
            return
        first, second = fetch_trial(client, baseline), fetch_trial(client, other)
    try:
        found = compare_trials(first, second, accuracy)
    except Unfair as error:
        raise UnfairComparison("\n".join(["no fair comparison:", *error.reasons])) from error
    if as_json:
        print(json.dumps(_to_json(found), indent=2))
    else:
        _print(found)


def fetch_trial(client: Client, run_id: int) -> Trial:
    """Return a run and its measured series, from the service."""
    run = client.run(run_id)
    if isinstance(run.spec, RecordedSpec):
        raise UnfairComparison(f"no fair comparison: run {run_id} was carried out elsewhere")
    points = client.points(run_id, [name for name in NAMES if name in {*run.series, HELDOUT_ACCURACY}])
    columns = {name: list(zip(column.steps, column.values, strict=True)) for name, column in points.series.items()}
    return trial(f"run {run_id}", run.state, run.spec, columns)


def _print(found: Comparison) -> None:
    pairs = [(found.baseline, found.baseline_at), (found.other, found.other_at)]
    rows = [
        (f"time to {format_percent(found.accuracy, 2)}", *(format_duration(at.seconds) for _, at in pairs)),
        ("epochs until then", *(f"{at.epochs:g}" for _, at in pairs)),
        ("iterations until then", *(f"{at.step:,} of {one.spec.steps:,}" for one, at in pairs)),
        ("best accuracy", *(format_percent(one.best, 2) for one, _ in pairs)),
    ]
    print_table(("", found.baseline.name, found.other.name), [*rows, *_choices(found)])
    print_text(
        f"{found.speedup:.2f} x as fast as {found.baseline.name} to an accuracy of {format_percent(found.accuracy, 2)}"
    )
    for remark in found.remarks:
        print_message(remark)


def _choices(found: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield every choice of both runs, differences first; "=" stands for an equal choice."""
    for path, (old, new) in found.differences.items():
        yield path, _format_choice(old), _format_choice(new)
    for path, value in _leaves(found.baseline.spec.model_dump(mode="json")):
        if not any(f"{path}.".startswith(f"{changed}.") for changed in found.differences):
            yield path, _format_choice(value), "="


def _leaves(document: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _format_choice(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict) and "kind" in value:
        options = ", ".join(f"{key} {_format_choice(option)}" for key, option in value.items() if key != "kind")
        return f"{value['kind']} ({options})" if options else str(value["kind"])
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _to_json(found: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON values."""

    def side(one: Trial, at: Mark) -> dict[str, Any]:
        at_accuracy = {"step": at.step, "epochs": at.epochs, "seconds": at.seconds, "accuracy": at.accuracy}
        return {"name": one.name, "best": one.best, "at": at_accuracy, "spec": one.spec.model_dump(mode="json")}

    return {
        "accuracy": found.accuracy,
        "speedup": found.speedup,
        "baseline": side(found.baseline, found.baseline_at),
        "other": side(found.other, found.other_at),
        "differences": {path: {"baseline": old, "other": new} for path, (old, new) in found.differences.items()},
        "remarks": found.remarks,
    }

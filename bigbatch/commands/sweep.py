"""`bigbatch sweep`: show, pause, resume and extend a search, whose trials a sampler chooses."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.errors import BigbatchError
from bigbatch.terminal.output import format_count, format_percent, print_json, print_table
from contract.api.search import Lineage, SearchChanged, SearchDetail, TrialView
from contract.spec.grid.value_text import describe_values

Number = Annotated[int, typer.Argument(metavar="ID", help="The experiment.")]
MOST_SHOWN = 20
app = typer.Typer(
    name="sweep",
    help="Show, pause, resume or extend a sweep that learns.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("show")
def show_sweep(
    experiment_id: Number,
    *,
    trials: Annotated[int, typer.Option(min=0, help="Number of trials to list, the best first.")] = MOST_SHOWN,
    as_json: Json = False,
) -> None:
    """Show the best trials of a sweep, and which parameters mattered."""
    with Client() as client:
        found = client.search(experiment_id)
    if as_json:
        print_json(found)
        return
    print(sweep_line(found))
    for path, share in found.importance.items():
        print(f"  {format_percent(share):>5} {path}")
    heads = ("TRIAL", "RUNS", "STATUS", found.spec.metric.upper(), "RUNGS", "VALUES")
    print_table(heads, [_row(trial) for trial in ranked(found)[:trials]])


@app.command("pause")
def pause_sweep(experiment_id: Number, *, as_json: Json = False) -> None:
    """Pause a sweep: it starts no trial, and its runs stop with a checkpoint."""
    with Client() as client:
        _print_changed(client.pause_search(experiment_id), as_json=as_json)


@app.command("resume")
def resume_sweep(experiment_id: Number, *, as_json: Json = False) -> None:
    """Let a sweep go on that was paused or stopped; runs that the pause stopped go on from their checkpoints."""
    with Client() as client:
        _print_changed(client.resume_search(experiment_id), as_json=as_json)


@app.command("extend")
def extend_sweep(
    experiment_id: Number,
    *,
    trials: Annotated[int | None, typer.Option(min=1, help="The new total number of trials.")] = None,
    rank_hours: Annotated[float | None, typer.Option(help="The new budget in rank-hours.")] = None,
    as_json: Json = False,
) -> None:
    """Give a sweep more trials or a larger budget; one that has ended goes on."""
    if trials is None and rank_hours is None:
        raise BigbatchError("say by --trials how many trials there shall be in all, or a budget by --rank-hours")
    with Client() as client:
        found = client.extend_search(experiment_id, trials=trials, rank_hours=rank_hours)
        _print_changed(found, as_json=as_json)


def sweep_line(found: SearchDetail) -> str:
    """Return one sentence on how far a sweep is, with its best trial."""
    counts = ", ".join(f"{count} {status}" for status, count in found.counts.items())
    ended = f"ended ({found.end_cause})" if found.status == "ended" else found.status
    begun = f"sweep of experiment {found.experiment_id}: {ended}, {len(found.trials)} of {found.wanted} trials"
    line = f"{begun}{f' ({counts})' if counts else ''}, {found.used_rank_hours:.3g} rank-hours"
    if found.best is None:
        return line
    return f"{line}; best {found.spec.metric} {_number(found.best.value)}: {describe_values(found.best.params)}"


def ranked(found: SearchDetail) -> list[TrialView]:
    """Return the trials, the best first, and those without a value last."""
    sign = -1.0 if found.maximizes else 1.0
    return sorted(
        found.trials,
        key=lambda trial: (trial.value is None, sign * (trial.value or 0.0), trial.number),
    )


def _row(trial: TrialView) -> tuple[str, ...]:
    runs = ",".join(map(str, trial.run_ids))
    rungs = " ".join(_number(value) for value in trial.rungs) or "-"
    status = f"{trial.status}: {trial.message}" if trial.message else trial.status
    values = describe_values(trial.params)
    if trial.lineage is not None:
        values = f"{_member(trial.lineage)}: {values}"
    return str(trial.number), runs or "-", status, _number(trial.value), rungs, values


def _member(lineage: Lineage) -> str:
    """Return whose generation a trial is, and whose weights it copied."""
    copied = f", copies trial {lineage.parent}" if lineage.copied else ""
    return f"member {lineage.member}, generation {lineage.generation}{copied}"


def _print_changed(found: SearchChanged, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    how = "is" if found.changed else "was already"
    print(f"the sweep of experiment {found.experiment_id} {how} {found.status}, {format_count(found.wanted, 'trial')}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"

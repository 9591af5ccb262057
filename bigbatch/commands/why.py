"""`bigbatch why`: show the first failed rank, the kind of failure and the log lines that show it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from textwrap import indent
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.terminal.output import format_count, format_steps, print_json, print_table
from contract.api.responses import FailedRun, RunDetail
from contract.diagnosis.stacks import RankStacks
from contract.lifecycle.failure import Failure, FailureKind, RankFailureView
from contract.lifecycle.state import State
from contract.spec.grid.value_text import describe_values

KIND_TEXTS = {
    FailureKind.OUT_OF_MEMORY: "out of memory",
    FailureKind.COLLECTIVE_TIMEOUT: "collective timeout: all other ranks waited for this rank",
    FailureKind.PYTHON_ERROR: "python error",
    FailureKind.SIGNAL: "signal: the rank's process was killed or crashed",
    FailureKind.WRONG_ENVIRONMENT: "wrong environment: a program, module, library or device is missing",
    FailureKind.NODE_FAILURE: "node failure: the rank's host failed",
    FailureKind.TIME_LIMIT: "time limit",
    FailureKind.UNKNOWN: "unknown: the rank ended without a reason",
}


def why(
    number: Annotated[int, typer.Argument(metavar="ID", help="Id of the run, or of the experiment with --experiment.")],
    experiment: Annotated[bool, typer.Option("--experiment", "-e", help="ID is the id of an experiment.")] = False,
    *,
    stacks: Annotated[
        bool, typer.Option("--stacks", help="Print the newest stacks of each rank of a program, as after a stall.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show why a run failed, or why each run of an experiment failed: first rank, kind and evidence."""
    with Client() as client:
        if experiment:
            client.experiment(number)
            failed = list(client.failures(number))
            print_json(failed) if as_json else _print_all(failed)
            return
        run, found = client.run(number), list(client.stacks(number)) if stacks else []
    if stacks and as_json:
        print_json(found)
    elif as_json:
        print_json(run.failure) if run.failure else print("null")
    else:
        _print_one(run)
        if stacks:
            _print_stacks(found)


def _print_stacks(found: Sequence[RankStacks]) -> None:
    if not found:
        print("no rank has left stacks: only Python programs do, and not with `time_split: false`")
    for one in found:
        print(f"rank {one.rank}, written {datetime.fromtimestamp(one.written_at, UTC):%Y-%m-%d %H:%M:%S} UTC:")
        print(indent(one.text.rstrip(), "    "))


def _print_one(run: RunDetail) -> None:
    if run.unread is not None:
        print(run.unread.sentence)
    if run.diverged is not None:
        print(run.diverged.sentence)
    for lost in run.lost_ranks:
        print(f"rank {lost.rank} failed at step {lost.step} of attempt {lost.attempt}; all other ranks continued:")
        print(f"    {lost.reason}")
    # at a time limit no rank fails, and the run's own reason says what follows
    if run.failure is None or (run.failure.kind is FailureKind.TIME_LIMIT and run.failure.rank is None):
        print(f"run {run.id} is {run.state}: {_run_status(run)}")
        return
    if run.state is not State.FAILED:
        print(f"run {run.id} is {run.state}; attempt {run.failure.attempt} failed:")
    for line in _failure_lines(run.failure):
        print(line)


def _run_status(run: RunDetail) -> str:
    """Return the state of a run without a failure, and how its earlier attempts ended."""
    status = {
        State.QUEUED: run.reason or f"the run is not submitted to {run.cluster} yet",
        State.SUBMITTING: f"the run is being submitted to {run.cluster}",
        State.PENDING: run.reason or f"job {run.job_id} on {run.cluster} has not reported yet",
        State.RUNNING: f"{format_steps(run, ' of ')} steps are done{f'; {run.reason}' if run.reason else ''}",
        State.PAUSED: f"{run.reason or 'a checkpoint is saved'}; the run is queued again after the end of its job",
        State.DONE: f"all steps are done, at step {format_steps(run, ' of ')}{f'; {run.reason}' if run.reason else ''}",
        State.FAILED: run.reason or "no reason is known",
        State.CANCELLED: run.reason or "the run was stopped",
    }[run.state]
    asked = ["a stop was requested"] if run.stopping else []
    early = [
        f"attempt {one.number} ended early: {one.cause.replace('_', ' ')}"
        for one in run.attempts
        if one.number < run.attempt
    ]
    return "; ".join([status, *asked, *early])


def _failure_lines(failure: Failure) -> Iterator[str]:
    rank = "an unknown rank" if failure.rank is None else f"rank {failure.rank}"
    host = f" on {failure.host}" if failure.host else ""
    at = f" at {failure.at:%H:%M:%S.%f}"[:-3] + " UTC" if failure.at else ""
    is_missed = failure.round is not None and failure.kind is not FailureKind.PYTHON_ERROR
    missed = f"; all other ranks waited for it in round {failure.round} of the collective" if is_missed else ""
    if failure.has_begun:
        yield f"first to fail: {rank}{host}{at}: {KIND_TEXTS[failure.kind]}{missed}"
    else:
        yield f"no rank had begun: {failure.reason}"
        if failure.evidence in ("", failure.reason):
            return
    yield f"evidence from {failure.source}:"
    yield from (f"    {line}" for line in failure.evidence.splitlines())
    later = [one for one in failure.falls if one.rank != failure.rank]
    if failure.at and later:
        yield "then:"
        yield from (f"    {_later_failure(rank_failure, failure)}" for rank_failure in later[:10])


def _later_failure(rank_failure: RankFailureView, failure: Failure) -> str:
    assert failure.at is not None
    return f"+{max(0.0, (rank_failure.at - failure.at).total_seconds()):.3f} s  {rank_failure.reason}"


def kind_label(failure: Failure) -> str:
    """Return the kind of a failure as text."""
    return failure.kind.replace("_", " ")


def _print_all(failed: list[FailedRun]) -> None:
    if not failed:
        print("no run of this experiment has failed")
        return
    kinds = Counter(kind_label(run.failure) if run.failure else "never began" for run in failed)
    print(
        f"{format_count(len(failed), 'run')} failed: "
        + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    )
    print_table(("run", "values", "step", "kind", "first rank", "evidence"), map(_row, failed))


def _row(run: FailedRun) -> tuple[str, ...]:
    failure = run.failure
    if failure is None:
        return str(run.id), describe_values(run.values), str(run.step), "never began", "-", run.reason or ""
    who = "-" if failure.rank is None else f"{failure.rank}{f' on {failure.host}' if failure.host else ''}"
    last = failure.evidence.splitlines()[-1:] or [""]
    return str(run.id), describe_values(run.values), str(run.step), kind_label(failure), who, last[0]

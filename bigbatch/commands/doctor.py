"""`bigbatch doctor`: is this site as runs need it? Each line says what was found, what it means and what to set."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.submit import Json
from bigbatch.commands.up import place_of
from bigbatch.errors import BigbatchError, Unreachable
from bigbatch.terminal.output import console, counted, print_json
from contract.api.site_check import Check, Grade, amiss, fine

STYLES = {Grade.OK: "green", Grade.NOTE: "cyan", Grade.WARNING: "yellow", Grade.ERROR: "bold red"}


def doctor(
    job: Annotated[
        bool, typer.Option("--job/--no-job", help="Submit a tiny job, which looks from a compute node.")
    ] = True,
    partition: Annotated[str, typer.Option(help="Where it goes; the cluster's default if none is named.")] = "",
    wait: Annotated[float, typer.Option(min=1, help="Seconds that it may wait in the queue.")] = 90.0,
    *,
    as_json: Json = False,
) -> None:
    """Check the site: Slurm, compute nodes, folders, database, broker, service; exit 1 if anything is in the way."""
    place_of(None)  # says what is not installed, or set wrongly
    words = ["--wait", str(wait), *([] if job else ["--no-job"]), *(["--partition", partition] if partition else [])]
    found: list[Check] = []
    for check in _checks(words, found):
        found.append(check)
        if not as_json:
            _print(check, is_first=len(found) == 1 or found[-2].area != check.area)
    if as_json:
        print_json(found)
    else:
        _sum_up(found)
    raise typer.Exit(int(any(check.grade is Grade.ERROR for check in found)))


def _checks(words: Sequence[str], found: Sequence[Check]) -> Iterator[Check]:
    yield from _examined(words)
    if any(check.area == "database" and check.grade in (Grade.OK, Grade.WARNING) for check in found):
        yield _tables()
    yield _service()


def _examined(words: Sequence[str]) -> Iterator[Check]:
    """What the scheduler finds, with the settings of this shell, as soon as it finds it."""
    command = [sys.executable, "-P", "-m", "scheduler", "doctor", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as examining:
        assert examining.stdout is not None
        for line in examining.stdout:
            yield Check.model_validate_json(line)
    if examining.returncode:
        raise BigbatchError(f"the examination ended with exit code {examining.returncode}")


def _tables() -> Check:
    done = subprocess.run([sys.executable, "-P", "-m", "migrations", "state"], capture_output=True, text=True)
    if done.returncode:
        raise BigbatchError(f"the tables cannot be looked at: {done.stderr.strip().splitlines()[-1:]}")
    at, head = done.stdout.split()
    if at == head:
        return fine("database", "tables", f"as this version has them ({head})", "the service can read and write them")
    found, means = f"at {at}, not at {head}", "the service is of another version than its tables"
    advice = "python -m migrations upgrade"
    return amiss("database", "tables", Grade.ERROR, found=found, means=means, advice=advice)


def _service() -> Check:
    try:
        with Client() as client:
            told = client.ready()
    except Unreachable:
        found = f"none answers at {os.environ.get('BIGBATCH_URL') or 'this machine'}"
        means = "no run is taken or launched until one is up"
        advice = "bigbatch up; or BIGBATCH_URL, if it is elsewhere"
        return amiss("service", "service", Grade.NOTE, found=found, means=means, advice=advice)
    except BigbatchError as error:
        means = "what answers is no service of yours, or cannot do its work"
        advice = "BIGBATCH_URL and BIGBATCH_TOKEN to one that is yours; else start its database, or look at its log"
        return amiss("service", "service", Grade.WARNING, found=str(error), means=means, advice=advice)
    if told.ready:
        return fine("service", "service", f"{client.url} is ready", "runs are taken, launched and looked after")
    found = f"{client.url}: database {told.database}, scheduler {told.scheduler}"
    means, advice = "runs wait until a worker and a clock are up", "bigbatch up, or docker compose up -d worker clock"
    if told.database != "ok":
        means = "nothing moves until it can read its tables"
        advice = "python -m migrations upgrade, with the BIGBATCH_DATABASE of the service"
    return amiss("service", "service", Grade.WARNING, found=found, means=means, advice=advice)


def _print(check: Check, *, is_first: bool) -> None:
    out = console()
    if is_first:
        out.print(check.area, style="bold")
    out.print(f"  {check.grade:<8}", style=STYLES[check.grade], end="")
    out.print(f"{check.name:<16} {check.found}", soft_wrap=True)
    for told in filter(None, (check.means, check.advice and f"set: {check.advice}")):
        out.print(f"{'':<27}{told}", style="dim" if check.grade is Grade.OK else "", soft_wrap=True)


def _sum_up(found: Sequence[Check]) -> None:
    counts = [(grade, sum(check.grade is grade for check in found)) for grade in (Grade.ERROR, Grade.WARNING)]
    console().print(", ".join(counted(count, grade.value) for grade, count in counts))

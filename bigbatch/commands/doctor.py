"""`bigbatch doctor`: check this site. Each result shows the finding, its effect on runs and how to fix it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.commands.up import read_service_settings
from bigbatch.errors import BigbatchError, Unreachable
from bigbatch.terminal.output import format_count, make_console, print_indented, print_json
from contract.api.site_check import Check, Grade, failed_check, passed_check
from contract.shown_address import shown_address

INDENT = 27  # behind the grade and the name
NEWER_VERSION = "install the newer version of Bigbatch"
STYLES = {Grade.OK: "green", Grade.NOTE: "cyan", Grade.WARNING: "yellow", Grade.ERROR: "bold red"}


def doctor(
    job: Annotated[bool, typer.Option("--job/--no-job", help="Submit a small job that checks a compute node.")] = True,
    partition: Annotated[str, typer.Option(help="Partition of the job; default: the cluster's default.")] = "",
    wait: Annotated[float, typer.Option(min=1, help="Maximum queue time of the job in seconds.")] = 90.0,
    *,
    as_json: Json = False,
) -> None:
    """Check Slurm, compute nodes, folders, database, broker and service; exit with 1 after an error."""
    read_service_settings(None)  # reports missing packages and wrong settings
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
    yield from _scheduler_checks(words)
    if any(check.area == "database" and check.grade in (Grade.OK, Grade.WARNING) for check in found):
        yield _tables()
    yield _service()


def _scheduler_checks(words: Sequence[str]) -> Iterator[Check]:
    """Yield the scheduler's results as they arrive, with the settings of this shell."""
    command = [sys.executable, "-P", "-m", "scheduler", "doctor", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield Check.model_validate_json(line)
    if process.returncode:
        raise BigbatchError(f"the checks ended with exit code {process.returncode}")


def _tables() -> Check:
    done = subprocess.run([sys.executable, "-P", "-m", "migrations", "state"], capture_output=True, text=True)
    if done.returncode:
        raise BigbatchError(f"cannot read the database's revision: {''.join(done.stderr.strip().splitlines()[-1:])}")
    revisions, *unknown = done.stdout.splitlines()
    at, head = revisions.split()
    if at == head:
        return passed_check(
            "database", "tables", f"revision {head} of this version", "the service can read and write its tables"
        )
    found, means = f"revision {at} instead of {head}", "the service and its tables have different versions"
    advice = "run python -m migrations upgrade"
    if at.isdigit() and at > head:
        advice = f"{NEWER_VERSION} that made them"
    elif unknown:
        advice = _last_part(unknown[0])
    return failed_check("database", "tables", Grade.ERROR, found=found, means=means, advice=advice)


def _service() -> Check:
    try:
        with Client() as client:
            readiness = client.ready()
            if readiness.ready:
                client.clusters()  # readiness needs no token, all other requests do
    except Unreachable:
        found = f"no service answers at {shown_address(os.environ.get('BIGBATCH_URL') or 'this machine')}"
        means = "no run is accepted or submitted without a service"
        advice = "start the service with bigbatch up, or set BIGBATCH_URL to its address"
        return failed_check("service", "service", Grade.NOTE, found=found, means=means, advice=advice)
    except BigbatchError as error:
        means = "another program answers, or the service has a problem"
        advice = "set BIGBATCH_URL and BIGBATCH_TOKEN to your service, start its database, or read its log"
        return failed_check("service", "service", Grade.WARNING, found=str(error), means=means, advice=advice)
    if readiness.ready:
        return passed_check(
            "service", "service", f"{client.url} is ready", "runs are accepted, submitted and monitored"
        )
    found = f"{client.url}: database {readiness.database}, scheduler {readiness.scheduler}"
    means = "runs wait until a worker and a clock run"
    advice = "start both with bigbatch up, or with docker compose up -d worker clock"
    if readiness.database != "ok":
        means = "no run progresses until the service can read and write its tables"
        advice = _advice_of(readiness.database)
    return failed_check("service", "service", Grade.WARNING, found=found, means=means, advice=advice)


def _advice_of(database: str) -> str:
    """Return what to do about the service's database."""
    if "newer version" in database:
        return f"{NEWER_VERSION} that the database is of"
    if "older version" in database:
        return _last_part(database)
    if any(words in database for words in ("no such table", "does not exist", "migrations upgrade")):
        return "run python -m migrations upgrade with the service's BIGBATCH_DATABASE"
    return "make the service's database answer and take changes, or set its BIGBATCH_DATABASE to another"


def _last_part(sentence: str) -> str:
    """Return what a sentence of store/database_state.py says at its end: what to do."""
    return sentence.rpartition(": ")[2]


def _print(check: Check, *, is_first: bool) -> None:
    out = make_console()
    if is_first:
        out.print(check.area, style="bold")
    out.print(f"  {check.grade:<8}", style=STYLES[check.grade], end="")
    if out.is_terminal:
        out.print(check.name)
        print_indented(out, check.found, INDENT)
    else:
        out.print(f"{check.name:<16} {check.found}", soft_wrap=True)
    for line in filter(None, (check.means, check.advice and f"fix: {check.advice}")):
        print_indented(out, line, INDENT, style="dim" if check.grade is Grade.OK else "")


def _sum_up(found: Sequence[Check]) -> None:
    counts = [(grade, sum(check.grade is grade for check in found)) for grade in (Grade.ERROR, Grade.WARNING)]
    make_console().print(", ".join(format_count(count, grade.value) for grade, count in counts))

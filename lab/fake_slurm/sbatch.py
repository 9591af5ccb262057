"""The commands sbatch and scancel: submit and cancel jobs."""

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.scheduler import start_jobs
from lab.fake_slurm.state import ACTIVE, ON_HOSTS, PENDING, ClusterState, Job, current_user

FAILED = "Batch job submission failed: "
SUBMIT_LIMIT = f"AssocMaxSubmitJobLimit\nsbatch: error: {FAILED}Job violates accounting/QOS policy (job submit limit)"
ENDED_KNOWN_S = 300  # for which scancel accepts the id of an ended job


def sbatch(cluster: ClusterState, words: Sequence[str]) -> str:
    """Submit a script with the options of its #SBATCH lines and of the command line."""
    script = next((Path(word) for word in words if not word.startswith("-")), None)
    if script is None:
        raise SlurmError("no script")
    text = script.read_text()
    options = _parse([*_script_options(text), *(word for word in words if word.startswith("-"))])
    if "test-only" in options:
        return _predict(cluster, _columns(options, script))
    with cluster.transaction():
        tasks, max_running_tasks = _array_tasks(cluster, options.get("array"))
        _check_limit(cluster, len(tasks))
        number, at = int(cluster.get_number("next_id")), time.time()
        cluster.set("next_id", number + 1)
        common = _columns(options, script) | {"id": number, "max_running_tasks": max_running_tasks, "submitted": at}
        cluster.add_jobs([common | {"task": task} for task in tasks])
        first = cluster.jobs("id = ? AND submitted = ?", number, at)[0]
        folder = cluster.job_folder(first)
        folder.mkdir(parents=True)
        (folder / "script").write_text(text)
        (folder / "environment").write_text(json.dumps(dict(os.environ)))
        _start_rows(cluster)
    return f"Submitted batch job {number}\n"


def _predict(cluster: ClusterState, columns: dict[str, Any]) -> str:
    """Print when a job would start, as Slurm does: a message, and nothing on standard output."""
    on_hosts = cluster.jobs("state IN (?, ?)", *ON_HOSTS)
    need = columns["tasks_per_node"] * columns["cpus_per_task"]
    hosts = cluster.db.execute("SELECT name FROM hosts WHERE NOT down AND cpus >= ?", (need,)).fetchall()
    if len(hosts) < columns["nodes"]:
        raise SlurmError("allocation failure: Requested node configuration is not available")
    busy = {host for job in on_hosts for host in job.hosts.split(",")}
    waits = len(hosts) - len(busy & {name for (name,) in hosts}) < columns["nodes"]
    at = max((job.started + 60 * job.minutes for job in on_hosts), default=0.0) if waits else time.time()
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at))
    names, cpus = ",".join(name for (name,) in hosts[: columns["nodes"]]), need * columns["nodes"]
    where = f"using {cpus} processors on nodes {names} in partition {columns['partition']}"
    print(f"sbatch: Job {int(cluster.get_number('next_id'))} to start at {moment} {where}", file=sys.stderr)
    return ""


def scancel(cluster: ClusterState, words: Sequence[str]) -> str:
    """Cancel jobs by id (77, 77_3, 77_[0-2,5]), or all jobs of this user with --me; --signal=KILL sends SIGKILL."""
    force = any(word in ("--signal=KILL", "-sKILL", "--signal=9") for word in words)
    errors = []
    with cluster.transaction():
        for job in cluster.jobs("state IN (?, ?, ?)", *ACTIVE) if "--me" in words else []:
            _cancel(cluster, job, force=force)
        for word in words:
            if word.startswith("-"):
                continue
            named = _find_jobs(cluster, word)
            for job in [job for job in named if job.state in ACTIVE]:
                _cancel(cluster, job, force=force)
            if not named:
                errors.append(f"Kill job error on job id {word}: Invalid job id specified")
        _start_rows(cluster)
    if errors:
        raise SlurmError("\nscancel: error: ".join(errors))
    return ""


def parse_tasks(text: str) -> list[int]:
    """Return the tasks of an array expression: 0, 1, 2 and 5 for "0-2,5"."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _start_rows(cluster: ClusterState) -> None:
    if not cluster.get_number("carried"):  # otherwise the job runner starts jobs
        start_jobs(cluster)


def _cancel(cluster: ClusterState, job: Job, *, force: bool) -> None:
    if job.state == PENDING or not cluster.get_number("carried"):
        cluster.end(job, f"CANCELLED by {os.getuid()}")
    elif force or not job.requested_end:
        kind = "kill" if force else "cancel"
        cluster.update(job, state="COMPLETING", requested_end=kind, requested_at=time.time())


def _find_jobs(cluster: ClusterState, word: str) -> list[Job]:
    base, _, tasks = word.partition("_")
    if not base.isdigit():
        return []
    known_after = time.time() - ENDED_KNOWN_S
    known = [job for job in cluster.jobs("id = ?", int(base)) if job.state in ACTIVE or job.ended > known_after]
    wanted = set(parse_tasks(tasks.strip("[]"))) if tasks else None
    return [job for job in known if wanted is None or job.task in wanted]


def _array_tasks(cluster: ClusterState, expression: str | None) -> tuple[list[int | None], int]:
    """Return the tasks, and the number of them that may run at the same time (0: unlimited)."""
    if expression is None:
        return [None], 0
    tasks, _, max_running_tasks = expression.partition("%")
    wanted: list[int | None] = [*parse_tasks(tasks)]
    if max(task or 0 for task in wanted) >= cluster.get_number("max_array_size"):
        raise SlurmError(f"{FAILED}Invalid job array specification")
    return wanted, int(max_running_tasks or 0)


def _check_limit(cluster: ClusterState, size: int) -> None:
    limit = int(cluster.get_number("max_submit"))
    active = len(cluster.jobs("state IN (?, ?, ?)", *ACTIVE)) if limit else 0
    if limit and active + size > limit:
        raise SlurmError(SUBMIT_LIMIT)


def _columns(options: dict[str, str], script: Path) -> dict[str, Any]:
    warning = re.search(r"@(\d+)", options.get("signal", ""))
    return {
        "name": options.get("job-name", script.name),
        "user": current_user(),
        "partition": options.get("partition", "gpu"),
        "nodes": int(options.get("nodes", 1)),
        "tasks_per_node": int(options.get("ntasks-per-node", 1)),
        "cpus_per_task": int(options.get("cpus-per-task", 1)),
        "minutes": float(options.get("time", 60)),
        "warn_before_s": float(warning.group(1)) if warning else 0.0,
        "exclude": options.get("exclude", ""),
        "output": options.get("output", "/dev/null"),
        "requeue": int("no-requeue" not in options),
        "state": PENDING,
        "reason": "Resources",
    }


def _script_options(text: str) -> list[str]:
    """Return the options of the script's #SBATCH lines."""
    lines = [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH ")]
    return [word for line in lines for word in shlex.split(line)]


def _parse(words: Sequence[str]) -> dict[str, str]:
    parts = [word.removeprefix("--").partition("=") for word in words]
    return {name: value for name, _, value in parts}

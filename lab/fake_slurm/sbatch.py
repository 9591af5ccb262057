"""sbatch and scancel: jobs come and go."""

import json
import os
import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.scheduler import begin
from lab.fake_slurm.state import UNDER_WAY, WAITS, Job, Stage, user

FAILED = "Batch job submission failed: "


def sbatch(stage: Stage, words: Sequence[str]) -> str:
    """Take a script, with its #SBATCH lines or the same options before its name."""
    script = next((Path(word) for word in words if not word.startswith("-")), None)
    if script is None:
        raise SlurmError("no script")
    text = script.read_text()
    asked = _options([*_marked(text), *(word for word in words if word.startswith("-"))])
    with stage.alone():
        tasks, parallel = _tasks(stage, asked.get("array"))
        _admit(stage, len(tasks))
        number, at = int(stage.number("next_id")), time.time()
        stage.set("next_id", number + 1)
        common = _row(asked, script) | {"id": number, "parallel": parallel, "submitted": at}
        stage.add([common | {"task": task} for task in tasks])
        first = stage.jobs("id = ? AND submitted = ?", number, at)[0]
        place = stage.place_of(first)
        place.mkdir(parents=True)
        (place / "script").write_text(text)
        (place / "environment").write_text(json.dumps(dict(os.environ)))
        _begin(stage)
    return f"Submitted batch job {number}\n"


def scancel(stage: Stage, words: Sequence[str]) -> str:
    """End jobs: by ids (77, 77_3, 77_[0-2,5]), or all of this user's with --me; --signal=KILL kills at once."""
    force = any(word in ("--signal=KILL", "-sKILL", "--signal=9") for word in words)
    complaints = []
    with stage.alone():
        for job in stage.jobs("state IN (?, ?, ?)", *UNDER_WAY) if "--me" in words else []:
            _cancel(stage, job, force=force)
        for word in words:
            if word.startswith("-"):
                continue
            named = _named(stage, word)
            for job in [job for job in named if job.state in UNDER_WAY]:
                _cancel(stage, job, force=force)
            if not named:
                complaints.append(f"Kill job error on job id {word}: Invalid job id specified")
        _begin(stage)
    if complaints:
        raise SlurmError("\nscancel: error: ".join(complaints))
    return ""


def _begin(stage: Stage) -> None:
    if not stage.number("carried"):  # else whoever carries jobs begins them
        begin(stage)


def _cancel(stage: Stage, job: Job, *, force: bool) -> None:
    if job.state == WAITS or not stage.number("carried"):
        stage.end(job, f"CANCELLED by {os.getuid()}")
    elif force or not job.wish:
        stage.change(job, state="COMPLETING", wish="kill" if force else "cancel", wished=time.time())


def _named(stage: Stage, word: str) -> list[Job]:
    base, _, tasks = word.partition("_")
    if not base.isdigit():
        return []
    mine = [job for job in stage.jobs("id = ?", int(base)) if job.state in UNDER_WAY or job.ended > time.time() - 300]
    wanted = set(spelled(tasks.strip("[]"))) if tasks else None
    return [job for job in mine if wanted is None or job.task in wanted]


def spelled(text: str) -> list[int]:
    """0-2,5 as 0, 1, 2, 5."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _tasks(stage: Stage, spelling: str | None) -> tuple[list[int | None], int]:
    if spelling is None:
        return [None], 0
    tasks, _, parallel = spelling.partition("%")
    wanted: list[int | None] = [*spelled(tasks)]
    if max(task or 0 for task in wanted) >= stage.number("max_array_size"):
        raise SlurmError(f"{FAILED}Invalid job array specification")
    return wanted, int(parallel or 0)


def _admit(stage: Stage, size: int) -> None:
    most = int(stage.number("max_submit"))
    there = len(stage.jobs("state IN (?, ?, ?)", *UNDER_WAY)) if most else 0
    if most and there + size > most:
        raise SlurmError(
            f"AssocMaxSubmitJobLimit\nsbatch: error: {FAILED}Job violates accounting/QOS policy (job submit limit)"
        )


def _row(asked: dict[str, str], script: Path) -> dict[str, Any]:
    warning = re.search(r"@(\d+)", asked.get("signal", ""))
    return {
        "name": asked.get("job-name", script.name),
        "user": user(),
        "partition": asked.get("partition", "gpu"),
        "nodes": int(asked.get("nodes", 1)),
        "tasks_per_node": int(asked.get("ntasks-per-node", 1)),
        "cpus_per_task": int(asked.get("cpus-per-task", 1)),
        "minutes": float(asked.get("time", 60)),
        "warns_s": float(warning.group(1)) if warning else 0.0,
        "exclude": asked.get("exclude", ""),
        "output": asked.get("output", "/dev/null"),
        "requeues": int("no-requeue" not in asked),
        "state": WAITS,
        "reason": "Resources",
    }


def _marked(text: str) -> list[str]:
    """The options in the script's own comments."""
    lines = [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH ")]
    return [word for line in lines for word in shlex.split(line)]


def _options(words: Sequence[str]) -> dict[str, str]:
    parts = [word.removeprefix("--").partition("=") for word in words]
    return {name: value for name, _, value in parts}

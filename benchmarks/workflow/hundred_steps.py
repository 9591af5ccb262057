"""A workflow of 100 steps with a fan-out of 64 in ten levels, as the service and as a user of sbatch writes it."""

import subprocess
from pathlib import Path
from typing import Any

FAN, LEVELS, WIDTH = 64, 6, 16  # runs of the fan-out; levels of steps after it, and steps in each
PARTITION = "gpu"
RESOURCES = {"kind": "slurm", "partition": PARTITION, "nodes": 1, "ranks_per_node": 1, "minutes": 5}


def document(first: Path, second: Path, sleep_s: float, code: str) -> dict[str, Any]:
    """Return the workflow, whose runs may be reused; half of its steps descend from the file `first`, the others from
    `second` alone. `code`: the hash of a code snapshot.

    list (of 64 lines) -> fan (64 runs) -> join -> six levels of eight steps -> report; other -> six levels of eight
    steps, less one -> report.
    """

    def base(command: str, **fields: Any) -> dict[str, Any]:
        own = {
            "command": f"sleep {sleep_s}; {command}",
            "outputs": {"out": "out.txt"},
            "resources": RESOURCES,
            "code": code,
        }
        return {"kind": "program", "launcher": "plain", "reuse": True, **own, **fields}

    lines = f"for i in $(seq {FAN}); do echo $(cat {{inputs.file}})-$i; done > {{run_folder}}/out.txt"
    fan = base("echo {x} > {run_folder}/out.txt", parameters={"x": ""})
    steps = [
        {"name": "list", "base": base(lines, inputs={"file": str(first)})},
        {"name": "other", "base": base("cp {inputs.file} {run_folder}/out.txt", inputs={"file": str(second)})},
        {"name": "fan", "base": fan, "over": {"parameters.x": "{steps.list.outputs.out}"}},
        {"name": "join", "base": base("cat {steps.fan.all.outputs.out} > {run_folder}/out.txt")},
    ]
    for level in range(LEVELS):
        for place in range(WIDTH - (level == LEVELS - 1)):
            before = _before(level, place)
            name = name_of(level, place)  # in the command too: of equal steps one would be carried out
            steps.append({"name": name, "base": base(f"cat {before} > {{run_folder}}/out.txt  # {name}")})
    last = " ".join(f"{{steps.{name_of(LEVELS - 1, place)}.outputs.out}}" for place in range(WIDTH - 1))
    steps.append({"name": "report", "base": base(f"cat {last} > {{run_folder}}/out.txt")})
    assert len(steps) == 100
    return {"name": "a hundred steps", "steps": steps}


def name_of(level: int, place: int) -> str:
    """Return the name of a step of a level; the first half of the places descends from the file `first`."""
    return f"s{level}_{place}"


def descendants() -> set[str]:
    """Return the names of the steps that descend from the file `first`."""
    half = {name_of(level, place) for level in range(LEVELS) for place in range(WIDTH // 2)}
    return {"list", "fan", "join", "report", *half}


def levels() -> int:
    """Return the number of levels: of steps on the longest way through the workflow."""
    return 3 + LEVELS + 1


def _before(level: int, place: int) -> str:
    """Return the references of a step to two steps of the level before it, in the same half."""
    if level == 0:
        return "{steps.join.outputs.out}" if place < WIDTH // 2 else "{steps.other.outputs.out}"
    half = WIDTH // 2
    first = place // half * half
    names = [name_of(level - 1, first + other % half) for other in (place - first, place - first + 1)]
    return " ".join(f"{{steps.{name}.outputs.out}}" for name in names)


def submit_by_hand(sleep_s: float) -> list[str]:
    """Submit the same graph with `sbatch --dependency=afterok`, the fan-out as an array; return the ids of the jobs.

    The number of its lines is known beforehand, because Slurm has no step whose tasks another step chooses.
    """
    job_of: dict[str, str] = {}

    def submit(name: str, needs: list[str], *options: str) -> None:
        waits = [f"--dependency=afterok:{':'.join(job_of[need] for need in needs)}"] if needs else []
        command = ["sbatch", "--parsable", "-p", PARTITION, "-n", "1", "-t", "5", "-o", "/dev/null", "-J", name]
        script = ["--wrap", f"sleep {sleep_s}"]
        found = subprocess.run([*command, *waits, *options, *script], check=True, capture_output=True, text=True)
        job_of[name] = found.stdout.strip()

    submit("list", [])
    submit("other", [])
    submit("fan", ["list"], f"--array=0-{FAN - 1}")
    submit("join", ["fan"])
    half = WIDTH // 2
    for level in range(LEVELS):
        for place in range(WIDTH - (level == LEVELS - 1)):
            first = place // half * half
            after = [name_of(level - 1, first + other % half) for other in (place - first, place - first + 1)]
            submit(name_of(level, place), after if level else ["join" if place < half else "other"])
    submit("report", [name_of(LEVELS - 1, place) for place in range(WIDTH - 1)])
    return list(job_of.values())

"""What chaos submits of own programs: launchers, forms of jobs, ways of reporting, and failures on purpose."""

import json
import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.testing.faults.field import PARTITIONS
from tests.testing.faults.programs import script

STEPS, STEP_S, SAVE_EVERY = (40, 120), 0.2, 5
MOST_RUNS = 5
PACKED, ARRAYED = 0.3, 0.4  # of the experiments
FAILING = 0.3  # of the experiments have runs that fail on purpose
STALL_MINUTES = 0.5
HOST_CPUS = 4  # of a host of the lab
PATTERN = r"step (?P<step>\d+) loss (?P<loss>\S+) process (?P<process>\d+)"
SOURCES: dict[str, list[dict[str, str]]] = {
    "log": [],
    "output": [{"kind": "output", "pattern": PATTERN}],
    "lines": [{"kind": "json_lines", "file": "metrics.jsonl"}],
}


class Variant(NamedTuple):
    """A launcher with its ranks, a way of reporting, and whether the program keeps checkpoints."""

    launcher: str
    nodes: int
    ranks: int  # of each node
    way: str  # in SOURCES
    keeps: bool
    weight: int  # how often chaos takes it: torchrun loads torch

    @property
    def name(self) -> str:
        """Return the variant in one word for the report."""
        return f"{self.launcher}/{self.nodes}x{self.ranks}/{self.way}{'' if self.keeps else '/no checkpoint'}"


VARIANTS = (
    Variant("srun", 1, 1, "log", True, 3),
    Variant("srun", 2, 1, "log", True, 2),
    Variant("srun", 1, 2, "output", True, 3),
    Variant("srun", 1, 1, "lines", True, 2),
    Variant("plain", 1, 1, "log", True, 2),
    Variant("plain", 1, 1, "output", False, 3),
    Variant("plain", 1, 1, "lines", False, 1),
    Variant("torchrun", 1, 2, "log", True, 1),
    Variant("torchrun", 2, 1, "output", True, 1),
)


class Load(NamedTuple):
    """An experiment to submit, and the variant of its runs."""

    variant: Variant
    document: str


def choose(dice: random.Random, ledger: Path) -> Load:
    """Return one experiment; `ledger` is the folder in which its runs keep their ledgers."""
    (variant,) = dice.choices(VARIANTS, [variant.weight for variant in VARIANTS])
    form = dice.random()
    may_share = variant.nodes == 1
    is_packed = may_share and form < PACKED
    is_array = form < PACKED + ARRAYED
    runs = dice.randint(2, MOST_RUNS) if (is_packed or is_array) and variant.launcher != "torchrun" else 1
    fails = dice.random() < FAILING
    parameters = {
        "steps": dice.randint(*STEPS),
        "fails": dice.randint(1, 2) if fails else 0,
        "fail_at": dice.randint(3, 12),
        "how": dice.choice(("exit", "raise", "signal")),
        "seed": 0,
    }
    pack = dice.randint(2, HOST_CPUS // variant.ranks) if is_packed and runs > 1 else None
    partition = dice.choice(PARTITIONS)
    return Load(variant, document_of(variant, parameters, ledger, runs=runs, pack=pack, partition=partition))


def document_of(
    variant: Variant,
    parameters: dict[str, Any],
    ledger: Path,
    *,
    runs: int = 1,
    pack: int | None = None,
    partition: str = "gpu",
) -> str:
    """Return an experiment of so many runs of one variant."""
    axes = {"parameters.seed": list(range(runs))}
    base = _base(variant, {"fails": 0, "fail_at": 0, "how": "exit", "seed": 0, **parameters}, ledger)
    base["resources"]["partition"] = partition
    return json.dumps({"name": f"program {variant.name}", "base": base, "axes": axes, "pack": pack})


def _base(variant: Variant, parameters: dict[str, Any], ledger: Path) -> dict[str, Any]:
    words = [sys.executable, "-u", str(Path(script.__file__).resolve()), "--folder", "{run_folder}"]
    words += ["--ledger", str(ledger), "--report", variant.way, "--step-s", str(STEP_S)]
    words += ["--checkpoint", "{checkpoint_folder}/step.json", "--save-every", str(SAVE_EVERY if variant.keeps else 0)]
    words += ["--steps", "{steps}", "--fails", "{fails}", "--fail-at", "{fail_at}", "--how", "{how}"]
    shape = {"nodes": variant.nodes, "ranks_per_node": variant.ranks}
    environment = {"venv": str(Path(sys.executable).parents[1])} if variant.launcher == "torchrun" else {}
    return {
        "kind": "program",
        "command": words,
        "launcher": variant.launcher,
        "parameters": parameters,
        "environment": environment,
        "metrics": SOURCES[variant.way],
        "steps": parameters["steps"],
        "stall_minutes": STALL_MINUTES,
        "resources": {"kind": "slurm", "minutes": 4, **shape},
        "retries": {"failure": 20, "node_failure": 20, "backoff_s": 1, "backoff_most_s": 4},
    }

"""The stream of runs of chaos: half of them engine runs, half own programs, alone, as arrays and in shared jobs."""

import random
import sys
import threading
from pathlib import Path
from typing import Any

from tests.testing.faults import hostile
from tests.testing.faults.field import PARTITIONS, Field
from tests.testing.faults.mishaps import LIGHT_BATCH, REAL_BATCH
from tests.testing.faults.programs import load
from tests.testing.service import ENDED

AT_ONCE, REAL_EVERY = 14, 8  # runs under way; one engine run in so many trains for real
PACKED = 0.4  # of the sweeps have runs that share their jobs
SPEC = """
name: chaos
base:
  optimizer: {{kind: sgd}}
  schedule: {{kind: constant, rate: 0.02}}
  batch: {batch}
  epochs: {epochs}
  resources: {{kind: slurm, partition: {partition}, minutes: 4}}
  retries: {{failure: 20, node_failure: 20, backoff_s: 1, backoff_most_s: 4}}
axes: {{seed: {seeds}}}
{pack}
"""
# agents and packers run as they are; what trains for real has another batch: the program that stands for Python looks
# at the spec
CHOOSE = """\
#!/bin/sh
case " $* " in *"/agent "*) exec {python} "$@";; *" -m trainers.packed_runs "*) exec {python} "$@";; esac
for word in "$@"; do case $word in /*) folder=$word;; esac; done
if grep -q '"batch": {real}' "$folder/spec.json"; then exec {python} "$@"; fi
exec {light} "$@"
"""


def program(home: Path) -> Path:
    """Write the program that takes the place of Python on the compute nodes."""
    path = home / "python"
    path.write_text(CHOOSE.format(real=REAL_BATCH, python=sys.executable, light=hostile.program(home)))
    path.chmod(0o755)
    return path


def submit(field: Field, over: threading.Event, dice: random.Random) -> None:
    """Keep so many runs under way; whatever the API does not answer is asked again under the same key."""
    while not over.wait(1.0):
        count = count_under_way(field)
        if count is None or count >= AT_ONCE:
            continue
        if len(field.programs) <= len(field.engines):
            chosen = load.choose(dice, field.ledger)
            posted = field.service.post_until_answered(chosen.document)
            field.programs |= dict.fromkeys(posted, chosen.variant.name)
        else:
            _submit_engine_runs(field, dice)


def _submit_engine_runs(field: Field, dice: random.Random) -> None:
    is_real = len(field.engines) >= REAL_EVERY * len(field.real)
    seeds = [0] if is_real else list(range(dice.randint(1, 5)))
    batch, epochs = (REAL_BATCH, 2) if is_real else (LIGHT_BATCH, dice.randint(2, 8))
    pack = f"pack: {dice.randint(2, 4)}" if len(seeds) > 1 and dice.random() < PACKED else ""
    asked = {"partition": dice.choice(PARTITIONS), "seeds": seeds, "epochs": epochs, "batch": batch, "pack": pack}
    posted = field.service.post_until_answered(SPEC.format(**asked))
    field.engines += posted
    field.real += posted if is_real else []


def count_under_way(field: Field) -> int | None:
    """How many runs have not ended; None while the API does not say."""
    try:
        experiments = field.service.get("/experiments", limit=500)["items"]
    except Exception:  # it was struck a moment ago
        return None
    return sum(int(count) for item in experiments for state, count in item["counts"].items() if state not in ENDED)


def count_stored(field: Field) -> int:
    """How many runs the service has, whoever was told of them."""
    counts, query = 0, dict[str, Any]()
    while True:
        page = field.service.get("/experiments", limit=500, **query)
        counts += sum(int(count) for item in page["items"] for count in item["counts"].values())
        if page["next"] is None:
            return counts
        query = {"before": page["next"]}

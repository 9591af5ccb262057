"""The seconds in which one rank of thousands plans its part of a collective: `make bench NAME=rank_plans`, two minutes.

CPU seconds of the last rank on 512, 2,176 and 4,096 ranks (hosts of 8), directly and, up to 512 ranks, by making the
sends of all ranks and picking the rank's own.
"""

import json
import os
import platform
import time
from collections.abc import Iterable
from pathlib import Path

from contract.spec.choices import collectives as choices
from trainers.collectives.layout import hosts_of
from trainers.collectives.plan import Round
from trainers.collectives.runners.rank_schedule import rank_schedule
from trainers.plans import plan_of

CHOICES: list[choices.PlannedCollective] = [
    choices.Ring(),
    choices.Torus(),
    choices.Torus(rows=64),
    choices.Tree(),
    choices.Colors(k=4),
    choices.Hierarchical(),
    choices.HalvingDoubling(),
    choices.Server(),
    choices.Server(servers=512),
]
WORLDS, RANKS_PER_HOST, MOST_BY_ALL = (512, 2176, 4096), 8, 512
RESULT = Path(__file__).parent / "results" / "rank_plans.json"


def main() -> None:
    """Measure every collective at every size, print a table and write the report."""
    rows = []
    for world in WORLDS:
        for choice in CHOICES:
            plan = plan_of(choice, hosts_of(world, world // RANKS_PER_HOST))
            own_s = schedule_s(plan.rounds_of(world - 1), world - 1)
            all_s = schedule_s(plan, world - 1) if world <= MOST_BY_ALL else None
            rows.append({"ranks": world, "plan": choices.describe_collective(choice), "own_s": own_s, "all_s": all_s})
            by_all = f"; of all ranks' sends {all_s:.2f} s" if all_s is not None else ""
            print(f"{world:5} ranks, {rows[-1]['plan']:20} {own_s:.3f} CPU s{by_all}")
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    RESULT.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


def schedule_s(rounds: Iterable[Round], rank: int) -> float:
    """Return the CPU seconds to make the schedule of `rank`."""
    start_s = time.process_time()
    rank_schedule(rounds, rank)
    return time.process_time() - start_s


if __name__ == "__main__":
    main()

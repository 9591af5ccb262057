"""Faults of hostile jobs, hung ticks, silent daemons and a full disk, which chaos chooses from as well."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scheduler.app import TICKS
from scheduler.watchdog import EXIT_CODE, PERIODS
from tests.testing.faults import hostile, lab
from tests.testing.faults.audit import FORGED
from tests.testing.faults.field import Field, Mishap
from tests.testing.faults.hanging_worker import LIMIT_S, request_of
from tests.testing.faults.hostile import FAILED, POINT

ATTACKERS = 3  # at once
PICKED_UP_S = 15.0  # a tick comes at least every five seconds
SPEC = """
name: hostile
base:
  optimizer: {{kind: sgd}}
  schedule: {{kind: constant, rate: 0.02}}
  batch: {batch}
  epochs: 1
  resources: {{kind: slurm, partition: gpu, minutes: 4}}
axes: {{seed: {seeds}}}
"""
INVALID: tuple[dict[str, Any], ...] = (
    POINT | {"step": 2**70},
    POINT | {"at": 1e300},
    POINT | {"values": {"lo\0ss": 1.0}},
    FAILED | {"rank": -5},
    {"kind": "finished", "attempt": -1, "at": 1.0, "step": 10},
)


def hostile_runs(batch: int) -> Mishap:
    def strike(on: Field) -> bool:
        names = on.dice.sample(sorted(hostile.SEEDS), ATTACKERS)
        seeds = [hostile.SEEDS[name] for name in names]
        run_ids = on.service.post_until_answered(SPEC.format(batch=batch, seeds=seeds))
        on.hostile.update(zip(run_ids, names, strict=True))
        return True

    return strike


def invalid_lines(on: Field) -> bool:
    """Write lines that are no events among those of a run that trains."""
    run = on.running()
    if not run:
        return False
    lines = [json.dumps(line | {FORGED: True}).encode() for line in INVALID]
    with (Path(run["folder"]) / "events.jsonl").open("ab", buffering=0) as file:
        file.write(b"\n".join([*lines, b"no event \xff", b"[" * 100_000, b""]))
    return True


def tick_hung(on: Field) -> bool:
    """Let a tick of one worker hang, wait until the watchdog has ended that worker, and start another one."""
    name, before = on.dice.choice(sorted(TICKS)), len(on.exit_codes)
    request = request_of(on.home, name)
    request.touch()
    if not _within(PICKED_UP_S, lambda: not request.exists()):
        request.unlink(missing_ok=True)
        return False
    limit_s = max(LIMIT_S, PERIODS * TICKS[name][1])

    def has_ended() -> bool:
        on.restart_ended_workers()
        return EXIT_CODE in on.exit_codes[before:]

    if not _within(limit_s + 2 * LIMIT_S, has_ended):
        on.wrong.append(f"the tick {name} hung, and no watchdog ended its worker")
    return True


def daemon_silent(name: str, longest_s: float) -> Mishap:
    """Stop a daemon of the lab with SIGSTOP for a while: connections to it are made, and it answers none."""

    def strike(on: Field) -> bool:
        lab.freeze_daemon(name)
        try:
            time.sleep(on.dice.uniform(1, longest_s))
        finally:
            lab.thaw_daemon(name)
        return True

    return strike


def disk_full(on: Field) -> bool:
    """Fill the disk of the run folders for a while."""
    filler = on.runs / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            while file.write(b"x" * (1 << 20)):
                pass
    except OSError:
        time.sleep(on.dice.uniform(1, 6))
    finally:
        filler.unlink()
    return True


def _within(seconds: float, is_so: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not (found := is_so()) and time.monotonic() < until:
        time.sleep(0.2)
    return found

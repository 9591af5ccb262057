"""The faults that chaos chooses from: each forces one and mends it, on the lab under a whole team's service."""

import time
from typing import Any

from contract.lifecycle.state import LIVE
from tests.testing.faults import lab
from tests.testing.faults.audit import hosts_of
from tests.testing.faults.field import GRACE, WORKERS, Field, Mishap
from tests.testing.faults.hostile_mishaps import daemon_silent, disk_full, hostile_runs, invalid_lines, tick_hung
from tests.testing.faults.long_mishaps import LONG_MISHAPS
from tests.testing.faults.programs.mishaps import PROGRAM_MISHAPS
from tests.testing.servers import Server

LIGHT_BATCH, REAL_BATCH = 128, 96  # by which the program of the jobs tells a real trainer from a light one


def part_killed(part: str) -> Mishap:
    def strike(on: Field) -> bool:
        on.service.kill(part)
        time.sleep(on.dice.uniform(0, 4))
        if part in WORKERS:
            on.start_worker(part)
        else:
            on.service.start(part)
        if part == "api":
            on.service.wait_for_api()
        return True

    return strike


def answers_spoilt(command: str, fault: str) -> Mishap:
    def strike(on: Field) -> bool:
        calls = on.stage.count_calls(command)
        on.stage.set_fault(command, fault, times=on.dice.randint(1, 2))
        until = time.monotonic() + 15
        while on.stage.count_calls(command) == calls and time.monotonic() < until:
            time.sleep(0.2)
        struck = on.stage.count_calls(command) > calls
        on.stage.set_fault(command, None)
        return struck

    return strike


def server_restarted(name: str) -> Mishap:
    def strike(on: Field) -> bool:
        server: Server = getattr(on, name)
        server.kill()
        time.sleep(on.dice.uniform(0, 4))
        server.start()
        return True

    return strike


def daemon_killed(name: str) -> Mishap:
    def strike(on: Field) -> bool:
        lab.kill_daemon(name)
        time.sleep(on.dice.uniform(0, 6))
        lab.mend()
        return True

    return strike


def rank_killed(on: Field) -> bool:
    run = on.running(kind="engine")
    ranks = lab.ranks_of(run["folder"]) if run else []
    if not ranks:
        return False
    lab.kill(on.dice.choice(ranks))
    return True


def controller_killed_at_a_start(on: Field) -> bool:
    """SIGKILL to slurmctld as soon as Slurm shows one more job as running; it is back a second later."""
    before, until = {job.id for job in lab.jobs()}, time.monotonic() + on.patience_s
    while not any(job.state == "RUNNING" and job.id not in before for job in lab.jobs()):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    lab.kill_daemon("slurmctld")
    time.sleep(1.0)
    lab.mend()
    return True


def preempted(on: Field) -> bool:
    return _preempt(on, on.running())


def preempted_with_a_grace(on: Field) -> bool:
    """Preempt a run of a partition in which Slurm asks the ranks to end, and waits for half a minute."""
    run = on.running()
    return run is not None and run["spec"]["resources"]["partition"] == GRACE and _preempt(on, run)


def _preempt(on: Field, run: dict[str, Any] | None) -> bool:
    hosts = hosts_of(run) if run else []
    return bool(hosts) and lab.tried(lambda: lab.preempt(on.dice.choice(hosts)))


def requeued(on: Field) -> bool:
    run = on.running()
    return run is not None and lab.tried(lambda: lab.requeue(run["job_id"]))


def cancelled_by_hand(on: Field) -> bool:
    run = on.running()
    if not run:
        return False
    live = [other for state in LIVE for other in on.service.get("/runs", state=state, limit=500)["items"]]
    # all runs that share the job are cancelled with it; and a killed controller may have given the job's id to an array
    job_id = run["job_id"]
    hit = [other["id"] for other in live if f"{other['job_id']}_".startswith(f"{job_id}_")]
    on.cancelled.update(hit)
    print(f"scancel {job_id}, of runs {hit}")
    return lab.tried(lambda: lab.slurm("scancel", job_id))


MISHAPS: dict[str, Mishap] = {
    "worker killed": part_killed("worker"),
    "second worker killed": part_killed("worker-2"),
    "clock killed": part_killed("clock"),
    "API killed": part_killed("api"),
    "PostgreSQL restarted": server_restarted("postgres"),
    "Redis flushed and restarted": server_restarted("redis"),
    "slurmctld killed": daemon_killed("slurmctld"),
    "slurmctld killed as a job starts": controller_killed_at_a_start,
    "slurmdbd killed": daemon_killed("slurmdbd"),
    "rank killed": rank_killed,
    "preempted": preempted,
    "preempted with a grace": preempted_with_a_grace,
    "requeued by hand": requeued,
    "cancelled by hand": cancelled_by_hand,
    "sbatch accepted, then timed out": answers_spoilt("sbatch", "accept-then-timeout"),
    "sbatch timed out": answers_spoilt("sbatch", "timeout"),
    "squeue empty": answers_spoilt("squeue", "empty"),
    "squeue partial": answers_spoilt("squeue", "partial"),
    "squeue garbage": answers_spoilt("squeue", "garbage"),
    "squeue slow": answers_spoilt("squeue", "slow=5"),
    "submit limit": answers_spoilt("sbatch", "limit"),
    "hostile runs": hostile_runs(LIGHT_BATCH),
    "more hostile runs": hostile_runs(LIGHT_BATCH),
    "invalid event lines": invalid_lines,
    "tick hung": tick_hung,
    "slurmctld silent": daemon_silent("slurmctld", 8),
    "munge silent": daemon_silent("munged", 8),
    "disk full": disk_full,
    **PROGRAM_MISHAPS,
    **LONG_MISHAPS,
}

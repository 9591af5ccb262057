"""Which jobs may begin: the oldest first, where hosts have the cores that they ask for."""

import time
from collections import Counter, defaultdict

from lab.fake_slurm.state import HELD, RUNS, WAITS, Job, Stage


def begin(stage: Stage) -> list[Job]:
    """Start what there is room for; return these jobs as they were. Whoever calls has the stage alone."""
    waiting = stage.jobs("state = ?", WAITS)
    if not waiting:
        return []
    running = stage.jobs("state IN (?, ?)", *RUNS)
    free = _free(stage, running)
    at_once = Counter(job.id for job in running if job.task is not None)
    begun = []
    for job in waiting:
        if job.eligible > time.time() or job.reason == HELD:
            continue
        if job.parallel and at_once[job.id] >= job.parallel:
            _wait(stage, job, "JobArrayTaskLimit")
        elif hosts := _hosts(job, free):
            for host in hosts:
                free[host] -= job.tasks_per_node * job.cpus_per_task
            at_once[job.id] += 1
            stage.change(job, state="RUNNING", reason="None", hosts=",".join(hosts), started=time.time(), ended=0)
            begun.append(job)
        else:
            _wait(stage, job, "Resources")
            if not any(free.values()):
                break
    return begun


def _free(stage: Stage, running: list[Job]) -> dict[str, int]:
    hosts = dict(stage.db.execute("SELECT name, cpus FROM hosts WHERE NOT down").fetchall())
    free: dict[str, int] = defaultdict(int, hosts)
    for job in running:
        for host in job.hosts.split(","):
            free[host] -= job.tasks_per_node * job.cpus_per_task
    return {host: free[host] for host in hosts}


def _hosts(job: Job, free: dict[str, int]) -> list[str]:
    """As many hosts as the job wants, each with room; none when there are too few."""
    need = job.tasks_per_node * job.cpus_per_task
    fit = [host for host, cpus in free.items() if cpus >= need and host not in job.exclude.split(",")]
    return fit[: job.nodes] if len(fit) >= job.nodes else []


def _wait(stage: Stage, job: Job, reason: str) -> None:
    if job.reason != reason:
        stage.change(job, reason=reason)

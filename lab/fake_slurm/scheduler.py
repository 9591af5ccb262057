"""The fake slurmctld's scheduler: start the oldest jobs first, on hosts with enough free CPUs."""

import time
from collections import Counter, defaultdict

from lab.fake_slurm.state import HELD, ON_HOSTS, PENDING, ClusterState, Job


def start_jobs(cluster: ClusterState) -> list[Job]:
    """Start every pending job that fits, and return these jobs as they were before; call it in a transaction."""
    pending = cluster.jobs("state = ?", PENDING)
    if not pending:
        return []
    on_hosts = cluster.jobs("state IN (?, ?)", *ON_HOSTS)
    free = _free_cpus(cluster, on_hosts)
    running_tasks = Counter(job.id for job in on_hosts if job.task is not None)
    started = []
    for job in pending:
        if job.eligible > time.time() or job.reason == HELD:
            continue
        if job.max_running_tasks and running_tasks[job.id] >= job.max_running_tasks:
            _set_reason(cluster, job, "JobArrayTaskLimit")
        elif hosts := _select_hosts(job, free):
            for host in hosts:
                free[host] -= job.tasks_per_node * job.cpus_per_task
            running_tasks[job.id] += 1
            cluster.update(job, state="RUNNING", reason="None", hosts=",".join(hosts), started=time.time(), ended=0)
            started.append(job)
        else:
            _set_reason(cluster, job, "Resources")
            if not any(free.values()):
                break
    return started


def _free_cpus(cluster: ClusterState, on_hosts: list[Job]) -> dict[str, int]:
    hosts = dict(cluster.db.execute("SELECT name, cpus FROM hosts WHERE NOT down").fetchall())
    free: dict[str, int] = defaultdict(int, hosts)
    for job in on_hosts:
        for host in job.hosts.split(","):
            free[host] -= job.tasks_per_node * job.cpus_per_task
    return {host: free[host] for host in hosts}


def _select_hosts(job: Job, free: dict[str, int]) -> list[str]:
    """Return as many hosts with enough free CPUs as the job requests, or an empty list if there are too few."""
    need = job.tasks_per_node * job.cpus_per_task
    suitable = [host for host, cpus in free.items() if cpus >= need and host not in job.exclude.split(",")]
    return suitable[: job.nodes] if len(suitable) >= job.nodes else []


def _set_reason(cluster: ClusterState, job: Job, reason: str) -> None:
    if job.reason != reason:
        cluster.update(job, reason=reason)

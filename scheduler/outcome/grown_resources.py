"""Grown resources: more memory or time for the next attempt, as far as the partition has it. A pure function."""

import math
from typing import Any

from contract.api.cluster_report import ClusterReport
from contract.lifecycle.exit_cause import ExitCause
from contract.spec.any_run import read_run
from contract.spec.checks.cluster import partition_limits
from contract.spec.resources import Slurm
from scheduler.outcome.facts import RunFacts


def grow_resources(run: RunFacts, cause: ExitCause, report: ClusterReport | None) -> dict[str, Any]:
    """Return the fields of the resources that change for the next attempt, with their new values; empty for none."""
    spec = read_run(run.spec)
    need, growth = spec.resources, spec.retries.growth(cause)
    if not isinstance(need, Slurm):
        return {}
    most = partition_limits(need, report) if report else {}
    wanted = {
        "memory_gb": need.memory_gb and math.ceil(need.memory_gb * growth.memory),
        "minutes": math.ceil(need.minutes * growth.minutes),
    }
    present = {"memory_gb": need.memory_gb, "minutes": need.minutes}
    bounded = {name: min(value, most.get(name, value)) for name, value in wanted.items() if value}
    return {name: value for name, value in bounded.items() if value > (present[name] or 0)}

"""Build the comparisons between the ranks of a run: of their data and of their replicas."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from contract.spec.run import RunSpec
from trainers.build.tensor import Placement
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.ranks.rank_info import RankInfo
from trainers.replicas.comparison import ReplicaComparison
from trainers.replicas.exchange import Comparers
from trainers.replicas.values import Values, values_of_replica
from trainers.training.state import TrainingState


def build_data_comparers(run: RunSpec, rank_info: RankInfo) -> Comparers:
    """Return all ranks, each of which has the data."""
    return Comparers(range(rank_info.world), BackendCollectives(timeout_s=run.collective.timeout_s))


def build_comparison(
    run: RunSpec, state: TrainingState, rank_info: RankInfo, placement: Placement | None
) -> ReplicaComparison:
    """Return the comparison of this rank with those that have the same weights; a single replica has no other."""
    has_others = run.replicas > 1 and run.compare_replicas
    comparers = _comparers(run, rank_info, placement) if has_others else None
    return ReplicaComparison(partial(_values, state), comparers, only_at_start=state.rule.replicas_differ)


def _comparers(run: RunSpec, rank_info: RankInfo, placement: Placement | None) -> Comparers:
    if placement is None:
        return build_data_comparers(run, rank_info)
    size = placement.mesh.shape.size  # the ranks with the same shard have the same place in each replica
    ranks = range(placement.mesh.rank, rank_info.world, size)
    watch = BackendCollectives(group=placement.replicas, timeout_s=run.collective.timeout_s)
    return Comparers(ranks, watch, placement.replicas)


def _values(state: TrainingState) -> Values:
    others: dict[str, Mapping[str, Any]] = {}
    if state.scale is not None:
        others["the loss scale"] = state.scale.state_dict()
    if state.preconditioner is not None:
        others["the preconditioner"] = state.preconditioner.state_dict()
    average = None if state.average is None else state.average.module
    return values_of_replica(state.model, state.optimizer, average=average, others=others)

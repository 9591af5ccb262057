"""The number of loader processes follows from the cpus that a rank has."""

import os
from dataclasses import replace

import pytest

from trainers.ranks.loader_workers import count_workers
from trainers.ranks.rank_info import RankInfo, local_rank_info, read_slurm_rank


@pytest.mark.parametrize(
    ("allowed", "ranks", "cores", "is_cpu", "expected"),
    [
        (64, 4, None, False, 15),  # the ranks of a host share its cpus
        (64, 8, None, False, 7),
        (128, 4, 8, False, 7),  # Slurm reserved 8 for each rank
        (4, 4, 8, False, 3),  # the process is bound to fewer
        (256, 1, None, False, 16),
        (1, 1, None, False, 1),
        (2, 4, None, False, 1),
        (64, 1, None, True, 2),
        (2, 2, None, True, 1),
        (1, 4, None, True, 1),
    ],
)
def test_the_ranks_of_a_host_share_its_cpus_and_one_stays_for_the_rank(
    allowed: int, ranks: int, cores: int | None, is_cpu: bool, expected: int
) -> None:
    rank_info = replace(local_rank_info(0, ranks), cores=cores)
    assert count_workers(None, rank_info, allowed=allowed, is_cpu=is_cpu) == expected


def test_a_number_in_the_spec_is_taken_as_it_is() -> None:
    assert count_workers(0, local_rank_info(0, 4), allowed=64, is_cpu=False) == 0
    assert count_workers(40, local_rank_info(0, 4), allowed=1, is_cpu=True) == 40


def test_a_bound_process_counts_only_the_cpus_of_its_binding() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert count_workers(None, local_rank_info(0, 1), is_cpu=True) == 1
    finally:
        os.sched_setaffinity(0, before)


def test_slurm_tells_the_cpus_of_a_task() -> None:
    variables = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0", "SLURM_CPUS_PER_TASK": "6"}
    rank_info: RankInfo = read_slurm_rank(variables)
    assert count_workers(None, rank_info, allowed=64, is_cpu=False) == 5

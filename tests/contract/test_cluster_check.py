"""Tests of requested resources against the report of a cluster: each contradiction is named with its sum."""

from typing import Any

import pytest

from contract.api.cluster_report import ClusterReport, Node, Partition
from contract.spec.checks.cluster import check_cluster
from contract.spec.checks.memory import ReplicaMemory
from contract.spec.checks.model_size import ModelSize
from contract.spec.resources import Local, Slurm

pytestmark = pytest.mark.ring("quick")


def node(name: str, partitions: list[str], **more: Any) -> Node:
    plain = {"state": "idle", "cpus": 32, "busy_cpus": 0, "memory_mb": 192_000, "gres": "", "features": []}
    return Node.model_validate({"name": name, "partitions": partitions} | plain | more)


def partition(name: str, nodes: int, **more: Any) -> Partition:
    plain = {"is_default": False, "state": "up", "idle_nodes": nodes, "cpus": 32 * nodes, "time_limit": "1-00:00:00"}
    return Partition.model_validate({"name": name, "nodes": nodes, "gres": ""} | plain | more)


GPUS = [node(f"g{number}", ["gpu"], gres="gpu:a100:4(S:0-1)", features=["a100"]) for number in range(3)]
CPUS = [node(f"c{number}", ["cpu"], features=["knl", "quad", "cache"]) for number in range(5)]
LARGE = node("g9", ["gpu"], cpus=64, memory_mb=400_000, gres="gpu:h100:8", features=["h100", "nvme"])
REPORT = ClusterReport(
    partitions=[partition("cpu", 5, is_default=True, time_limit="infinite"), partition("gpu", 4)],
    nodes=[*GPUS, *CPUS, LARGE],
    queue=[],
)


def issues(report: ClusterReport = REPORT, replica: ReplicaMemory | None = None, **fields: Any) -> list[str]:
    found = check_cluster(Slurm.model_validate(fields), report, replica=replica)
    return [f"{issue.path.removeprefix('resources.')}: {issue.message}" for issue in found]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"partition": "gpux"}, "partition: the cluster has no partition gpux; it has cpu, gpu"),
        ({"partition": "gpu,x"}, "partition: the cluster has no partition x; it has cpu, gpu"),
        ({"partition": "gpu", "nodes": 40}, "nodes: 40; partition gpu has 4"),
        ({"partition": "gpu", "minutes": 1441}, "minutes: 1,441 minutes; partition gpu allows 1,440"),
        ({"gres": "gpu:1"}, "gres: no node of partition cpu has gpu:1; its nodes have no devices"),
        (
            {"partition": "gpu", "gres": "gpu:9"},
            "gres: no node of partition gpu has gpu:9; its nodes have gpu:a100:4(S:0-1), gpu:h100:8",
        ),
        (
            {"partition": "gpu", "gres": "nonsense:3"},
            "gres: no node of partition gpu has nonsense:3; its nodes have gpu:a100:4(S:0-1), gpu:h100:8",
        ),
        (
            {"constraint": "knl&snc4"},
            "constraint: no node of partition cpu has knl&snc4; its nodes have cache, knl, quad",
        ),
        (
            {"memory_gb": 188},
            "memory_gb: 188 GB x 1,024 = 192,512 MB; a node of partition cpu has at most 192,000",
        ),
        (
            {"ranks_per_node": 5, "cpus_per_rank": 7},
            "cpus_per_rank: 5 ranks x 7 cpus = 35 cpus per node; partition cpu has at most 32",
        ),
        (
            {"ranks_per_node": 33},
            "ranks_per_node: 33 ranks x 1 cpus = 33 cpus per node; partition cpu has at most 32",
        ),
        ({"partition": "gpu", "nodes": 2, "gres": "gpu:8"}, "nodes: 2; partition gpu has 1 suitable of 4"),
        ({"partition": "cpu,gpu", "nodes": 6}, "nodes: 6; partition cpu, gpu has 5"),
    ],
)
def test_a_contradiction_is_named_with_field_and_sum(fields: dict[str, Any], complaint: str) -> None:
    assert issues(**fields) == [complaint]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"nodes": 5, "ranks_per_node": 32, "memory_gb": 187, "minutes": 10_000},
        {"partition": "gpu", "nodes": 4, "gres": "gpu:4"},
        {"partition": "gpu", "nodes": 3, "gres": "gpu:A100:4", "constraint": "a100"},
        {"partition": "gpu", "gres": "gres:gpu:8", "constraint": "a100|nvme"},
        {"partition": "gpu", "constraint": "[h100*1&a100*2]"},
        {"partition": "gpu", "gres": "none"},
        {"constraint": "knl,quad"},
    ],
)
def test_what_the_cluster_has_is_accepted(fields: dict[str, Any]) -> None:
    assert issues(**fields) == []


def test_what_the_report_does_not_state_is_not_refused() -> None:
    """Forces reports without nodes, without a default partition, and with nodes whose memory is not configured."""
    assert issues(ClusterReport(partitions=[], nodes=[], queue=[]), partition="gpu", nodes=99) == []
    assert issues(ClusterReport(partitions=[partition("gpu", 1)], nodes=[GPUS[0]], queue=[]), nodes=99) == []
    unstated = ClusterReport(
        partitions=[partition("gpu", 1)], nodes=[GPUS[0].model_copy(update={"memory_mb": 1})], queue=[]
    )
    assert issues(unstated, partition="gpu", memory_gb=999) == []


# 10^9 weights in 4 vectors: 16 GB per replica
REPLICA = ReplicaMemory(ModelSize(10**9), vectors=4, center=0, data_bytes=0)


def test_replicas_that_exceed_the_largest_node_are_refused() -> None:
    assert issues(replica=REPLICA, ranks_per_node=12) == []
    (complaint,) = issues(replica=REPLICA, ranks_per_node=13)
    assert complaint == (
        "model: the replicas of a node need 13 x (4 vectors of 3.73 GiB + data 0 B) = 194 GiB; "
        "partition cpu has at most 188 GiB per node"
    )


def test_replicas_that_exceed_the_requested_memory_are_refused() -> None:
    (complaint,) = issues(replica=REPLICA, memory_gb=14)
    assert complaint.endswith("= 14.9 GiB; the request has at most 14 GiB per node")


def test_replicas_on_devices_are_not_compared_with_the_memory_of_the_node() -> None:
    assert issues(replica=REPLICA, partition="gpu", gres="gpu:1", memory_gb=14) == []


def test_replicas_that_exceed_this_machine_are_refused() -> None:
    desk = ClusterReport(partitions=[], nodes=[node("desk", ["local"], memory_mb=32_000)], queue=[])
    assert not list(check_cluster(Local(ranks_per_node=2), desk, replica=REPLICA))
    (issue,) = check_cluster(Local(ranks_per_node=3), desk, replica=REPLICA)
    assert issue.message.endswith("; this machine has at most 31.2 GiB per node")

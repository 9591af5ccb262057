"""One rank of the benchmark of meshes: forward and backward passes of a GPT, and the seconds of their collectives."""

import statistics
import time
from dataclasses import asdict
from typing import Any

import torch
import torch.distributed as dist

from benchmarks.rank_group import run_rank
from benchmarks.tensor.call_watch import CallWatch
from contract.spec.run import RunSpec
from trainers.build.tensor import build_placement
from trainers.collectives.layout import hosts_of
from trainers.collectives.pricing import links
from trainers.collectives.wire.group_connections import connections_of
from trainers.models.gpt import GPT
from trainers.ranks.rank_info import local_rank_info
from trainers.tensor.cross_entropy import ShardedCrossEntropy
from trainers.tensor.group import Group
from trainers.tensor.shard_gpt import shard_gpt

HEADS = 8
SMALL_CALLS = 20
FIGURES = (
    *("rate", "inside_rate", "latency_s", "inside_latency_s", "burst_bytes"),
    *("add_rate", "message_s", "copy_rate", "cores"),
)


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Return the network of the ranks, and for each of the task's sizes the seconds of a pass and of its calls."""
    world, watch = dist.get_world_size(), CallWatch()
    network = measure_network(task["hosts"])
    placement = build_placement(run_of(task, world), local_rank_info(dist.get_rank(), world), timed=watch.wrap)
    assert placement is not None
    smallest_s = time_smallest_call(placement.mesh.groups["all"], watch)
    found = []
    for sizes in task["sizes"]:
        torch.manual_seed(0)
        shape = {name: sizes[name] for name in ("context", "width", "layers")}
        net = shard_gpt(GPT(sizes["vocabulary"], **shape, heads=HEADS), placement.mesh)
        loss = ShardedCrossEntropy(placement.mesh)
        tokens_BT, next_BT = torch.randint(sizes["vocabulary"], (2, sizes["samples"], sizes["context"]))

        def one_pass(net: GPT = net, loss: Any = loss, x_BT: Any = tokens_BT, y_BT: Any = next_BT) -> None:
            torch.autograd.backward(loss(net(x_BT), y_BT))

        found.append(time_passes(one_pass, watch, repeats=task["repeats"]))
    return {"network": network, "smallest_call_s": smallest_s, "passes": found}


def measure_network(hosts: int) -> dict[str, float]:
    """Return the parameters of the network among all ranks, as `auto` measures them."""
    found = links.measure(connections_of(None)).network(hosts_of(dist.get_world_size(), hosts))
    return {name: min(getattr(found, name), 1e18) for name in FIGURES}  # JSON has no infinity


def time_smallest_call(group: Group, watch: CallWatch) -> float:
    """Return the median time of an all-reduce of one word among the ranks of a group."""
    watch.begin(has_barriers=True)
    for _ in range(SMALL_CALLS):
        group.all_reduce(torch.zeros(1))
    return float(watch.seconds_of_all()[1:].median())  # the first call connects the ranks


def time_passes(one_pass: Any, watch: CallWatch, *, repeats: int) -> dict[str, Any]:
    """Return medians over passes as they are in a run, and the fastest time of each call of passes with barriers.

    `communication_s` and `pass_s` are means over the ranks; `transfer_s` is the median sum of the calls that begin
    together.
    """
    one_pass()  # connects the ranks
    spent = []
    for _ in range(repeats):
        dist.barrier()
        watch.begin(has_barriers=False)
        started_s = time.perf_counter()
        one_pass()
        spent.append((watch.seconds, time.perf_counter() - started_s))
    medians = torch.tensor([statistics.median(column) for column in zip(*spent, strict=True)], dtype=torch.float64)
    dist.all_reduce(medians)
    communication_s, pass_s = (medians / dist.get_world_size()).tolist()
    together = []
    for _ in range(repeats):
        watch.begin(has_barriers=True)
        one_pass()
        together.append(watch.seconds_of_all())
    seconds_RC = torch.stack(together)
    fastest_C = seconds_RC.min(dim=0).values
    calls = [{**asdict(call), "seconds": s} for call, s in zip(watch.calls, fastest_C.tolist(), strict=True)]
    return {
        "communication_s": communication_s,
        "pass_s": pass_s,
        "transfer_s": float(seconds_RC.sum(dim=1).median()),
        "fastest_transfer_s": float(fastest_C.sum()),
        "calls": calls,
    }


def run_of(task: dict[str, Any], world: int) -> RunSpec:
    """Return a run on the mesh of the task, of which only the mesh counts."""
    sizes = task["sizes"][0]
    return RunSpec.model_validate(
        {
            "model": {"kind": "gpt", "layers": sizes["layers"], "width": sizes["width"], "heads": HEADS},
            "data": {"kind": "text", "context": sizes["context"], "heldout_samples": 64},
            "optimizer": {"kind": "sgd"},
            "schedule": {"kind": "constant", "rate": 0.1},
            "batch": sizes["samples"],
            "epochs": 1,
            "tensor": {**task["mesh"]},
            "resources": {"kind": "local", "ranks_per_node": world},
        }
    )


def main() -> None:
    """Carry out the task in the environment variable TASK."""
    run_rank(measure)

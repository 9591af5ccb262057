"""The choices of `auto` are stored with the run, and apply to every attempt on the same ranks."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from contract.folder.auto_choice import CollectiveChoice, CollectiveChoices
from contract.folder.events import CollectivesChosen, Started
from contract.folder.run_folder import RunFolder
from contract.spec.choices import collectives as choices
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.jobs import events, finish, losses, prepare, start
from trainers.build import auto_collective, collectives
from trainers.collectives.layout import hosts_of
from trainers.collectives.plans.ring import plan as ring
from trainers.collectives.plans.tree import plan as tree
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import price
from trainers.collectives.pricing.size_classes import cheapest_by_size
from trainers.progress.auto_choice_store import AutoChoiceStore

CPU = torch.device("cpu")


def test_small_vectors_use_the_tree_and_large_vectors_the_ring() -> None:
    network = Network(hosts=hosts_of(8, 8), rate=25e6, latency_s=1e-3)
    prices = [price(plan(network.hosts), network) for plan in (ring, tree)]
    (at_first, small), (boundary, large) = cheapest_by_size(prices)
    assert (at_first, small.kind, large.kind) == (0, "tree", "ring")
    assert prices[1].runner_seconds(boundary // 4) < prices[0].runner_seconds(boundary // 4)
    assert prices[0].runner_seconds(boundary * 2) < prices[1].runner_seconds(boundary * 2)


@pytest.mark.ring("all")
def test_a_run_reports_and_stores_its_choices_and_a_second_attempt_sums_bit_identically(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", collective={"kind": "auto"})
    assert finish(start(folder))[0] == 0
    first_losses, written = losses(folder), (folder.path / "collective.json").read_bytes()
    assert finish(start(folder))[0] == 0
    assert losses(folder) == first_losses * 2
    assert (folder.path / "collective.json").read_bytes() == written
    first, second = [event for event in events(folder) if isinstance(event, CollectivesChosen)]
    assert (first.attempt, first.kept, first.note) == (1, False, None)
    assert (second.attempt, second.kept, second.note) == (2, True, None)
    assert first.choices == second.choices == folder.read_choices()
    assert first.choices.hosts == [4]
    assert first.choices.inside is not None
    assert first.choices.between is None
    assert isinstance(events(folder)[0], Started)


def choose(path: Path, request: choices.Auto, nodes: int) -> tuple[CollectiveChoices, list[tuple[bool, str | None]]]:
    reported: list[tuple[bool, str | None]] = []
    choice_store = AutoChoiceStore(RunFolder(path), lambda _, is_reused, note: reported.append((is_reused, note)))
    hosts = hosts_of(dist.get_world_size(), nodes)
    return auto_collective.choose_collectives(request, hosts, device=CPU, choice_store=choice_store), reported


def test_a_stored_choice_applies_on_all_ranks_independently_of_the_links(tmp_path: Path) -> None:
    """The stored choice differs from the choice by price."""
    odd = CollectiveChoice(from_bytes=0, collective=choices.Server(servers=3, wire="float16", timeout_s=7.0))
    mine = CollectiveChoices(hosts=[2, 2], inside=None, between=None, choices=[odd])
    RunFolder(tmp_path).write_choices(mine)
    results = on_ranks(4, choose, tmp_path, choices.Auto(), 2)
    assert [choice for choice, _ in results] == [mine] * 4
    assert [reported for _, reported in results] == [[(True, None)], [], [], []]


@pytest.mark.ring("all")
def test_a_damaged_or_unsuitable_record_is_replaced_and_reported(tmp_path: Path) -> None:
    """Forces a truncated file, as after a full disk, and then a record of another world."""
    (tmp_path / "collective.json").write_text('{"hosts": [4], "cho')
    chosen, reported = on_ranks(4, choose, tmp_path, choices.Auto(wire="bfloat16", timeout_s=9.0), 1)[0]
    ((is_reused, note),) = reported
    assert not is_reused
    assert note is not None
    assert note.startswith("collective.json could not be read: 1 validation error")
    for choice in chosen.choices:
        assert isinstance(choice.collective, choices.PlannedCollective)
        assert (choice.collective.wire, choice.collective.timeout_s) == ("bfloat16", 9.0)
    assert RunFolder(tmp_path).read_choices() == chosen
    _, reported = on_ranks(2, choose, tmp_path, choices.Auto(), 2)[0]
    assert reported == [(False, "they were for 4 ranks on 1 host, and this attempt has 2 ranks on 2 hosts")]


def summed(path: Path, request: choices.Collective) -> dict[int, Tensor]:
    choice_store = AutoChoiceStore(RunFolder(path), lambda *_: None)
    allreduce = collectives.build_allreduce(request, dist.get_world_size(), choice_store=choice_store)
    parts = {length: torch.full((length,), 1 + dist.get_rank() / 3) for length in (0, 1, 1000, 300_000)}
    for x_N in parts.values():
        allreduce(x_N)
    return parts


def test_each_size_uses_its_chosen_collective(tmp_path: Path) -> None:
    """Small vectors are sent in 16 bits, which shows in their sums, and large vectors in 32 bits."""
    narrow = CollectiveChoice(from_bytes=0, collective=choices.Tree(wire="bfloat16"))
    wide = CollectiveChoice(from_bytes=4096, collective=choices.Ring())
    RunFolder(tmp_path).write_choices(CollectiveChoices(hosts=[4], inside=None, between=None, choices=[narrow, wide]))
    for parts in on_ranks(4, summed, tmp_path, choices.Auto()):
        assert parts[1].item() == 6.0
        assert set(parts[300_000].tolist()) == {parts[300_000][0].item()}
        assert abs(parts[300_000][0].item() - 6) < 1e-6


def test_a_single_rank_may_use_auto(tmp_path: Path) -> None:
    (parts,) = on_ranks(1, summed, tmp_path, choices.Auto())
    assert parts[1000].eq(1).all()

"""What `auto` chooses is recorded with the run, and holds for every attempt on the same ranks."""

from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from contract.folder.auto_choice import Choice, Choices
from contract.folder.events import Chose, Started
from contract.folder.run_folder import RunFolder
from contract.spec.choices import collectives as choices
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.jobs import events, finish, losses, prepare, start
from trainers.build import auto_collective as auto
from trainers.build import collectives
from trainers.collectives.layout import hosts_of
from trainers.collectives.plans.ring import plan as ring
from trainers.collectives.plans.tree import plan as tree
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import price
from trainers.collectives.pricing.size_classes import cheapest
from trainers.progress.auto_choice_store import Kept

CPU = torch.device("cpu")


def test_small_vectors_take_the_tree_and_large_ones_the_ring() -> None:
    network = Network(hosts=hosts_of(8, 8), rate=25e6, latency_s=1e-3)
    prices = [price(plan(network.hosts), network) for plan in (ring, tree)]
    (at_first, small), (boundary, large) = cheapest(prices)
    assert (at_first, small.kind, large.kind) == (0, "tree", "ring")
    assert prices[1].by_runner(boundary // 4) < prices[0].by_runner(boundary // 4)
    assert prices[0].by_runner(boundary * 2) < prices[1].by_runner(boundary * 2)


def test_a_run_says_and_keeps_what_it_chose_and_a_second_attempt_sums_to_the_same_bits(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", collective={"kind": "auto"})
    assert finish(start(folder))[0] == 0
    first_losses, written = losses(folder), (folder.path / "collective.json").read_bytes()
    assert finish(start(folder))[0] == 0
    assert losses(folder) == first_losses * 2
    assert (folder.path / "collective.json").read_bytes() == written
    first, second = [event for event in events(folder) if isinstance(event, Chose)]
    assert (first.attempt, first.kept, first.note) == (1, False, None)
    assert (second.attempt, second.kept, second.note) == (2, True, None)
    assert first.choices == second.choices == folder.read_choices()
    assert first.choices.hosts == [4]
    assert first.choices.inside is not None
    assert first.choices.between is None
    assert isinstance(events(folder)[0], Started)


def settled(path: Path, wish: choices.Auto, nodes: int) -> tuple[Choices, list[tuple[bool, str | None]]]:
    said: list[tuple[bool, str | None]] = []
    kept = Kept(RunFolder(path), lambda _, is_kept, note: said.append((is_kept, note)))
    hosts = hosts_of(dist.get_world_size(), nodes)
    return auto.settle(wish, hosts, device=CPU, kept=kept), said


def test_a_kept_choice_holds_whatever_the_links_are_now_and_all_ranks_know_it(tmp_path: Path) -> None:
    """The kept choice is one that no price would make."""
    odd = Choice(from_bytes=0, collective=choices.Server(servers=3, wire="float16", timeout_s=7.0))
    mine = Choices(hosts=[2, 2], inside=None, between=None, choices=[odd])
    RunFolder(tmp_path).keep_choices(mine)
    results = on_ranks(4, settled, tmp_path, choices.Auto(), 2)
    assert [choice for choice, _ in results] == [mine] * 4
    assert [said for _, said in results] == [[(True, None)], [], [], []]


def test_a_damaged_record_or_one_of_other_ranks_is_replaced_and_said_to_be(tmp_path: Path) -> None:
    """A file that ends in the middle, as after a disk was full, and then a record of another world."""
    (tmp_path / "collective.json").write_text('{"hosts": [4], "cho')
    chosen, said = on_ranks(4, settled, tmp_path, choices.Auto(wire="bfloat16", timeout_s=9.0), 1)[0]
    ((is_kept, note),) = said
    assert not is_kept
    assert note is not None
    assert note.startswith("collective.json could not be read: 1 validation error")
    for choice in chosen.choices:
        assert isinstance(choice.collective, choices.Planned)
        assert (choice.collective.wire, choice.collective.timeout_s) == ("bfloat16", 9.0)
    assert RunFolder(tmp_path).read_choices() == chosen
    _, said = on_ranks(2, settled, tmp_path, choices.Auto(), 2)[0]
    assert said == [(False, "they were for 4 ranks on 1 host, and this attempt has 2 ranks on 2 hosts")]


def summed(path: Path, wish: choices.Collective) -> dict[int, Tensor]:
    kept = Kept(RunFolder(path), lambda *_: None)
    allreduce = collectives.allreduce(wish, dist.get_world_size(), kept=kept)
    parts = {length: torch.full((length,), 1 + dist.get_rank() / 3) for length in (0, 1, 1000, 300_000)}
    for x_N in parts.values():
        allreduce(x_N)
    return parts


def test_each_size_takes_its_own_collective(tmp_path: Path) -> None:
    """Small vectors are told to go over a narrow wire, which their sums show, and large ones as they are."""
    narrow = Choice(from_bytes=0, collective=choices.Tree(wire="bfloat16"))
    wide = Choice(from_bytes=4096, collective=choices.Ring())
    RunFolder(tmp_path).keep_choices(Choices(hosts=[4], inside=None, between=None, choices=[narrow, wide]))
    for parts in on_ranks(4, summed, tmp_path, choices.Auto()):
        assert parts[1].item() == 6.0
        assert set(parts[300_000].tolist()) == {parts[300_000][0].item()}
        assert abs(parts[300_000][0].item() - 6) < 1e-6


def test_one_rank_alone_may_ask_for_auto(tmp_path: Path) -> None:
    (parts,) = on_ranks(1, summed, tmp_path, choices.Auto())
    assert parts[1000].eq(1).all()

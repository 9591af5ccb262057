"""Text through the engine: windows of bytes, a GPT that learns them, and its measures."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from pydantic import ValidationError

from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from contract.validation import issues_of
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.build import data
from trainers.data.text.byte_windows import byte_windows, read_standard_library
from trainers.losses import TokenCrossEntropy
from trainers.models.gpt import GPT
from trainers.progress.reporter import Reporter
from trainers.ranks import rank_info
from trainers.training import engine

TEXT = {"kind": "text", "context": 16, "train_samples": 512, "heldout_samples": 64}
TINY = {"kind": "gpt", "layers": 2, "width": 16, "heads": 2}


def spec(**choices: Any) -> RunSpec:
    base = {
        "model": TINY,
        "data": TEXT,
        "optimizer": {"kind": "adamw"},
        "schedule": {"kind": "constant", "rate": 0.01},
        "batch": 32,
        "epochs": 2,
    }
    return RunSpec.model_validate({**base, **choices})


def trained(path: str, run: str) -> list[tuple[int, dict[str, float]]]:
    """Carry a run out; return the losses and measures of each step that rank 0 reported."""
    folder, here = RunFolder(Path(path)), rank_info.local_rank_info(dist.get_rank(), dist.get_world_size())
    report = Reporter(folder, 1, rank=here.rank)
    engine.make_loop(RunSpec.model_validate_json(run), here, device=torch.device("cpu"), report=report).train()
    dist.barrier()
    reported = [event_reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
    return [
        (event.step, {name: value for name, value in event.values.items() if value is not None and _is_result(name)})
        for event in reported
        if isinstance(event, Points)
    ]


def _is_result(name: str) -> bool:
    return name == "loss" or name.startswith("heldout")


@pytest.mark.ring("all")
def test_the_loss_of_a_gpt_falls_and_two_ranks_have_the_losses_of_one(tmp_path: Path) -> None:
    reported = {}
    for ranks, micro_batch in ((1, None), (2, 8)):
        run = spec(resources={"kind": "local", "ranks_per_node": ranks}, micro_batch=micro_batch)
        (tmp_path / str(ranks)).mkdir()
        reported[ranks] = on_ranks(ranks, trained, str(tmp_path / str(ranks)), run.model_dump_json())[0]
    for (step, one), (also, two) in zip(reported[1], reported[2], strict=True):
        assert step == also
        assert two == pytest.approx(one, rel=1e-3)
    losses = [values["loss"] for _, values in reported[1] if "loss" in values]
    assert losses[0] == pytest.approx(math.log(256), rel=0.05)  # all bytes equally likely
    assert losses[-1] < losses[0] - 1
    last = reported[1][-1][1]
    assert last["heldout_perplexity"] == pytest.approx(math.exp(last["heldout_loss"]))
    assert last["heldout_bits_per_byte"] == pytest.approx(last["heldout_loss"] / math.log(2))
    assert 0.05 < last["heldout_accuracy"] < 1


def test_windows_cover_a_text_and_targets_are_the_next_bytes(tmp_path: Path) -> None:
    text = bytes(range(41))
    (tmp_path / "text").write_bytes(text)
    train, heldout = byte_windows(tmp_path / "text", context=8, train_samples=4, heldout_samples=1)
    tokens_BT, next_BT = train.batch(torch.arange(4))
    also, _ = heldout.batch(torch.arange(1))
    assert torch.equal(next_BT, tokens_BT + 1)
    assert sorted(torch.cat([tokens_BT, also]).flatten().tolist()) == list(range(40))
    assert tokens_BT.dtype == next_BT.dtype == torch.int64


def test_a_text_that_is_too_short_is_named_with_the_sum(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"x" * 40)
    with pytest.raises(ValueError, match=r"text has 4 windows of 9 bytes, and the spec states 4 \+ 1 = 5"):
        byte_windows(tmp_path / "text", context=9, train_samples=4, heldout_samples=1)


def test_the_standard_library_is_a_text_of_megabytes() -> None:
    text = read_standard_library()
    assert len(text) > 3_000_000
    assert text.count(b"def ") > 1000
    train, heldout = data.build_data(spec().data, 0)
    assert (len(train), len(heldout)) == (512, 64)


def test_the_loss_of_equal_micro_batches_is_the_loss_of_the_batch() -> None:
    logits, target = torch.randn(4, 3, 7), torch.randint(7, (4, 3))
    loss = TokenCrossEntropy()
    halves = [loss(logits[part], target[part]) for part in (slice(2), slice(2, 4))]
    assert float(sum(halves)) / 2 == pytest.approx(float(loss(logits, target)))


def test_a_position_sees_no_later_token() -> None:
    torch.manual_seed(0)
    net = GPT(11, context=6, width=8, layers=2, heads=2)
    tokens_BT = torch.randint(11, (1, 6))
    changed_BT = tokens_BT.clone()
    changed_BT[0, 4] = (changed_BT[0, 4] + 1) % 11
    before, after = net(tokens_BT), net(changed_BT)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


@pytest.mark.parametrize("is_tied", [True, False])
def test_the_number_of_parameters_is_that_of_the_docstring(is_tied: bool) -> None:
    net = GPT(50, context=9, width=12, layers=3, heads=2, has_tied_head=is_tied)
    tables = 50 * (1 if is_tied else 2) + 9
    assert sum(p.numel() for p in net.parameters()) == tables * 12 + 3 * (12 * 144 + 13 * 12) + 24


@pytest.mark.parametrize(
    ("choices", "path", "message"),
    [
        ({"data": {"kind": "digits"}}, "model", "gpt needs text, but digits has images"),
        ({"data": {"kind": "reversal"}}, "model", "gpt needs text, but reversal has sentence pairs"),
        ({"model": {"kind": "lenet"}}, "model", "lenet needs images, but text has text"),
        ({"model": TINY | {"heads": 3}}, "model.heads", "a width of 16 does not divide into 3 heads"),
    ],
)
def test_a_net_and_data_that_do_not_fit_are_refused(choices: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        spec(**choices)
    (fault,) = issues_of(caught.value)
    assert (fault.path, fault.message) == (path, message)

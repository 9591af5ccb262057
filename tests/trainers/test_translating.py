"""Sentence pairs through the engine: two ranks do what one does, in buckets; what does not fit is refused."""

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
from trainers.progress.reporter import Reporter
from trainers.ranks import rank_info
from trainers.training import engine

PAIRS = {"kind": "reversal", "vocabulary": 12, "max_length": 6, "train_samples": 64, "heldout_samples": 21}
TINY = {"kind": "gnmt", "layers": 2, "units": 8, "dropout": 0.0}


def spec(**choices: Any) -> RunSpec:
    base = {
        "model": TINY,
        "data": PAIRS,
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "constant", "rate": 0.05},
        "batch": 16,
        "epochs": 2,
    }
    return RunSpec.model_validate({**base, **choices})


def trained(path: str, run: str) -> list[tuple[int, dict[str, float | None]]]:
    """Carry a run out; return what rank 0 said of its losses and its held-out tokens."""
    folder, here = RunFolder(Path(path)), rank_info.local_rank_info(dist.get_rank(), dist.get_world_size())
    report = Reporter(folder, 1, rank=here.rank)
    engine.make_loop(RunSpec.model_validate_json(run), here, device=torch.device("cpu"), report=report).train()
    dist.barrier()
    reported = [event_reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
    names = ("loss", "heldout_loss", "heldout_accuracy")
    return [
        (event.step, {name: event.values[name] for name in names if name in event.values})
        for event in reported
        if isinstance(event, Points)
    ]


@pytest.mark.ring("all")
def test_two_ranks_and_two_passes_have_the_losses_of_one(tmp_path: Path) -> None:
    """Sentences of a rank are short or long as they happen to be: a mean over tokens would differ here."""
    reported = {}
    for ranks, micro_batch in ((1, None), (2, 4)):
        run = spec(resources={"kind": "local", "ranks_per_node": ranks}, micro_batch=micro_batch)
        (tmp_path / str(ranks)).mkdir()
        reported[ranks] = on_ranks(ranks, trained, str(tmp_path / str(ranks)), run.model_dump_json())[0]
    assert [step for step, _ in reported[1]] == [step for step, _ in reported[2]]
    assert sum("heldout_accuracy" in values for _, values in reported[1]) == 2
    for (_, one), (_, two) in zip(reported[1], reported[2], strict=True):
        assert two == pytest.approx(one, rel=1e-4)
    first, last = (values["heldout_loss"] for _, values in reported[1] if "heldout_loss" in values)
    assert first is not None
    assert last is not None
    assert last < first


def test_a_step_s_sentences_are_about_equally_long() -> None:
    train, _ = data.build_data(spec().data, 0)
    order_N = torch.randperm(64, generator=torch.Generator().manual_seed(1))

    def padding(order_N: torch.Tensor) -> int:
        return sum(int((train.batch(batch_B)[1] == 0).sum()) for batch_B in torch.split(order_N, 16))

    assert padding(train.arrange(order_N, 16)) < padding(order_N) / 2


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"data": {"kind": "digits"}}, "gnmt needs sentence pairs, but digits has images"),
        ({"model": {"kind": "resnet18"}}, "resnet18 needs images, but reversal has sentence pairs"),
    ],
)
def test_a_net_and_data_that_do_not_fit_are_refused(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        spec(**choices)
    (fault,) = issues_of(caught.value)
    assert (fault.path, fault.message) == ("model", message)


def test_a_file_of_other_pairs_than_stated_is_named_with_the_sum(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a b\tx y\nb\ty\nc\tz\n")
    stated = {"kind": "pairs", "path": f"{tmp_path}/pairs.tsv", "vocabulary": 20, "heldout_samples": 1}
    train, heldout = data.build_data(spec(data={**stated, "train_samples": 2}, batch=2).data, 0)
    assert (len(train), len(heldout)) == (2, 1)
    with pytest.raises(ValueError, match=r"pairs.tsv has 3 pairs, and the spec states 5 \+ 1 = 6"):
        data.build_data(spec(data={**stated, "train_samples": 5}, batch=2).data, 0)

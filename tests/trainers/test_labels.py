"""A user's labels are classes: of any type of integers, and refused by set and sample where they are none."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import Subset, TensorDataset

from contract.folder.events import Points
from contract.spec.run import RunSpec
from tests.testing.trainers.attempts import attempt
from tests.testing.trainers.jobs import events, prepare
from tests.testing.trainers.own_data import CLASSES, Labelled
from trainers.build.data import build_data
from trainers.data import label_search
from trainers.data.label_search import search_labels, shown_labels
from trainers.data.loader import load
from trainers.data.sample_split import SampleSplit

HERE = "tests.testing.trainers.own_data"
WRONG = r"label {} of sample {} of the {} set of .*own_data:labelled: the 4 classes are 0 to 3; .* `classes: null`"


def split_of(dataset: Any, classes: int | None = CLASSES) -> SampleSplit:
    return SampleSplit(dataset, "the set", 0, classes=classes)


def data_of(**options: Any) -> dict[str, Any]:
    stated = {"shape": [1, 8, 8], "classes": CLASSES, "train_samples": 64, "heldout_samples": 64}
    return {"kind": "import", "function": f"{HERE}:labelled", "options": options, **stated}


@pytest.mark.parametrize(("wrong", "label", "set_"), [(0, 4, "train"), (5, -100, "train"), (63, 7, "heldout")])
def test_a_label_that_is_no_class_is_found_before_the_first_step_wherever_it_stands(
    wrong: int, label: int, set_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch ignores -100 without a word, so that the other samples of the batch weigh more."""
    monkeypatch.setattr(label_search, "LIMIT_S", math.inf)
    run = RunSpec.model_validate(
        {
            "data": data_of(wrong=wrong, label=label, set_=set_),
            "optimizer": {"kind": "sgd"},
            "schedule": {"kind": "constant", "rate": 0.1},
            "batch": 8,
            "epochs": 1,
        }
    )
    named = {"train": "training", "heldout": "held-out"}[set_]
    with pytest.raises(ValueError, match=WRONG.format(label, wrong, named)):
        build_data(run.data, 0)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_run_with_a_label_that_is_no_class_ends_before_its_first_step(ranks: int, tmp_path: Path) -> None:
    folder = prepare(
        tmp_path,
        data=data_of(wrong=50),
        model={"kind": "convnet", "width": 4},
        optimizer={"kind": "sgd"},
        schedule={"kind": "constant", "rate": 0.1},
        batch=12,
        collective={"kind": "native"},
        resources={"kind": "local", "ranks_per_node": ranks},
    )
    assert 0 not in attempt(folder, 1)
    assert not any(isinstance(event, Points) for event in events(folder))
    notes = "".join(path.read_text() for path in folder.path.glob("attempts/1.rank-*.json"))
    assert "label -100 of sample 50 of the held-out set" in notes


@pytest.mark.parametrize("workers", [0, 1])
def test_a_batch_with_a_label_that_is_no_class_is_refused_in_any_process(workers: int) -> None:
    split = split_of(Labelled(20, wrong={13: CLASSES}))
    batches = load(split, [torch.tensor([2, 9]), torch.tensor([4, 13, 8])], workers=workers)
    assert next(batches)[1].tolist() == [2, 1]
    with pytest.raises(ValueError, match=r"^label 4 of sample 13 of the set: the 4 classes are 0 to 3; "):
        next(batches)
    batches.close()


def test_a_voxel_whose_label_is_no_class_names_its_sample() -> None:
    y_NZYX = torch.zeros(6, 2, 2, 2, dtype=torch.uint8)
    y_NZYX[4, 1, 0, 1] = 255
    split = split_of(TensorDataset(torch.zeros(6, 1, 2, 2, 2), y_NZYX))
    with pytest.raises(ValueError, match="label 255 of sample 4 of the set"):
        split.batch(torch.tensor([1, 4, 2]))


@pytest.mark.parametrize(
    "like",
    [
        *(int, bool, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.uint64, np.bool_),
        *(np.asarray, torch.tensor, lambda label: torch.tensor(label, dtype=torch.uint8)),
    ],
)
def test_labels_of_every_type_of_integers_become_int64(like: Any) -> None:
    split = split_of([(torch.zeros(2), like(label)) for label in (1, 0, 1)], classes=2)
    _, y_B = split.batch(torch.tensor([0, 1, 2]))
    assert (y_B.dtype, y_B.tolist()) == (torch.int64, [1, 0, 1])


def test_a_number_with_a_fraction_is_no_class_in_any_batch() -> None:
    split = split_of(Labelled(8, wrong={6: 2.0}))
    with pytest.raises(ValueError, match=r"a target of the set is no number of a class but float.*4 classes"):
        split.batch(torch.tensor([6, 7]))


def test_targets_that_are_no_classes_stay_as_they_are() -> None:
    split = split_of(Labelled(8, wrong={6: -100}, like=np.int16), classes=None)
    search_labels(split)
    assert split.batch(torch.tensor([5, 6]))[1].tolist() == [1, -100]
    assert split.batch(torch.tensor([5]))[1].dtype == torch.int16


@pytest.mark.parametrize("world", [1, 2, 3])
def test_the_ranks_divide_the_samples_that_they_read_before_the_first_step(world: int) -> None:
    read = []
    for rank in range(world):
        dataset = Labelled(20)
        search_labels(split_of(dataset), rank=rank, world=world, limit_s=math.inf)
        assert len(dataset.read) in (20 // world, 20 // world + 1)
        read += dataset.read
    assert sorted(read) == list(range(20))


def test_a_search_without_time_reads_one_sample() -> None:
    dataset = Labelled(20)
    search_labels(split_of(dataset), limit_s=0)
    assert len(dataset.read) == 1


class Shown(Labelled):
    """A set that shows its labels, as those of torchvision do; `moved`: by how much those of its samples differ."""

    def __init__(self, targets: Any, *, moved: int = 0) -> None:
        super().__init__(len(targets))
        self.targets, self.moved = targets, moved

    def __getitem__(self, number: int) -> tuple[Any, Any]:
        return super().__getitem__(number)[0], int(self.targets[number]) + self.moved


@pytest.mark.parametrize("make", [list, tuple, np.array, torch.tensor, lambda it: np.array(it, np.uint8)])
def test_a_set_that_shows_its_labels_is_searched_as_a_whole_without_reading_it(make: Any) -> None:
    dataset = Shown(make([number % CLASSES for number in range(1000)]))
    search_labels(split_of(dataset), limit_s=0)
    assert len(dataset.read) == 3
    dataset = Shown(make([number % CLASSES for number in range(999)] + [9]))
    with pytest.raises(ValueError, match="label 9 of sample 999"):
        search_labels(split_of(dataset), limit_s=0)
    with pytest.raises(ValueError, match="label 9 of sample 1 "):
        search_labels(split_of(Subset(dataset, [4, 999, 3])), limit_s=0)


@pytest.mark.parametrize("moved", [-1, 1])
def test_the_labels_of_samples_count_where_a_set_shows_others(moved: int) -> None:
    """torchvision's target_transform changes the labels of samples and not the attribute."""
    shown = [number % CLASSES - moved for number in range(8)]
    good = Shown(shown, moved=moved)
    search_labels(split_of(good), limit_s=math.inf)
    assert set(good.read) == set(range(8))
    with pytest.raises(ValueError, match="of sample"):
        search_labels(split_of(Shown([number % CLASSES for number in range(8)], moved=moved)), limit_s=math.inf)


class Showing(Labelled):
    """A set that shows labels where a test sets them."""

    targets: Any
    labels: Any


def test_what_is_no_whole_number_for_each_sample_is_no_label() -> None:
    dataset = Showing(4)
    for shown in (["a", "b", "c", "d"], [0.0, 1.0, 2.0, 3.0], [0, 1], None, torch.zeros(4, 2, dtype=torch.int64), len):
        dataset.targets = shown
        assert shown_labels(dataset) is None
    dataset.labels = [3, 2, 1, 0]
    assert as_list(shown_labels(dataset)) == [3, 2, 1, 0]
    tensors = TensorDataset(torch.zeros(3, 2), torch.tensor([2, 0, 1], dtype=torch.int16))
    assert as_list(shown_labels(Subset(tensors, [2, 0]))) == [1, 2]
    assert shown_labels(Subset(dataset.labels, [1])) is None


def as_list(label_N: Tensor | None) -> list[int]:
    assert label_N is not None
    return [int(label) for label in label_N]

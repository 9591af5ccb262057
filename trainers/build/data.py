"""Build the splits of a data set."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import assert_never

import torch.distributed as dist

from contract.settings import Settings
from contract.spec.choices import data as choices
from contract.spec.choices.augmentations import Augmentation, FirstAugmentation, ImportedAugmentation
from trainers.build.imported import describe, make_callable, make_part
from trainers.data.augmented_split import AugmentedSplit
from trainers.data.images.bad_images import BadImages
from trainers.data.images.image_folder import check_counts, list_images
from trainers.data.images.image_list import select_listed
from trainers.data.images.image_split import Images, new_bad_marks
from trainers.data.images.sent_list import FolderLists, list_once
from trainers.data.label_search import search_labels
from trainers.data.memory_store.sample_store import Files, SampleStore
from trainers.data.sample_split import SampleSplit, check_dataset, check_sample
from trainers.data.shards.shard_index import read_index
from trainers.data.sources.bodies import bodies
from trainers.data.sources.digits import digits
from trainers.data.sources.glyphs import glyphs
from trainers.data.sources.synthetic import synthetic
from trainers.data.split import Split
from trainers.data.text.byte_windows import byte_windows
from trainers.data.text.reversal import reversal
from trainers.data.text.sentence_pairs import read_pairs
from trainers.generators.seeds import alike


def build_data(
    choice: choices.Data, seed: int, *, augmentation: Augmentation | None = None, bad_images: Path | None = None
) -> tuple[Split, Split]:
    """Return the training and the held-out split; `bad_images`: folder in which ranks record undecodable files."""
    if not isinstance(augmentation, ImportedAugmentation):
        first = augmentation.kind if augmentation else "crop_mirror"
        return _build_splits(choice, seed, first=first, bad_images=bad_images)
    train, heldout = _build_splits(choice, seed, first=augmentation.first, bad_images=bad_images)
    make = partial(make_callable, augmentation.function, **augmentation.options)
    with alike(seed, "augmentation"):
        make()  # an error is the rank's error and not that of a loader process
    return AugmentedSplit(train, make, augmentation.function, seed), heldout


def _build_splits(
    choice: choices.Data, seed: int, *, first: FirstAugmentation, bad_images: Path | None
) -> tuple[Split, Split]:
    match choice:
        case choices.Bodies():
            return _build_bodies(choice, seed)
        case choices.Digits():
            return digits()
        case choices.Folder() | choices.Shards():
            return _build_images(choice, seed, first=first, bad_images=bad_images)
        case choices.Glyphs():
            return glyphs(
                choice.classes,
                train_samples=choice.train_samples,
                heldout_samples=choice.heldout_samples,
                cache=Settings().cache_folder(),
            )
        case choices.Synthetic():
            return synthetic(
                choice.shape,
                choice.classes,
                train_samples=choice.train_samples,
                heldout_samples=choice.heldout_samples,
                seed=seed,
            )
        case choices.Reversal():
            return reversal(
                choice.vocabulary,
                train_samples=choice.train_samples,
                heldout_samples=choice.heldout_samples,
                max_length=choice.max_length,
                seed=seed,
            )
        case choices.Pairs():
            return _build_pairs(choice)
        case choices.Text():
            return _build_text(choice)
        case choices.ImportedData():
            return _build_own(choice, seed)
        case _:
            assert_never(choice)


def _build_bodies(choice: choices.Bodies, seed: int) -> tuple[Split, Split]:
    return bodies(choice.edge, train_samples=choice.train_samples, heldout_samples=choice.heldout_samples, seed=seed)


def _build_text(choice: choices.Text) -> tuple[Split, Split]:
    return byte_windows(
        Path(choice.path) if choice.path else None,
        context=choice.context,
        train_samples=choice.train_samples,
        heldout_samples=choice.heldout_samples,
    )


def _build_own(choice: choices.ImportedData, seed: int) -> tuple[Split, Split]:
    """Return a user's data sets; raise TypeError or ValueError if they are not as the spec states."""
    with alike(seed, "data"):
        made = make_part(choice)
    if not isinstance(made, tuple | list) or len(made) != 2:
        message = f"{choice.function} returned {describe(made)}, not a pair of data sets: training and held-out"
        raise TypeError(message)
    names = f"the training set of {choice.function}", f"the held-out set of {choice.function}"
    for dataset, name, samples in zip(made, names, (choice.train_samples, choice.heldout_samples), strict=True):
        check_dataset(dataset, name, samples=samples)
    train, heldout = (SampleSplit(of, name, seed, classes=choice.classes) for of, name in zip(made, names, strict=True))
    rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    for split in (train, heldout):
        check_sample(split, tuple(choice.shape))
        search_labels(split, rank=rank, world=world)
    return train, heldout


def _build_pairs(choice: choices.Pairs) -> tuple[Split, Split]:
    """Read the pairs; raise ValueError if their number differs from the spec."""
    train, heldout, _ = read_pairs(
        Path(choice.path),
        heldout_samples=choice.heldout_samples,
        vocabulary_size=choice.vocabulary,
        max_length=choice.max_length,
    )
    if len(train) != choice.train_samples:
        stated = f"{choice.train_samples} + {choice.heldout_samples} = {choice.train_samples + choice.heldout_samples}"
        raise ValueError(f"{choice.path} has {len(train) + len(heldout)} pairs, and the spec states {stated}")
    return train, heldout


def _build_images(
    choice: choices.Folder | choices.Shards, seed: int, *, first: FirstAugmentation, bad_images: Path | None
) -> tuple[Split, Split]:
    """Read the folder or the index; raise ValueError or ShardError if its content differs from the spec."""
    assert bad_images is not None, "the bad images of a run are recorded in the run folder"
    train, heldout = _list_files(choice)
    bad = BadImages(bad_images, choice.max_bad_images)
    images = partial(Images, size=choice.size, mean=choice.mean, deviation=choice.deviation, bad=bad)
    memory = _build_memory(choice.in_memory, train, shared=choice.workers != 0) if choice.in_memory else None
    train_images = images(train, is_bad_N=new_bad_marks(len(train.labels)), seed=seed, store=memory)
    chosen = replace(train_images, crops="crop" in first, mirrors="mirror" in first, is_fixed=first.startswith("fixed"))
    return chosen, images(heldout, is_bad_N=new_bad_marks(len(heldout.labels)))


def _list_files(choice: choices.Folder | choices.Shards) -> tuple[Files, Files]:
    if isinstance(choice, choices.Folder):
        lists = list_once(partial(_list_folder, choice))  # thousands of ranks would scan the folder at once
        return lists.train, lists.heldout
    root = Path(choice.path)
    images, heldout, classes = read_index(root)
    train = images if choice.image_list is None else select_listed(images, root, Path(choice.image_list))
    _check_files(choice, train, heldout, classes)
    return train, heldout


def _list_folder(choice: choices.Folder) -> FolderLists:
    root = Path(choice.path)
    files, heldout, names = list_images(root, heldout_samples=choice.heldout_samples)
    train = files if choice.image_list is None else select_listed(files, root, Path(choice.image_list))
    _check_files(choice, train, heldout, len(names))
    return FolderLists(train, heldout, len(names))


def _check_files(choice: choices.Folder | choices.Shards, train: Files, heldout: Files, classes: int) -> None:
    found = classes, len(train.labels), len(heldout.labels)
    check_counts(Path(choice.path), found, (choice.classes, choice.train_samples, choice.heldout_samples))


def _build_memory(choice: choices.InMemory, files: Files, *, shared: bool) -> SampleStore:
    """Return the shared memory of this rank's group; all ranks create all groups in the same order."""
    world, rank = dist.get_world_size(), dist.get_rank()
    size = choice.group or world
    groups = [dist.new_group(list(range(first, first + size)), backend="gloo") for first in range(0, world, size)]
    return SampleStore(files, groups[rank // size], shared=shared)

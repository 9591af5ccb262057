"""The splits of a data set."""

from functools import partial
from pathlib import Path
from typing import assert_never

import torch.distributed as dist

from contract.settings import Settings
from contract.spec.choices import data as choices
from trainers.data.images.bad_images import BadImages
from trainers.data.images.image_folder import Listing, agree, listings
from trainers.data.images.image_split import Images, bad_marks
from trainers.data.memory_store.sample_store import Memory
from trainers.data.sources.digits import digits
from trainers.data.sources.glyphs import glyphs
from trainers.data.sources.synthetic import synthetic
from trainers.data.split import Split
from trainers.data.text.reversal import reversal
from trainers.data.text.sentence_pairs import read_pairs


def data(choice: choices.Data, seed: int, *, bad_images: Path | None = None) -> tuple[Split, Split]:
    """The training and the held-out split; `bad_images`: where all ranks note files that cannot be decoded."""
    match choice:
        case choices.Digits():
            return digits()
        case choices.Folder():
            return _folder(choice, seed, bad_images)
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
            return _pairs(choice)
        case _:
            assert_never(choice)


def _pairs(choice: choices.Pairs) -> tuple[Split, Split]:
    """Read the pairs and see that they are as many as the spec states."""
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


def _folder(choice: choices.Folder, seed: int, bad_images: Path | None) -> tuple[Split, Split]:
    """Read the folder and see that it holds what the spec states."""
    assert bad_images is not None, "a folder's bad images are noted in the run's own folder"
    root = Path(choice.path)
    train, heldout, classes = listings(root, heldout_samples=choice.heldout_samples)
    stated = (choice.classes, choice.train_samples, choice.heldout_samples)
    agree(root, (len(classes), len(train), len(heldout)), stated)
    bad = BadImages(bad_images, choice.max_bad_images)
    images = partial(Images, size=choice.size, mean=choice.mean, deviation=choice.deviation, bad=bad)
    memory = _memory(choice.in_memory, train, shared=choice.workers > 0) if choice.in_memory else None
    return (
        images(train, is_bad_N=bad_marks(len(train)), seed=seed, memory=memory),
        images(heldout, is_bad_N=bad_marks(len(heldout))),
    )


def _memory(choice: choices.InMemory, files: Listing, *, shared: bool) -> Memory:
    """The memory of this rank's group; all ranks make all groups, in the same order."""
    world, rank = dist.get_world_size(), dist.get_rank()
    size = choice.group or world
    groups = [dist.new_group(list(range(first, first + size)), backend="gloo") for first in range(0, world, size)]
    return Memory(files, groups[rank // size], shared=shared)

"""The splits of a data set."""

from typing import assert_never

from contract.choices import data as choices
from contract.settings import Settings
from trainers.data.digits import digits
from trainers.data.glyphs import glyphs
from trainers.data.split import Split
from trainers.data.synthetic import synthetic


def data(choice: choices.Data, seed: int) -> tuple[Split, Split]:
    """The training and the held-out split."""
    match choice:
        case choices.Digits():
            return digits()
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
        case _:
            assert_never(choice)

"""The command `python -m trainers.data.dedup.glyph_folder FOLDER`: write glyphs of which some are altered copies.

FOLDER becomes an image folder with train/ and val/. The first digits of a file's name are its number; a copy's name
ends with the number of its original. The same options make the same files.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from trainers.data.dedup.altered_copies import DUPLICATES, inject
from trainers.data.sources.glyphs import CHARACTERS, glyphs


def main() -> None:
    """Carry out the command."""
    parser = argparse.ArgumentParser(
        prog="python -m trainers.data.dedup.glyph_folder", description="Write glyphs with altered copies."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--classes", type=int, default=10, choices=range(2, len(CHARACTERS) + 1), metavar="N")
    parser.add_argument("--train", type=int, default=2048, metavar="N", help="number of training images")
    parser.add_argument("--heldout", type=int, default=512, metavar="N", help="number of held-out images")
    parser.add_argument("--share", type=float, default=DUPLICATES, help="of the training images that are copies")
    parser.add_argument("--seed", type=int, default=0, help="decides which images are copied and how")
    options = parser.parse_args()
    write_glyphs(
        options.folder,
        classes=options.classes,
        train_samples=options.train,
        heldout_samples=options.heldout,
        share=options.share,
        seed=options.seed,
    )


def write_glyphs(
    folder: Path, *, classes: int, train_samples: int, heldout_samples: int, share: float, seed: int
) -> None:
    """Write the images; a copy has the class of its original."""
    with tempfile.TemporaryDirectory() as cache:
        train, heldout = glyphs(
            classes, train_samples=train_samples, heldout_samples=heldout_samples, cache=Path(cache)
        )
        images, heldout_NHW = (split.x_N1HW[:, 0].numpy().copy() for split in (train, heldout))
    made = inject(images, share, seed)
    y_N, heldout_y_N = train.y_N.numpy()[made.original_N], heldout.y_N.numpy()
    for number, (x_HW, original) in enumerate(zip(made.x_N, made.original_N.tolist(), strict=True)):
        copied = "" if original == number else f"-of-{original:05}"
        _write(folder / "train", int(y_N[number]), f"{number:05}{copied}", x_HW)
    for number, x_HW in enumerate(heldout_NHW):
        _write(folder / "val", int(heldout_y_N[number]), f"{number:05}", x_HW)


def _write(folder: Path, label: int, name: str, x_HW: np.ndarray) -> None:
    place = folder / f"{label:02}"
    place.mkdir(parents=True, exist_ok=True)
    Image.fromarray(x_HW).save(place / f"{name}.png")


if __name__ == "__main__":
    main()

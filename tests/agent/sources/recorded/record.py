"""Record event files of real writers: run this file with tensorboard and tensorboardX installed.

Both packages are needed for the recording alone. Each file has scalars, a histogram, a text and an image.
"""

import importlib
import shutil
import tempfile
from pathlib import Path

import numpy as np

WRITERS = {"torch": "torch.utils.tensorboard", "tensorboardX": "tensorboardX"}


def main() -> None:
    """Write one file for each writer."""
    for name, module in WRITERS.items():
        with tempfile.TemporaryDirectory() as folder:
            writer = importlib.import_module(module).SummaryWriter(folder)
            for step in (1, 2, 3):
                # torch has a format with tensors too, as TensorFlow 2
                new = {"new_style": True} if name == "torch" and step == 2 else {}
                writer.add_scalar("train/loss", 1 / step, step, **new)
                writer.add_scalar("lr", 0.5, step)
            writer.add_histogram("weights", np.arange(100.0), 3)
            writer.add_text("note", "a text", 3)
            writer.add_image("image", np.zeros((3, 8, 8)), 3)
            writer.close()
            (path,) = Path(folder).iterdir()
            shutil.copy(path, Path(__file__).parent / f"{name}.tfevents")


if __name__ == "__main__":
    main()

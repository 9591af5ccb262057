"""The command `python -m trainers.data PATH [--hold-out N]`: print the `data` section of a spec for an image folder."""

import argparse
import sys
from pathlib import Path

from trainers.data.images.image_folder import list_images


def main() -> None:
    """Count the images of the folder and print the section; exit with status 2 if the folder is no data set."""
    parser = argparse.ArgumentParser(prog="python -m trainers.data", description="Count the images in a folder.")
    parser.add_argument("folder", type=Path, help="with train/CLASS/IMAGE and val/CLASS/IMAGE, or with CLASS/IMAGE")
    parser.add_argument("--hold-out", type=int, metavar="N", help="number of held-out images if there is no val/")
    options = parser.parse_args()
    root = options.folder.absolute()
    try:
        train, heldout, classes = list_images(root, heldout_samples=options.hold_out)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    print(
        f"data:\n  kind: folder\n  path: {root}\n  classes: {len(classes)}\n"
        f"  train_samples: {len(train)}\n  heldout_samples: {len(heldout)}"
    )


if __name__ == "__main__":
    main()

"""`python -m trainers.data PATH [--hold-out N]`: look at a folder of images; write what a spec says of it."""

import argparse
import sys
from pathlib import Path

from trainers.data.images.image_folder import listings


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trainers.data", description="Count the images in a folder.")
    parser.add_argument("folder", type=Path, help="train/CLASS/IMAGE and val/CLASS/IMAGE, or CLASS/IMAGE alone")
    parser.add_argument("--hold-out", type=int, metavar="N", help="images to hold out where there is no val/")
    asked = parser.parse_args()
    root = asked.folder.absolute()
    try:
        train, heldout, classes = listings(root, heldout_samples=asked.hold_out)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    print(
        f"data:\n  kind: folder\n  path: {root}\n  classes: {len(classes)}\n"
        f"  train_samples: {len(train)}\n  heldout_samples: {len(heldout)}"
    )


if __name__ == "__main__":
    main()

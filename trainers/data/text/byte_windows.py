"""Windows of a text's bytes, for language models: a sample is T bytes, and its target the byte after each of them.

Window w has the bytes w T to w T + T, so neighbors share one byte and no byte is predicted twice. A fixed shuffle
selects the windows that are held out and those that train.
"""

import sysconfig
from pathlib import Path

import torch
from torch import Tensor

SHUFFLE_SEED = 0  # the same split in all runs, so that their losses are comparable


class ByteWindows:
    """A split of windows of context + 1 bytes."""

    def __init__(self, window_NW: Tensor) -> None:
        self.window_NW = window_NW  # uint8

    def __len__(self) -> int:
        return len(self.window_NW)

    def target_numbers(self) -> Tensor:
        """Return the windows, which are inputs and targets."""
        return self.window_NW

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return tokens_BT and next_BT, the token after each of them."""
        window_BW = self.window_NW[index_B].long()
        return window_BW[:, :-1].contiguous(), window_BW[:, 1:].contiguous()


def byte_windows(
    path: Path | None, *, context: int, train_samples: int, heldout_samples: int
) -> tuple[ByteWindows, ByteWindows]:
    """Return the training and the held-out windows of a file; without a path, of Python's standard library.

    Raise ValueError if the text has fewer windows.
    """
    text = read_standard_library() if path is None else path.read_bytes()
    name = "the standard library of this Python" if path is None else str(path)
    windows, wanted = max(len(text) - 1, 0) // context, train_samples + heldout_samples
    if windows < wanted:
        stated = f"{train_samples:,} + {heldout_samples:,} = {wanted:,}"
        raise ValueError(f"{name} has {windows:,} windows of {context} bytes, and the spec states {stated}")
    byte_N = torch.frombuffer(bytearray(text[: windows * context + 1]), dtype=torch.uint8)
    window_NW = byte_N.unfold(0, context + 1, context)
    order_N = torch.randperm(windows, generator=torch.Generator().manual_seed(SHUFFLE_SEED))
    heldout_N, train_N = order_N[:heldout_samples], order_N[heldout_samples:wanted]
    return ByteWindows(window_NW[train_N.sort().values]), ByteWindows(window_NW[heldout_N.sort().values])


def read_standard_library() -> bytes:
    """Return the modules of this Python's standard library that are single files, in the order of their names.

    Another version of Python has another text.
    """
    folder = Path(sysconfig.get_paths()["stdlib"])
    return b"\n".join(path.read_bytes() for path in sorted(folder.glob("*.py")))

"""scikit-learn's handwritten digits: 1,797 real 8 x 8 images, every fifth of a fixed shuffle held out."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from trainers.data.split import TensorSplit

FILE = "datasets/data/digits.csv.gz"  # a row per image: 64 pixels of 0 to 16, then the digit
BRIGHTEST = 16
SHUFFLE_SEED = 0  # the same split in all runs, so that their accuracies are comparable


def digits() -> tuple[TensorSplit, TensorSplit]:
    """Return the 1,437 training and the 360 held-out images, normalized by the training images' mean and deviation."""
    x_N1HW, y_N = _read()
    order_N = torch.randperm(len(y_N), generator=torch.Generator().manual_seed(SHUFFLE_SEED))
    is_heldout_N = torch.arange(len(y_N)) % 5 == 0
    train, heldout = order_N[~is_heldout_N], order_N[is_heldout_N]
    deviation, mean = torch.std_mean(x_N1HW[train])
    x_N1HW = (x_N1HW - mean) / deviation
    return TensorSplit(x_N1HW[train], y_N[train]), TensorSplit(x_N1HW[heldout], y_N[heldout])


def _read() -> tuple[Tensor, Tensor]:
    """Return the data of sklearn.datasets.load_digits without the import of scikit-learn, which takes a second."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the digits need scikit-learn, which is not installed: pip install bigbatch[trainer]")
    rows_NC = torch.from_numpy(np.loadtxt(Path(package.origin).parent / FILE, delimiter=",", dtype=np.int64))
    return rows_NC[:, :-1].reshape(-1, 1, 8, 8).float() / BRIGHTEST, rows_NC[:, -1]

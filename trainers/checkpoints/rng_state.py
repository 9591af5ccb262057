"""The random number generators that a rank draws from: Python's, NumPy's, torch's, its GPU's."""

import random
from typing import Any

import numpy as np
import torch
from numpy.random import SeedSequence

State = dict[str, Any]


def capture(device: torch.device) -> State:
    """Where every generator stands, in what `torch.load(weights_only=True)` reads."""
    version, words, gauss = random.getstate()
    legacy: Any = np.random.get_state(legacy=False)
    state: State = {
        "python": {"version": version, "words": torch.tensor(words), "gauss": gauss},
        "numpy": {
            **legacy,
            "state": {**legacy["state"], "key": torch.from_numpy(legacy["state"]["key"].astype("int64"))},
        },
        "torch": torch.get_rng_state(),
    }
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def restore(state: State, device: torch.device) -> None:
    """Put every generator where it stood."""
    python = state["python"]
    random.setstate((python["version"], tuple(python["words"].tolist()), python["gauss"]))
    legacy = state["numpy"]
    np.random.set_state(
        {**legacy, "state": {**legacy["state"], "key": legacy["state"]["key"].numpy().astype("uint32")}}
    )
    torch.set_rng_state(state["torch"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)


def seed(run_seed: int, *, rank: int, step: int) -> None:
    """Start every generator anew: no two ranks alike, and none as it was at another step."""
    words = SeedSequence([run_seed, rank, step]).generate_state(4)
    random.seed(int(words[0]) << 32 | int(words[1]))
    np.random.seed(int(words[2]))
    torch.manual_seed(int(words[3]))

"""RngState: the states of a rank's random number generators: Python's, NumPy's, torch's, and its GPU's."""

import random
from typing import Any

import numpy as np
import torch

RngState = dict[str, Any]


def capture_rng_state(device: torch.device) -> RngState:
    """Return the state of every generator, in types that `torch.load(weights_only=True)` can read."""
    version, words, gauss = random.getstate()
    legacy: Any = np.random.get_state(legacy=False)
    state: RngState = {
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


def restore_rng_state(state: RngState, device: torch.device) -> None:
    """Set every generator to a captured state."""
    python = state["python"]
    random.setstate((python["version"], tuple(python["words"].tolist()), python["gauss"]))
    legacy = state["numpy"]
    np.random.set_state(
        {**legacy, "state": {**legacy["state"], "key": legacy["state"]["key"].numpy().astype("uint32")}}
    )
    torch.set_rng_state(state["torch"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)

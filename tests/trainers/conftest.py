"""One thread for the tensors of each test: they are small, and several tests run at once."""

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)

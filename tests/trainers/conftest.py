"""One thread for the tensors of each test: they are small, and several tests run at once."""

import gc
from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def no_collections() -> Iterator[None]:
    """Collect no garbage meanwhile: in the process of many tests that takes a second, which is no part of the work."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()

"""Memory that a rank frees stays its own: the next step has no page faults for it."""

import resource
import subprocess
import sys

import pytest

GRADIENT_PAGES = 6_000_000 * 4 // resource.getpagesize()

PROGRAM = """
import resource, sys
import torch
from trainers.ranks.freed_memory import reuse_freed_memory

if sys.argv[1:]:
    assert reuse_freed_memory()

def step():
    gradients = [torch.ones(6_000_000) for _ in range(4)]
    assert all(gradient[-1] == 1 for gradient in gradients)

for _ in range(5):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*arguments: str) -> int:
    return int(subprocess.check_output([sys.executable, "-c", PROGRAM, *arguments], text=True))


@pytest.mark.ring("all")
def test_the_next_step_reuses_the_memory_of_freed_gradients_without_page_faults() -> None:
    # the address of the heap is random, and so one gradient may get new pages within the ten steps
    reused, given_back = faults("reuse"), faults()
    assert reused <= GRADIENT_PAGES + 100 < given_back / 4

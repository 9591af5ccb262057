"""Memory that a rank frees stays its own: the next step has no page faults for it."""

import subprocess
import sys

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


def test_the_next_step_reuses_the_memory_of_freed_gradients_without_page_faults() -> None:
    reused, given_back = faults("reuse"), faults()
    assert reused < given_back / 10

"""A user's script on two hosts, which writes the time of its first step: python train.py FILE."""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS = 20


def main() -> None:
    """Train a small net for STEPS steps; rank 0 writes the time after the first one."""
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    net = DistributedDataParallel(torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    mark = Path(sys.argv[1])
    for step in range(STEPS):
        loss = net(torch.randn(32, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 0 and dist.get_rank() == 0:
            draft = mark.with_suffix(".draft")
            draft.write_text(str(time.time()))
            os.replace(draft, mark)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

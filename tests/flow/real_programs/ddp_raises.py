"""Rank 1 fails after init_process_group, while rank 0 waits for it in a collective."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
if dist.get_rank() == 1:
    raise ValueError("lr is negative")
dist.all_reduce(torch.ones(1))

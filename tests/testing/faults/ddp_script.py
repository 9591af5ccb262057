"""A training script as the public tutorial has it: argparse, DDP, checkpoints by a path. It imports nothing of ours."""

SCRIPT = """
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--save-every", type=int, default=10)
    parser.add_argument("--step-s", type=float, default=0.1)
    parser.add_argument("--snapshot", default="snapshot.pt")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    model = DistributedDataParallel(torch.nn.Linear(20, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    first = 0
    if os.path.exists(args.snapshot):
        saved = torch.load(args.snapshot, weights_only=True)
        model.module.load_state_dict(saved["model"])
        first = saved["step"]
    weights = torch.randn(20, 1, generator=torch.Generator().manual_seed(1))
    for step in range(first + 1, args.steps + 1):
        x = torch.randn(8, 20, generator=torch.Generator().manual_seed(step * dist.get_world_size() + rank))
        loss = torch.nn.functional.mse_loss(model(x), x @ weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0:
            print(f"step {step} loss {total.item() / dist.get_world_size():.6f}", flush=True)
            if step % args.save_every == 0:
                torch.save({"model": model.module.state_dict(), "step": step}, args.snapshot + ".tmp")
                os.replace(args.snapshot + ".tmp", args.snapshot)
        time.sleep(args.step_s)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
PATTERN = r"step (?P<step>\d+) loss (?P<loss>\S+)"

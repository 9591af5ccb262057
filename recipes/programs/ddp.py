"""Train a small net on scikit-learn's digits with DistributedDataParallel. The script knows nothing of Bigbatch.

torchrun --nproc-per-node 2 ddp.py --lr 0.1
"""

import argparse
import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def load_data() -> tuple[TensorDataset, TensorDataset]:
    """Return training and test digits: images of 64 numbers from 0 to 1, and labels from 0 to 9."""
    digits = load_digits()
    images = torch.tensor(digits.data / 16, dtype=torch.float32)
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    train, test = order[360:], order[:360]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])


def own_device() -> torch.device:
    """Return this rank's GPU, or the CPU on a machine without GPUs."""
    return torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if torch.cuda.is_available() else "cpu")


def accuracy(model: nn.Module, data: TensorDataset, device: torch.device) -> float:
    """Return the share of correctly classified samples."""
    images, labels = data.tensors
    with torch.no_grad():
        return (model(images.to(device)).argmax(1) == labels.to(device)).float().mean().item()


def report(rank: int, line: str) -> None:
    """Print a line, once for all ranks."""
    if rank == 0:
        print(line, flush=True)


def write(state: dict[str, Any], checkpoint: Path) -> None:
    """Write a checkpoint so that a reader never sees half a file."""
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    part = checkpoint.with_suffix(".part")
    torch.save(state, part)
    part.replace(checkpoint)


def main() -> None:
    """Train, and print the loss of every step and the accuracy after every epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=64, help="samples per step, over all ranks")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--checkpoint", type=Path, default="checkpoint.pt", help="file to save to and to start from")
    options = parser.parse_args()

    device = own_device()
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    step = 0
    if options.checkpoint.exists():
        saved = torch.load(options.checkpoint, map_location=device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]

    def save() -> None:
        if rank == 0:
            write({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, options.checkpoint)
        dist.barrier()

    ddp = DistributedDataParallel(model)
    train, test = load_data()
    sampler = DistributedSampler(train, seed=0)
    loader = DataLoader(train, batch_size=options.batch // world, sampler=sampler, drop_last=True)

    def run_epochs() -> None:
        nonlocal step
        for epoch in range(step // len(loader), options.epochs):
            sampler.set_epoch(epoch)
            for number, (images, labels) in enumerate(loader, start=epoch * len(loader) + 1):
                if number <= step:
                    continue  # the checkpoint was saved within this epoch
                step = number
                loss = nn.functional.cross_entropy(ddp(images.to(device)), labels.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                report(rank, f"step {step} loss {loss.item():.6f}")
            report(rank, f"step {step} accuracy {accuracy(model, test, device):.4f}")
            save()

    run_epochs()
    save()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

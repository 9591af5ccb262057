"""The script ddp.py with Bigbatch: it logs its loss, saves checkpoints, pauses on request, and resumes.

The lines with `bigbatch` are all that differs. By hand, without a service, they do nothing:

    torchrun --nproc-per-node 2 ddp_resumes.py --lr 0.1
"""

import argparse

import torch
import torch.distributed as dist
from ddp import accuracy, load_data
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

import bigbatch


def main() -> None:
    """Train from the newest checkpoint on, if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=64, help="samples per step, over all ranks")
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    checkpoint = bigbatch.checkpoint_folder / "newest.pt"
    step = 0
    if bigbatch.resuming:
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    ddp = DistributedDataParallel(model)
    train, test = load_data()
    sampler = DistributedSampler(train, seed=0)
    loader = DataLoader(train, batch_size=options.batch // world, sampler=sampler, drop_last=True)

    def save() -> None:
        if rank == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            checkpoint.parent.mkdir(exist_ok=True)
            torch.save(state, checkpoint.with_suffix(".part"))
            checkpoint.with_suffix(".part").replace(checkpoint)
        dist.barrier()

    for epoch in range(step // len(loader), options.epochs):
        sampler.set_epoch(epoch)
        for number, (images, labels) in enumerate(loader, start=epoch * len(loader) + 1):
            if number <= step:
                continue  # the checkpoint is of a step within this epoch
            step = number
            loss = nn.functional.cross_entropy(ddp(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bigbatch.log(step=step, loss=loss.item())
            if bigbatch.should_pause(step):
                save()
                bigbatch.finish()  # leaves with the exit status of a pause
                return
        if rank == 0:
            bigbatch.log(step=step, accuracy=accuracy(model, test))
        save()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""Train a small transformer on made-up sequences with FSDP (fully_shard), on GPUs or CPUs.

torchrun --nproc-per-node 2 fsdp.py
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

VOCABULARY, LENGTH = 64, 32


class Net(nn.Module):
    """A language model of two layers."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        layers = [nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True) for _ in range(2)]
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens_BT: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next token, of shape (B, T, vocabulary)."""
        mask = nn.Transformer.generate_square_subsequent_mask(tokens_BT.shape[1], device=tokens_BT.device)
        x_BTD = self.embedding(tokens_BT)
        for layer in self.layers:
            x_BTD = layer(x_BTD, src_mask=mask, is_causal=True)
        return self.head(x_BTD)


def batch_of(step: int, rank: int, size: int) -> torch.Tensor:
    """Return sequences that count upward in steps of 1 to 5, from a random start."""
    random = torch.Generator().manual_seed(1_000_003 * step + rank)
    start = torch.randint(VOCABULARY, (size, 1), generator=random)
    stride = torch.randint(1, 6, (size, 1), generator=random)
    return (start + stride * torch.arange(LENGTH + 1)) % VOCABULARY


def main() -> None:
    """Train, and print the mean loss over the ranks after every tenth step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()

    kind = "cuda" if torch.cuda.is_available() else "cpu"
    dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if kind == "cuda" else "cpu")
    torch.manual_seed(0)
    model, mesh = Net().to(device), init_device_mesh(kind, (world,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr)
    for step in range(1, options.steps + 1):
        tokens_BT = batch_of(step, rank, 16).to(device)
        logits_BTV = model(tokens_BT[:, :-1])
        loss = nn.functional.cross_entropy(logits_BTV.flatten(0, 1), tokens_BT[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            mean = loss.detach() / world
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""Train a small net on scikit-learn's digits with Lightning, whose own requeue is switched off.

Bigbatch starts the next attempt itself. Lightning's plugin for Slurm would requeue the job a second time on SIGUSR1, so
`SLURMEnvironment(auto_requeue=False)` stands here.
"""

import argparse
import os
from pathlib import Path

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.plugins.environments import LightningEnvironment, SLURMEnvironment
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Digits(lightning.LightningModule):
    """A net of two layers."""

    def __init__(self, lr: float) -> None:
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        """Return the loss of a batch, and log it."""
        images, labels = batch
        loss = nn.functional.cross_entropy(self.net(images), labels)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimizer."""
        return torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)


def main() -> None:
    """Train; Lightning writes TensorBoard files, saves a checkpoint after each epoch and continues from it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--output", default="out")
    options = parser.parse_args()

    lightning.seed_everything(0)
    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target))
    is_slurm = "SLURM_JOB_ID" in os.environ
    trainer = lightning.Trainer(
        accelerator="auto",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
        num_nodes=int(os.environ.get("WORLD_SIZE", "1")) // int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
        max_epochs=options.epochs,
        plugins=[SLURMEnvironment(auto_requeue=False) if is_slurm else LightningEnvironment()],
        logger=TensorBoardLogger(options.output, name="tensorboard"),
        callbacks=[ModelCheckpoint(Path(options.output, "checkpoints"), save_last=True)],
        log_every_n_steps=5,
        enable_progress_bar=False,
    )
    newest = Path(options.output, "checkpoints", "last.ckpt")
    loader = DataLoader(data, batch_size=32, shuffle=True)
    trainer.fit(Digits(options.lr), loader, ckpt_path=str(newest) if newest.exists() else None)


if __name__ == "__main__":
    main()

"""Lightning with its defaults: the TensorBoardLogger in lightning_logs, and a checkpoint by a relative path."""

import argparse
import os
import time

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CHECKPOINT = "ck/last.ckpt"


class Net(lightning.LightningModule):
    def __init__(self, lr: float) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Linear(8, 1)

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        time.sleep(float(os.environ.get("STEP_S", "0")))
        loss = (self.net(batch[0]) - batch[1]).square().mean()
        self.log("train_loss", loss)
        return loss

    def on_train_start(self) -> None:
        if self.global_step:
            print(f"resumes at step {self.global_step}", flush=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=self.hparams["lr"])


parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
options = parser.parse_args()
lightning.seed_everything(0)
inputs = torch.randn(4096, 8)
loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=8)
nodes = int(os.environ.get("SLURM_NNODES", "1"))
trainer = lightning.Trainer(
    accelerator="cpu",
    devices=int(os.environ.get("WORLD_SIZE", "2")) // nodes,
    num_nodes=nodes,
    max_steps=options.steps,
    log_every_n_steps=1,
    callbacks=[ModelCheckpoint("ck", save_last=True, every_n_train_steps=5, save_top_k=0)],
)
trainer.fit(Net(options.lr), loader, ckpt_path=CHECKPOINT if os.path.exists(CHECKPOINT) else None)

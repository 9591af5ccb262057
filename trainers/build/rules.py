"""The update rule."""

from typing import assert_never

import torch
from torch import nn

from contract.choices import rules as choices
from contract.spec import RunSpec
from trainers.collectives.runner import Allreduce
from trainers.rules.rule import Rule
from trainers.rules.sync import Sync


def rule(run: RunSpec, model: nn.Module, optimizer: torch.optim.Optimizer, *, allreduce: Allreduce) -> Rule:
    """How the replicas agree."""
    match run.rule:
        case choices.Sync():
            return Sync(model.parameters(), optimizer, allreduce=allreduce, world=run.resources.world)
        case _:
            assert_never(run.rule)

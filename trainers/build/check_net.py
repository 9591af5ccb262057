"""Check a net once before the first step: what the engine cannot train is refused alike on one rank and on many."""

from functools import partial

from torch import Tensor, nn
from torch.nn import Parameter
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import is_lazy

from contract.spec.choices.rules import Sync
from contract.spec.run import RunSpec


def check_net(run: RunSpec, model: nn.Module) -> None:
    """Raise ValueError if the engine cannot train the net as the spec says.

    A batch normalization that gets one value per channel in a training pass raises ValueError there: only the pass
    shows how many values a sample has.
    """
    named = list(model.named_parameters())
    for name, p in named:
        _check_parameter(name, p)
    if not named:
        raise ValueError("the net has no parameter, so there is nothing to train")
    if run.evaluate_only:
        return
    if not any(p.requires_grad for _, p in named):
        raise ValueError("every parameter of the net is frozen, so there is nothing to train")
    _check_sparse(model)
    if not isinstance(run.rule, Sync):
        _check_one_type(run.rule.kind, named)
    if reason := next(filter(None, (run.explain_single_sample(batch) for batch in _batches(run))), None):
        _refuse_single_values(model, reason)


def _check_parameter(name: str, p: Parameter) -> None:
    if is_lazy(p):
        layer = name.rpartition(".")[0] or "the net"
        raise ValueError(
            f"the parameter {name} has no size before the first input of {layer}: give the layer its sizes, or run the "
            "net once in its constructor"
        )
    if p.is_complex():
        raise ValueError(
            f"the parameter {name} is complex ({p.dtype}), and the engine trains real numbers alone: store "
            "its real and imaginary parts (torch.view_as_real)"
        )


def _check_sparse(model: nn.Module) -> None:
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding | nn.EmbeddingBag) and module.sparse and module.weight.requires_grad:
            raise ValueError(
                f"the embedding {name or type(module).__name__} has sparse gradients, and the engine needs dense ones: "
                "set its sparse to False"
            )


def _check_one_type(rule: str, named: list[tuple[str, Parameter]]) -> None:
    """Raise ValueError if the weights have several types, because they must fit into one flat vector."""
    first, kind = named[0][0], named[0][1].dtype
    for name, p in named:
        if p.dtype != kind:
            raise ValueError(
                f"the parameters {first} and {name} have the types {kind} and {p.dtype}, and the rule {rule} exchanges "
                "all weights as one vector of one type: give all parameters one type, or use the rule sync"
            )


def _batches(run: RunSpec) -> list[int]:
    return [stage.batch for stage in run.batch_schedule.stages]


def _refuse_single_values(model: nn.Module, reason: str) -> None:
    for name, module in model.named_modules():
        if isinstance(module, _BatchNorm):
            module.register_forward_pre_hook(partial(_check_values, name, reason), with_kwargs=True)


def _check_values(
    name: str, reason: str, module: nn.Module, inputs: tuple[Tensor, ...], named: dict[str, Tensor]
) -> None:
    (x_BCS,) = inputs or named.values()
    if module.training and x_BCS.numel() == x_BCS.shape[1]:
        raise ValueError(f"the batch normalization {name} has one value per channel: {reason}")

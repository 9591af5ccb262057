"""The kinds of a net's buffers: statistics of normalization, which ranks average, and all others.

statistics   the running means and variances of batch and instance normalization, also of a user's own layer. Every
             rank has seen other samples, so their mean over ranks or over steps is a better estimate.
the others   such as the vectors of spectral normalization or a table of positions, of which a mean has no meaning.
"""

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

RUNNING = "running_"  # how torch names the statistics, and so do layers of users


def statistics(model: nn.Module) -> dict[str, Tensor]:
    """Return the statistics of normalization by their names in `named_buffers`.

    They are the floating-point buffers of torch's batch and instance normalizations, and in every module those whose
    names begin with `running_`. A layer's count of batches is an integer, so it is none.
    """
    found = {}
    for name, buffer in model.named_buffers():
        owner, _, own_name = name.rpartition(".")
        is_named = own_name.startswith(RUNNING) or isinstance(model.get_submodule(owner), _NormBase)
        if is_named and buffer.is_floating_point():
            found[name] = buffer
    return found

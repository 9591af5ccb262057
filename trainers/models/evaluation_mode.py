"""Put a net into evaluation mode for a while.

A net may have parts that stay in evaluation mode while it trains, such as a batch normalization whose statistics are
fixed. So every module gets its own mode back, and not that of the whole net.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Put all modules into evaluation mode; at the end, also after an exception, give each the mode that it had."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, was_training in modes:
            if module.training != was_training:
                module.train(was_training)  # a module's own `train` may do more than set the flag
        for module, was_training in modes:
            module.training = was_training  # and it may set the flags of other modules

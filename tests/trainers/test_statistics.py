"""Which buffers of a net are statistics of normalization."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from trainers.models.group_batch_norm import join
from trainers.models.statistics import statistics


class OwnNorm(nn.Module):
    """A user's normalization, and a table that is no statistic."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("running_power", torch.ones(3))
        self.register_buffer("running_steps", torch.tensor(0))
        self.register_buffer("positions", torch.arange(4.0))


def test_the_running_means_of_normalizations_are_statistics_and_no_other_buffer_is() -> None:
    net = nn.Sequential(nn.BatchNorm1d(2), nn.InstanceNorm2d(2, track_running_stats=True), OwnNorm())
    net.append(spectral_norm(nn.Linear(2, 2)))
    names = ["0.running_mean", "0.running_var", "1.running_mean", "1.running_var", "2.running_power"]
    assert list(statistics(net)) == names
    assert all(dict(net.named_buffers())[name] is buffer for name, buffer in statistics(net).items())


def test_a_normalization_over_a_group_of_ranks_and_a_net_that_is_one_layer_have_statistics() -> None:
    net = nn.Sequential(nn.BatchNorm1d(2))
    join(net, lambda x_C: x_C[None])
    assert list(statistics(net)) == ["0.running_mean", "0.running_var"]
    assert list(statistics(nn.SyncBatchNorm(2))) == ["running_mean", "running_var"]
    assert statistics(nn.BatchNorm1d(2, track_running_stats=False)) == {}

"""ServedCenter: the center of Original, Async and Hogwild EASGD, which rank 0 serves to one replica at a time."""

import torch
from torch import Tensor

from trainers.rules.centers.center_client import CenterClient
from trainers.rules.host_numbers import numbers_on


class ServedCenter:
    """A CenterClient with an `ElasticUpdate`, as a Center."""

    is_synchronous = False

    def __init__(self, client: CenterClient) -> None:
        self._client = client
        self.wait_for_all, self.read_center = client.wait_for_all, client.read_center
        self.departed_ranks, self.set_center = client.departed_ranks, client.set_center
        self.state_dict, self.load_state_dict = client.state_dict, client.load_state_dict

    @torch.no_grad()
    def begin_exchange(self, x_N: Tensor, alpha: float, values: Tensor) -> None:
        """Make the whole exchange at once, because a recent answer is worth most."""
        c_N, received = self._client.exchange(x_N, alpha, values.tolist())
        self._received = numbers_on(x_N.device, received)
        self._d_N = (x_N - c_N).mul_(alpha)

    def end_exchange(self) -> tuple[Tensor, Tensor]:
        """Return this replica's move and the received values."""
        return self._d_N, self._received

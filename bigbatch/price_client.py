"""PriceClient: the predicted costs of collectives, of ranks that share a net, of K-FAC, and of training jobs."""

from collections.abc import Mapping

from bigbatch.connection import Connection, Parameters
from contract.api.collectives import PriceList, TensorPriceList
from contract.api.planning.kfac import KFACPriceView
from contract.api.planning.plans import DeviceView, PlanReport, PlanRequest


class PriceClient:
    """The prices of the client."""

    _connection: Connection

    def prices(
        self, size_bytes: float, *, hosts: int, ranks_per_host: int, network: Mapping[str, float] | None = None
    ) -> PriceList:
        """Return the predicted cost of every collective; `network`: `rate`, `inside_rate`, `latency_s` and so on."""
        ask: Parameters = {"bytes": size_bytes, "hosts": hosts, "ranks_per_host": ranks_per_host, **(network or {})}
        return self._connection.get("/collectives/price", PriceList, ask=ask)

    def tensor_prices(self, parameters: Mapping[str, float]) -> TensorPriceList:
        """Return the predicted communication of a GPT on every mesh; `hosts`, `width`, `layers`, `rate` and so on."""
        ask: Parameters = {**parameters}
        return self._connection.get("/collectives/tensor-price", TensorPriceList, ask=ask)

    def kfac_price(self, ask: Parameters) -> KFACPriceView:
        """Return the predicted cost of a step with K-FAC; `ask`: the parameters of `GET /kfac/price`."""
        return self._connection.get("/kfac/price", KFACPriceView, ask=ask)

    def plan(self, request: PlanRequest) -> PlanReport:
        """Return the predicted memory, time and cost of a training job; nothing runs."""
        content = request.model_dump_json().encode()
        return self._connection.post_safely("/plans", PlanReport, content=content, kind="application/json")

    def devices(self) -> list[DeviceView]:
        """Return the devices that the planner knows."""
        return self._connection.get("/plans/devices", list[DeviceView])

"""GET /kfac/price: what a step with K-FAC costs, and below which share of the epochs it pays."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import TypeAdapter

from api.collectives import NetworkQuery, evaluate_network
from api.http.statuses import UNCHANGED, problems
from contract.api.planning.kfac import KFACPriceView, KFACWords
from contract.spec.choices.models import Model
from trainers.kfac_price import KFACChoice, RankSpeed, price_kfac
from trainers.layer_shapes import layer_shapes

router = APIRouter(prefix="/kfac", tags=["kfac"])
Count = Annotated[int, Query(ge=1, le=2**31 - 1)]
ImageModel = (
    Literal["convnet", "lenet", "alexnet", "alexnet_bn", "nin", "googlenet", "googlenet_bn", "vgg16", "vgg19"]
    | Literal["resnet18", "resnet34", "resnet50", "resnet101", "resnet50_v2"]
)
MODEL: TypeAdapter[Model] = TypeAdapter(Model)


class KFACQuery(NetworkQuery):
    """The parameters of K-FAC's price in a query: those of the network, of the net, of a rank and of K-FAC."""

    model: Annotated[ImageModel, Query(examples=["resnet50"])]
    """The net."""
    pixels: Annotated[int, Query(ge=64, le=4096)] = 224
    """Side of the square images, in pixels."""
    classes: Annotated[int, Query(ge=2, le=10**6)] = 1000
    """Number of classes."""
    samples: Annotated[int, Query(ge=1, le=10**6)] = 32
    """Samples of a rank at each step."""
    flops: Annotated[float, Query(ge=1e6, le=1e18, allow_inf_nan=False)] = 1e13
    """Operations per second that a rank makes in products of matrices."""
    decomposition_efficiency: Annotated[float, Query(gt=0, le=1)] = 0.1
    """Speed of eigendecompositions as a fraction of `flops`."""
    factor_every: Count = 10
    """Steps between two updates of the factors."""
    inverse_every: Count = 100
    """Steps between two updates of the inverses."""
    method: Literal["eigen", "inverse"] = "eigen"
    """Eigendecompositions or inverses."""
    fraction: Annotated[float, Query(ge=0, le=1)] = 1.0
    """Fraction of the ranks that have the inverses of a layer: 1 is the variant comm_opt, 0 the variant layer_wise."""


@router.get("/price", responses=UNCHANGED | problems(422))
def get_kfac_price(query: Annotated[KFACQuery, Query()]) -> KFACPriceView:
    """Return the predicted time of a step with K-FAC, and when K-FAC pays."""
    figures = {name: getattr(query, name) for name in NetworkQuery.model_fields}
    network, sums = evaluate_network(query.hosts, query.ranks_per_host, figures)
    model: Any = MODEL.validate_python({"kind": query.model})
    found = price_kfac(
        layer_shapes(model, channels=3, pixels=query.pixels, classes=query.classes),
        KFACChoice(query.factor_every, query.inverse_every, query.method, query.fraction),
        samples=query.samples,
        speed=RankSpeed(query.flops, query.decomposition_efficiency),
        network=network,
        sums=sums,
    )
    return KFACPriceView(
        world=network.world,
        plain_s=found.plain_s,
        ratio=found.ratio,
        pays_below=1 / found.ratio,
        **asdict(found) | {"words": KFACWords(**asdict(found.words))},
    )

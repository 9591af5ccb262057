"""Endpoints of the planner: the memory, time and cost of a training job before it runs, and the known devices."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends

from api.collectives import collective_of, evaluate_network
from api.errors import Invalid
from api.http.bodies import body_of, describe_body
from api.http.statuses import UNCHANGED, problems
from api.planning.extras import price_extras
from contract.api.planning.plans import DeviceView, PlanReport, PlanRequest
from contract.validation import ValidationIssue
from study.planner.devices import DEVICES
from study.planner.plan import PlanError, gradient_bytes, make_plan

router = APIRouter(prefix="/plans", tags=["plans"])


@router.post(
    "",
    responses=problems(400, 413, 415, 422, 503),
    openapi_extra=describe_body(PlanRequest, "The training job, as JSON or YAML."),
)
def plan_training(
    request: Annotated[PlanRequest, Depends(body_of(PlanRequest, what="the training job"))],
) -> PlanReport:
    """Return the plan of a training job; nothing is stored and nothing runs."""
    network = request.network
    try:
        size_bytes = gradient_bytes(request)
    except PlanError as error:
        raise Invalid(str(error), [ValidationIssue(path=error.path, message=str(error))]) from None
    links, evaluated = evaluate_network(network.hosts, network.ranks_per_host, network.model_dump())
    extras = price_extras(request, links, evaluated, size_bytes=size_bytes)
    return make_plan(request, [(collective_of(one.plan), one.runner_seconds(size_bytes)) for one in evaluated], extras)


@router.get("/devices", responses=UNCHANGED)
def list_devices() -> list[DeviceView]:
    """Return the known devices."""
    return [DeviceView.model_validate(asdict(device)) for device in DEVICES.values()]

"""`bigbatch plan`: predict the memory, time and cost of the first run of an experiment on a network and a device."""

from typing import Annotated

import typer
from pydantic import ValidationError

from bigbatch.client import Client
from bigbatch.commands.options import Json, SpecFile
from bigbatch.commands.planning.measured import measure
from bigbatch.commands.planning.report import print_plan
from bigbatch.errors import BigbatchError, DocumentRefused
from bigbatch.spec_file import read_spec
from bigbatch.terminal.output import print_json
from bigbatch.terminal.units import parse_duration, parse_rate, parse_size
from contract.api.planning.plans import Calibration, PlanDevice, PlanNetwork, PlanRequest
from contract.spec.expanded import read_experiment
from contract.spec.run import RunSpec
from contract.validation import issues_of

DeviceName = Annotated[
    str | None, typer.Option("--device", help="A known device: k20x, p40, p100, v100, a100, h100, knl7250, xeon8160.")
]
Flops = Annotated[float | None, typer.Option(min=1, help="Operations per second that the net reaches on a device.")]
Memory = Annotated[float | None, typer.Option(parser=parse_size, metavar="SIZE", help="Memory of a device: 16GB.")]
Hosts = Annotated[int, typer.Option(min=1, help="Number of hosts.")]
Ranks = Annotated[int, typer.Option(min=1, help="Number of ranks per host, with one device each.")]
Link = Annotated[
    float | None, typer.Option("--rate", parser=parse_rate, metavar="RATE", help="Rate of a host's link; or 1.25GB/s.")
]
Inside = Annotated[
    float | None, typer.Option(parser=parse_rate, metavar="RATE", help="Rate between ranks of a host; or 5GB/s.")
]
Latency = Annotated[
    float | None, typer.Option(parser=parse_duration, metavar="TIME", help="Latency between hosts; or 20us.")
]
RunIds = Annotated[
    list[int] | None,
    typer.Option("--run", help="Id of a run with this net, whose measured times and links are used; may be repeated."),
]
Share = Annotated[float, typer.Option(min=0.01, max=0.99, help="Share of linear speed-up that ranks must reach.")]
Speed = Annotated[float | None, typer.Option(min=1e-9, help="Measured samples per second of one rank.")]
Price = Annotated[float | None, typer.Option(min=1e-9, help="Price of one device for one hour.")]
PLANNED = (
    "model",
    "data",
    "optimizer",
    "preconditioner",
    "rule",
    "precision",
    "batch",
    "micro_batch",
    "epochs",
)  # fields of a spec


def plan(
    file: SpecFile,
    hosts: Hosts,
    ranks_per_host: Ranks,
    *,
    device: DeviceName = None,
    flops: Flops = None,
    memory: Memory = None,
    link_rate: Link = None,
    inside_rate: Inside = None,
    latency: Latency = None,
    run: RunIds = None,
    samples_per_s: Speed = None,
    device_hour_price: Price = None,
    efficiency: Share = 0.8,
    as_json: Json = False,
) -> None:
    """Print the predicted memory, batch, time and cost of the first run of FILE; nothing is submitted."""
    spec = _first_run(file)
    stated = {"rate": link_rate, "inside_rate": inside_rate, "latency_s": latency}
    links = {name: value for name, value in stated.items() if value is not None}
    calibration = Calibration(samples_per_s=samples_per_s) if samples_per_s else None
    with Client() as client:
        if run and calibration is None:
            measured = measure(client, run, spec)
            calibration = measured.on(hosts, ranks_per_host, links)
            links = measured.links | links
        try:
            request = PlanRequest(
                **{name: getattr(spec, name) for name in PLANNED},
                network=PlanNetwork.model_validate({"hosts": hosts, "ranks_per_host": ranks_per_host, **links}),
                device=PlanDevice(name=device, flops=flops, memory_bytes=memory),
                calibration=calibration,
                device_hour_price=device_hour_price,
                efficiency=efficiency,
            )
        except ValidationError as error:
            raise DocumentRefused("this cannot be planned", issues_of(error)) from error
        report = client.plan(request)
    if as_json:
        print_json(report)
    else:
        print_plan(report)


def _first_run(file: str) -> RunSpec:
    try:
        experiment = read_experiment(read_spec(file))
    except ValidationError as error:
        raise DocumentRefused(f"{file} is not a valid experiment", issues_of(error)) from error
    first = experiment.points[0][1]
    if not isinstance(first, RunSpec):
        raise BigbatchError(f"{file} runs a program, whose net and data the planner does not know")
    return first

"""Published times and scaling efficiencies, and what the planner predicts for them.

    python -m benchmarks.planner        # writes the table into docs/techniques/planner.md

A prediction uses one other published row of the same machine, or a published throughput of one device, as the measured
speed of one rank: `calibrated on` names it. The links' rates are nominal ones of the networks' makers. No figure is
fitted to the row that it predicts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from contract.spec.choices.rules import Sync
from study.planner.step_time import StepInputs, step_s
from trainers.collectives.layout import hosts_of
from trainers.collectives.plan import Plan
from trainers.collectives.plans import ring, torus, tree
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import price

IMAGENET = 1_281_167
MB = 10**6
RESNET_BYTES, ALEXNET_BYTES, GOOGLENET_BYTES, VGG_BYTES, NIN_BYTES = 102 * MB, 249 * MB, 54 * MB, 575 * MB, 30 * MB
NVLINK = 80e9  # of a P100: four links of 20 GB/s in each direction
ARIES, GEMINI, OMNIPATH, FDR, EDR, ETHERNET_50, ETHERNET_100 = 10e9, 5e9, 12.5e9, 7e9, 12.5e9, 6.25e9, 12.5e9  # bytes/s
LATENCY_S = 2e-6


@dataclass(frozen=True)
class Row:
    """A published figure and its prediction."""

    source: str
    what: str
    published: float
    predicted: float
    unit: str
    calibration: str

    @property
    def error(self) -> float:
        """The relative error of the prediction."""
        return self.predicted / self.published - 1


def allreduce_s(make: Callable[[list[list[int]]], Plan], hosts: int, per_host: int, rate: float, size: float) -> float:
    """Return the time of an all-reduce by our price model, inside a host at five times the rate of its link.

    The trees of these papers send the whole vector in every round, 2 log2 n |W| / B; rings and tori are pipelines.
    """
    if hosts * per_host == 1:
        return 0.0
    network = Network(
        hosts=hosts_of(hosts * per_host, hosts), rate=rate, inside_rate=5 * rate, latency_s=LATENCY_S, add_rate=40e9
    )
    plan = make([list(host) for host in network.hosts])
    return price(plan, network).seconds(size, segments=1 if plan.kind == "tree" else None)


def synchronous(
    compute_s: float, allreduce: float, size: float, *, ranks: int, overlap: bool = True, last: float | None = None
) -> float:
    """Return the time of a step of synchronous SGD by the planner; `last`: the seconds of its last pass, if shorter."""
    last_s = compute_s if last is None else min(last, compute_s)
    step = StepInputs(compute_s, last_s, size, ranks, server_rate=1.0, server_latency_s=0.0)
    return step_s(step, Sync(overlap=overlap), allreduce_s=allreduce, tree_s=0.0)


def rows() -> Iterator[Row]:
    """Yield every row that can be predicted."""
    yield from imagenet_in_minutes()
    yield from weak_scaling()
    yield from torus_efficiency()
    yield from firecaffe()


def imagenet_in_minutes() -> Iterator[Row]:
    """You et al. (2018): whole runs of ResNet-50 and AlexNet, on one DGX-1 and on many nodes."""
    source = "You et al., ICPP 2018"
    for net, epochs, log_batch, speed, batch, hours in (
        ("ResNet-50", 90, 256, 1580.0, 256, 21.0),
        ("ResNet-50", 90, 256, 1580.0, 8192, 21.0),
        ("AlexNet", 100, 1024, 16861.0, 4096, 2 + 19 / 60),
        ("AlexNet", 100, 1024, 16861.0, 512, 6 + 10 / 60),
    ):
        size = {"ResNet-50": RESNET_BYTES, "AlexNet": ALEXNET_BYTES}[net]
        exchange = allreduce_s(ring.plan, 1, 8, NVLINK / 5, size)
        image_s = image_s_of(log_batch / speed, log_batch / 8, exchange, size, ranks=8)
        step = synchronous(batch / 8 * image_s, exchange, size, ranks=8, last=log_batch / 8 * image_s)
        predicted = epochs * IMAGENET / batch * step / 3600
        what = f"{net}, DGX-1 (8 P100), batch {batch:,}, {epochs} epochs"
        own = "its own log, a division:" if batch == log_batch else f"log of nvcaffe at batch {log_batch:,}:"
        yield Row(source, what, hours, predicted, "h", f"{own} {speed:,.0f} images/s")
    for epochs, minutes in ((90, 20.0), (64, 14.0)):
        predicted = _nodes_min((512, 32768, 60.0), 2048, 32768, epochs)
        what = f"ResNet-50, 2,048 KNL, batch 32K, {epochs} epochs"
        yield Row(source, what, minutes, predicted, "min", "its row of 512 KNL: 60 min")
    predicted = _nodes_min((1024, 16384, 52.0), 1600, 16000, 90)
    what = "ResNet-50, 1,600 CPUs, batch 16,000, 90 epochs"
    yield Row(source, what, 31.0, predicted, "min", "its row of 1,024 CPUs: 52 min")


def _nodes_min(known: tuple[int, int, float], nodes: int, batch: int, epochs: int) -> float:
    """Return the minutes of ResNet-50 on nodes of one rank, from nodes, batch and minutes of 90 epochs on others."""
    known_nodes, known_batch, minutes = known
    exchange, other = (allreduce_s(tree.plan, count, 1, OMNIPATH, RESNET_BYTES) for count in (nodes, known_nodes))
    step_of_known = 60 * minutes / (90 * IMAGENET // known_batch)
    image_s = (step_of_known - other) / (known_batch / known_nodes)
    step = synchronous(batch / nodes * image_s, exchange, RESNET_BYTES, ranks=nodes, overlap=False)
    return epochs * IMAGENET // batch * step / 60


def image_s_of(step: float, share: float, exchange: float, size: float, *, ranks: int) -> float:
    """Return the computing time of an image from a published step, by bisection: the planner's step is that step."""
    low, high = 0.0, step / share
    for _ in range(60):
        middle = (low + high) / 2
        is_longer = synchronous(share * middle, exchange, size, ranks=ranks) > step
        low, high = (low, middle) if is_longer else (middle, high)
    return high


WEAK = {136: 1590, 272: 1608, 544: 1641, 1088: 1630, 2176: 1662, 4352: 1674}


def weak_scaling() -> Iterator[Row]:
    """You, Buluç & Demmel (2017): weak scaling on KNL nodes of 68 cores, as efficiency."""
    source = "You, Buluç & Demmel, 2017"
    nets = (
        ("GoogLeNet", 1533 / 300, GOOGLENET_BYTES, {c: 1533 / s for c, s in WEAK.items()}),
        ("VGG", 1318 / 80, VGG_BYTES, {4352: 0.80}),
    )
    for net, compute_s, size, efficiencies in nets:
        for cores, published in efficiencies.items():
            nodes = cores // 68
            exchange = allreduce_s(tree.plan, nodes, 1, ARIES, size)
            predicted = compute_s / synchronous(compute_s, exchange, size, ranks=nodes, overlap=False)
            what = f"{net}, {cores:,} cores, weak scaling"
            yield Row(source, what, 100 * published, 100 * predicted, "%", "its row of 68 cores")


PASCAL, VOLTA, P40 = 197.5, 1200.0, 0.45 * 11.76e12 / 24.5e9  # images/s of one device with ResNet-50


@dataclass(frozen=True)
class Cluster:
    """A machine of Mikami et al.'s tables: its hosts and devices, link, all-reduce, images/s of one device, bytes."""

    what: str
    hosts: int
    per_host: int
    rate: float
    make: Callable[[list[list[int]]], Plan]
    speed: float
    size: float

    @property
    def ranks(self) -> int:
        """The number of devices."""
        return self.hosts * self.per_host

    def step_s(self, images: float) -> float:
        """Return the time of a step with so many images of each device."""
        exchange = allreduce_s(self.make, self.hosts, self.per_host, self.rate, self.size)
        return synchronous(images / self.speed, exchange, self.size, ranks=self.ranks)


HE = Cluster("He, 8 P100", 1, 8, NVLINK / 5, ring.plan, PASCAL, RESNET_BYTES)
GOYAL = Cluster("Goyal, 256 P100, 50 GbE", 32, 8, ETHERNET_50, ring.plan, PASCAL, RESNET_BYTES)
CHO = Cluster("Cho, 256 P100, 2 x EDR", 64, 4, 2 * EDR, ring.plan, PASCAL, RESNET_BYTES)
AKIBA = Cluster("Akiba, 1,024 P100, FDR", 128, 8, FDR, ring.plan, PASCAL, RESNET_BYTES / 2)
JIA = Cluster("Jia, 2,048 P40, 100 GbE", 256, 8, ETHERNET_100, torus.plan, P40, RESNET_BYTES / 2)
SONY = Cluster("Sony, 1,088 V100, 2 x EDR", 272, 4, 2 * EDR, torus.plan, VOLTA, RESNET_BYTES / 2)


def torus_efficiency() -> Iterator[Row]:
    """Mikami et al. (2018): their scaling efficiencies and times of ResNet-50; 32 images a device where not stated."""
    source = "Mikami et al., 2018"
    for one, published in ((GOYAL, 90.0), (AKIBA, 80.0), (JIA, 87.9), (SONY, 91.62)):
        predicted = 32 / one.speed / one.step_s(32)
        calibration = f"{one.speed:,.4g} images/s of one device"
        yield Row(source, f"{one.what}, efficiency", published, 100 * predicted, "%", calibration)
    for one, batch, minutes in (
        (HE, 256, 29 * 60.0),
        (GOYAL, 8192, 60.0),
        (CHO, 8192, 50.0),
        (AKIBA, 32768, 15.0),
        (JIA, 65536, 6.6),
    ):
        predicted = 90 * IMAGENET / batch * one.step_s(batch / one.ranks) / 60
        calibration = f"{one.speed:,.4g} images/s of one device; 90 epochs are assumed"
        yield Row(source, f"{one.what}, batch {batch:,}, time", minutes, predicted, "min", calibration)


def firecaffe() -> Iterator[Row]:
    """Iandola et al. (2015): speed-ups over one K20, binomial trees, nothing overlaps."""
    source = "Iandola et al., 2015"
    nin_image_s, googlenet_image_s = 5.8 * 86400 / (47 * IMAGENET), 21 * 86400 / (64 * IMAGENET)
    for net, ranks, batch, epochs, before, image_s, size, published in (
        ("NiN", 32, 256, 47, 47, nin_image_s, NIN_BYTES, 13.0),
        ("NiN", 32, 1024, 47, 47, nin_image_s, NIN_BYTES, 23.0),
        ("NiN", 128, 1024, 47, 47, nin_image_s, NIN_BYTES, 39.0),
        ("GoogLeNet", 32, 1024, 72, 64, googlenet_image_s, GOOGLENET_BYTES, 20.0),
        ("GoogLeNet", 128, 1024, 72, 64, googlenet_image_s, GOOGLENET_BYTES, 47.0),
    ):
        exchange = allreduce_s(tree.plan, ranks, 1, GEMINI, size)
        step = synchronous(batch / ranks * image_s, exchange, size, ranks=ranks, overlap=False)
        predicted = before * IMAGENET * image_s / (epochs * IMAGENET / batch * step)
        what = f"{net}, {ranks} K20X, batch {batch:,}, speed-up"
        yield Row(source, what, published, predicted, "x", "its row of one K20")


UNKNOWN = (
    ("AlexNet 32K on 512 KNL, 24 min; on 1,024 CPUs, 11 min", "the speed of one node with this net is not published"),
    (
        "ResNet-50 on 1,024 CPUs, 48 min, on 1,600 CPUs, 32 min, and other first versions",
        "the versions of the paper differ in hardware",
    ),
    ("ResNet-50 32K on 512 KNL, 60 min; 16K on 1,024 CPUs, 52 min", "rows on which others are calibrated"),
    ("Smith, TPU pod, 30 min", "neither the number of chips nor the speed of one chip is published"),
    ("Ying, 1,024 TPUv3, 2.2 and 1.8 min", "neither the speed of one chip nor the rate of its links is published"),
    (
        "Sony, 224 s on 2,176 and 122 s on 3,456 V100",
        "speed of a device at 16 to 32 images, and input and start, are not published",
    ),
    ("Cho, about 95 %; Sony v2, 84.75 %", "the number of devices of the row is not verified"),
    (
        "KNL chip in 4, 8, 16 parts: 1,605 to 490 s",
        "the gain is of the memory hierarchy inside a chip, which has no price",
    ),
    ("Intel Caffe at 2,176 cores, 87 % and 62 %", "its exchange is not published"),
)


def table() -> str:
    """Return the rows as a Markdown table, then the rows that cannot be said."""
    lines = ["| source | row | published | predicted | error | calibrated on |", "|---|---|---|---|---|---|"]
    for row in rows():
        figures = f"{row.published:,.4g} {row.unit} | {row.predicted:,.4g} {row.unit} | {100 * row.error:+.0f} %"
        lines.append(f"| {row.source} | {row.what} | {figures} | {row.calibration} |")
    lines += ["", "| not predicted | why |", "|---|---|", *(f"| {what} | {why} |" for what, why in UNKNOWN)]
    return "\n".join(lines) + "\n"

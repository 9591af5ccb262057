"""Plan: a spec's volumes, patches, chunks and stages, as every worker of a run has them."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from contract.spec.volume.operators import Components, Infer, Read, Threshold, Write
from contract.spec.volume.volume import Volume
from trainers.volume.chunks import Box, ChunkGrid, Shape
from trainers.volume.patches import Lattice
from trainers.volume.stores.durable import write_once
from trainers.volume.stores.find import create_volume, open_volume
from trainers.volume.stores.volume import Layout
from trainers.volume.stores.volume import Volume as Stored
from trainers.volume.work.net import LoadedNet, load_net

CHUNKS: Final = "chunks"
MERGE: Final = "merge"
NUMBERS: Final = "numbers"
WORK = "volume"  # the folder of work in a run's folder


class UnfitVolume(Exception):
    """A spec does not fit its volume, its net or its folders; the message says why."""


@dataclass(frozen=True)
class Plan:
    """What all workers agree on."""

    spec: Volume
    work: Path
    source: Stored
    grid: ChunkGrid
    lattice: Lattice | None  # without a net
    net: LoadedNet | None
    outputs: dict[int, Stored]  # by the number of the operator `write`
    output_folders: tuple[Path, ...]
    labels: Stored | None  # the labels of each chunk alone, if there are components

    @property
    def stages(self) -> dict[str, int]:
        """The number of tasks of each stage, in order: a stage begins when the one before it is done."""
        return {CHUNKS: len(self.grid)} | ({MERGE: 1, NUMBERS: len(self.grid)} if self.labels else {})

    def reach(self, box: Box) -> Box:
        """Return the voxels that the task of a box reads."""
        return self.lattice.reach(box) if self.lattice else box


def make_plan(spec: Volume, folder: Path) -> Plan:
    """Open the input and create the outputs; relative paths are in `folder`. Any number of workers may do so at once.

    Raise UnfitVolume if the operators do not fit the volume, or if other tasks are in the folder of work.
    """
    try:
        return _make_plan(spec, folder)
    except ValueError as error:
        raise UnfitVolume(str(error)) from error


def _make_plan(spec: Volume, folder: Path) -> Plan:
    read = spec.operators[0]
    assert isinstance(read, Read)
    source = open_volume(folder / read.path)
    shape, work = source.layout.shape, folder / (spec.work or WORK)
    grid = ChunkGrid(shape, _edges(spec.chunk))
    infer = next((one for one in spec.operators if isinstance(one, Infer)), None)
    lattice = Lattice(shape, _edges(infer.patch), _edges(infer.overlap)) if infer else None
    _check_work(spec, work, source.layout)
    net = _load(infer, folder, source.layout.channels) if infer else None
    block = _edges([min(size, length) for size, length in zip(spec.blocks, shape, strict=True)])
    outputs = {
        number: create_volume(folder / one.path, layout, one.format)
        for number, layout in output_layouts(spec, source.layout, block, net).items()
        if isinstance(one := spec.operators[number], Write)
    }
    labels = None
    if any(isinstance(one, Components) for one in spec.operators):
        labels = create_volume(work / "labels", Layout(1, shape, np.dtype("<i4"), block), "raw")
    folders = tuple(folder / one.path for one in spec.operators if isinstance(one, Write))
    return Plan(spec, work, source, grid, lattice, net, outputs, folders, labels)


def output_layouts(spec: Volume, source: Layout, block: Shape, net: LoadedNet | None) -> dict[int, Layout]:
    """Return the layout of each volume that is written, by the number of its operator; raise ValueError."""
    channels, dtype, found = source.channels, source.dtype, {}
    for number, one in enumerate(spec.operators):
        match one:
            case Threshold(channel=channel):
                if channel >= channels:
                    raise ValueError(f"operators.{number}.channel: there are {channels} channels, from 0 on")
                channels, dtype = 1, np.dtype("|u1")
            case Infer():
                assert net is not None
                channels, dtype = net.channels, np.dtype("<f4")
            case Components():
                dtype = np.dtype("<u4")
            case Write():
                found[number] = Layout(channels, source.shape, dtype, block)
            case Read():
                pass
            case _:  # normalize
                dtype = np.dtype("<f4")
    return found


def _load(infer: Infer, folder: Path, channels: int) -> LoadedNet:
    path = folder / infer.checkpoint if infer.checkpoint is not None else None
    return load_net(path, channels=channels, probabilities=infer.probabilities, threads=infer.threads)


def _check_work(spec: Volume, work: Path, source: Layout) -> None:
    """Raise ValueError if the folder of work has the tasks of another spec: they would count as done."""
    about = spec.model_dump(exclude={"lease_s", "work"}) | {"shape": [source.channels, *source.shape]}
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    path = work / "spec.sha256"
    write_once(path, digest.encode())
    if path.read_text() != digest:
        raise ValueError(f"{work} has the tasks of another volume or of other operators: choose another folder")


def _edges(sizes: list[int]) -> Shape:
    z, y, x = sizes
    return z, y, x

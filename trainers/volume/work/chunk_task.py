"""The tasks of the stages: the operators on one chunk, the merge of components, and the numbers of one chunk."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from contract.spec.volume.operators import Components, Infer, Normalize, Operator, Read, Threshold, Write
from trainers.volume.blend import Floats, infer_box
from trainers.volume.chunks import Box, shifted
from trainers.volume.components import Faces, Merged, label_chunk, merge
from trainers.volume.stores.durable import write_durably
from trainers.volume.stores.volume import Voxels
from trainers.volume.work.plan import CHUNKS, MERGE, Plan


@dataclass
class Part:
    """What the operators so far have made, and of which voxels."""

    x_CZYX: Voxels
    voxels: Box

    def within(self, box: Box) -> Voxels:
        """Return the values of a box inside these voxels."""
        return self.x_CZYX[:, *shifted(box, [side.start for side in self.voxels])]


class Tasks:
    """Carries out the tasks of a plan; each task has the same output whoever carries it out, and however often."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._merged: Merged | None = None

    def carry_out(self, stage: str, index: int) -> None:
        """Carry out one task; its output is on the disk when the call returns."""
        if stage == CHUNKS:
            self._make_chunk(index)
        elif stage == MERGE:
            self._merge()
        else:
            self._write_numbers(index)

    @property
    def components(self) -> int | None:
        """The number of components; None before they are merged, or without any."""
        return self._read_merged().components if (self._plan.work / "merged.npz").exists() else None

    def _make_chunk(self, index: int) -> None:
        box = self._plan.grid.box(index)
        reach = self._plan.reach(box)
        part = Part(self._plan.source.read(reach), reach)
        for number, operator in enumerate(self._plan.spec.operators):
            if isinstance(operator, Components):
                self._label(index, box, part, operator)
                return
            part = self._apply(operator, number, part, box)

    def _apply(self, operator: Operator, number: int, part: Part, box: Box) -> Part:
        match operator:
            case Read():
                return part
            case Normalize(mean=mean, deviation=deviation):
                x_CZYX = part.x_CZYX.astype(np.float32)
                return Part((x_CZYX - np.float32(mean)) / np.float32(deviation), part.voxels)
            case Infer():
                return Part(self._infer(part, box), box)
            case Threshold(at=at, channel=channel):
                return Part((part.x_CZYX[channel : channel + 1] >= at).astype(np.uint8), part.voxels)
            case Write():
                self._plan.outputs[number].write(box, part.within(box))
                return part
            case Components():
                raise AssertionError("components end the stage")
            case _:
                assert_never(operator)

    def _infer(self, part: Part, box: Box) -> Floats:
        assert self._plan.lattice is not None
        assert self._plan.net is not None
        x_CZYX = part.x_CZYX.astype(np.float32, copy=False)
        return infer_box(x_CZYX, part.voxels, box, self._plan.lattice, self._plan.net.apply)

    def _label(self, index: int, box: Box, part: Part, operator: Components) -> None:
        assert self._plan.labels is not None
        label_ZYX, faces = label_chunk(part.within(box)[0], operator.connectivity)
        self._plan.labels.write(box, label_ZYX[None])
        planes = dict(zip(("first_z", "first_y", "first_x"), faces.first, strict=True))
        planes |= dict(zip(("last_z", "last_y", "last_x"), faces.last, strict=True))
        _save(self._faces(index), count=np.array(faces.count), **planes)

    def _faces(self, index: int) -> Path:
        return self._plan.work / "faces" / f"{index}.npz"

    def _read_faces(self, index: int) -> Faces:
        with np.load(self._faces(index)) as saved:
            z, y, x = (saved[f"first_{axis}"] for axis in "zyx")
            last_z, last_y, last_x = (saved[f"last_{axis}"] for axis in "zyx")
            return Faces(int(saved["count"]), (z, y, x), (last_z, last_y, last_x))

    def _merge(self) -> None:
        (operator,) = (one for one in self._plan.spec.operators if isinstance(one, Components))
        made = merge(self._plan.grid, self._read_faces, operator.connectivity)
        sizes = {"start": made.start_C, "components": np.array(made.components)}
        _save(self._plan.work / "merged.npz", number=made.number_N, **sizes)

    def _read_merged(self) -> Merged:
        if self._merged is None:
            with np.load(self._plan.work / "merged.npz") as saved:
                self._merged = Merged(saved["number"], saved["start"], int(saved["components"]))
        return self._merged

    def _write_numbers(self, index: int) -> None:
        assert self._plan.labels is not None
        box = self._plan.grid.box(index)
        number_ZYX = self._read_merged().relabel(index, self._plan.labels.read(box)[0])
        after = next(n for n, one in enumerate(self._plan.spec.operators) if isinstance(one, Components))
        for number, output in self._plan.outputs.items():
            if number > after:
                output.write(box, number_ZYX[None])


def _save(path: Path, **arrays: NDArray[np.generic]) -> None:
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_durably(path, content.getvalue())

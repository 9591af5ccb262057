"""Connected components over the borders of chunks, exactly those of the whole mask.

1. Each chunk is labeled alone, 1 to n_c, and its six faces are kept.
2. Two labels are one component if two of their voxels are neighbors across a cut. For every cut between planes of
   chunks, both planes are put together from the faces of all chunks, and are compared at every offset that the
   connectivity allows: a neighbor across a cut differs by one along the cut's axis, and by one along at most
   `connectivity` - 1 others. Neighbors in different chunks lie across at least one cut, so every pair is seen.
3. The components of the graph of labels are numbered by their first chunk and label; a table maps labels to numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import coo_matrix, csgraph

from trainers.volume.chunks import ChunkGrid

Labels = NDArray[np.int32]
Ids = NDArray[np.int64]  # 0: background, 1: the first label of the first chunk, and so on


@dataclass(frozen=True)
class Faces:
    """The number of labels of a chunk, and its first and last plane along each axis."""

    count: int
    first: tuple[Labels, Labels, Labels]
    last: tuple[Labels, Labels, Labels]


def label_chunk(mask_ZYX: NDArray[Any], connectivity: int) -> tuple[Labels, Faces]:
    """Return the labels of one chunk, and what the merge needs of it."""
    near = ndimage.generate_binary_structure(3, connectivity)
    label_ZYX = np.empty(mask_ZYX.shape, np.int32)
    count = int(ndimage.label(mask_ZYX, near, output=label_ZYX))
    first = label_ZYX[0].copy(), label_ZYX[:, 0].copy(), label_ZYX[:, :, 0].copy()
    last = label_ZYX[-1].copy(), label_ZYX[:, -1].copy(), label_ZYX[:, :, -1].copy()
    return label_ZYX, Faces(count, first, last)


@dataclass(frozen=True)
class Merged:
    """The number of each label's component, and where the labels of each chunk begin."""

    number_N: NDArray[np.uint32]  # of label l of chunk c: number_N[start_C[c] + l], and 0 for the background
    start_C: Ids
    components: int

    def relabel(self, index: int, label_ZYX: Labels) -> NDArray[np.uint32]:
        """Return the components of one chunk."""
        own = self.number_N[self.start_C[index] : self.start_C[index + 1]]
        table = np.concatenate([np.zeros(1, np.uint32), own])
        return table[label_ZYX]


def merge(grid: ChunkGrid, faces_of: Callable[[int], Faces], connectivity: int) -> Merged:
    """Return the components of all labels; `faces_of` returns the faces of a chunk and is asked several times."""
    counts_C = [faces_of(index).count for index in range(len(grid))]
    start_C = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts_C, dtype=np.int64)])
    total = int(start_C[-1])
    pairs = [np.zeros((2, 0), np.int64)]
    for axis in range(3):
        for cut in range(grid.counts[axis] - 1):
            below_PQ = _plane(grid, faces_of, start_C, axis, cut, is_last=True)
            above_PQ = _plane(grid, faces_of, start_C, axis, cut + 1, is_last=False)
            pairs += [_touching(below_PQ, above_PQ, offset) for offset in offsets_across(connectivity)]
    edge_2E = np.unique(np.concatenate(pairs, axis=1), axis=1) - 1
    graph = coo_matrix((np.ones(edge_2E.shape[1], np.int8), (edge_2E[0], edge_2E[1])), shape=(total, total))
    components, member_N = csgraph.connected_components(graph, directed=False)
    if components >= 2**32:
        raise ValueError(f"{components:,} components are more than a number of 32 bits can count")
    return Merged(_number_by_first(member_N), start_C, int(components))


def offsets_across(connectivity: int) -> list[tuple[int, int]]:
    """Return the offsets within the plane of neighbors across a cut."""
    return [(p, q) for p, q in product((-1, 0, 1), repeat=2) if abs(p) + abs(q) <= connectivity - 1]


def _plane(
    grid: ChunkGrid, faces_of: Callable[[int], Faces], start_C: Ids, axis: int, place: int, *, is_last: bool
) -> Ids:
    """Return a plane of the whole volume along a cut, with the ids of all chunks' labels."""
    rest = [other for other in range(3) if other != axis]
    plane_PQ = np.zeros([grid.shape[other] for other in rest], np.int64)
    for index in _chunks_at(grid, axis, place):
        faces, box = faces_of(index), grid.box(index)
        face_pq = (faces.last if is_last else faces.first)[axis]
        p, q = (box[other] for other in rest)
        plane_PQ[p, q] = np.where(face_pq > 0, face_pq + start_C[index], 0)
    return plane_PQ


def _chunks_at(grid: ChunkGrid, axis: int, place: int) -> Iterator[int]:
    sides: list[Sequence[int]] = [range(count) for count in grid.counts]
    sides[axis] = [place]
    yield from (grid.index(position) for position in product(*sides))


def _touching(below_PQ: Ids, above_PQ: Ids, offset: tuple[int, int]) -> Ids:
    """Return the pairs of ids of neighbors at an offset, each pair once."""
    own, other = zip(*(_overlap(shift) for shift in offset), strict=True)
    a, b = below_PQ[own].ravel(), above_PQ[other].ravel()
    both = (a > 0) & (b > 0)
    found: Ids = np.unique(np.stack([a[both], b[both]]), axis=1)
    return found


def _overlap(shift: int) -> tuple[slice, slice]:
    """Return which part of an axis has a neighbor at `shift`, and the part of these neighbors."""
    if shift == 0:
        return slice(None), slice(None)
    front, back = slice(None, -1), slice(1, None)
    return (front, back) if shift > 0 else (back, front)


def _number_by_first(member_N: NDArray[Any]) -> NDArray[np.uint32]:
    """Return numbers from 1 on, in the order in which the components appear."""
    _, first_K, inverse_N = np.unique(member_N, return_index=True, return_inverse=True)
    number_K = np.empty(len(first_K), np.uint32)
    number_K[np.argsort(first_K)] = np.arange(1, len(first_K) + 1, dtype=np.uint32)
    return number_K[inverse_N]

"""UnionFind: connected components of a graph whose edges arrive in batches, by hooking and pointer jumping.

Each element points to an element of its component with a smaller or the same number. A batch hooks the larger root of
each edge to the smallest root that an edge connects it with, and then halves the paths of these roots until they have
length one (Shiloach & Vishkin, 1982): a few numpy calls for any number of edges, whose time depends on the edges alone.
"""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class UnionFind:
    """Components of the elements 0 to n - 1; an element's root is the smallest number of its component."""

    def __init__(self, n: int) -> None:
        self._parent_N: Integers = np.arange(n)

    def roots(self) -> Integers:
        """Return the roots of all elements."""
        while True:
            grandparent_N = self._parent_N[self._parent_N]
            if np.array_equal(grandparent_N, self._parent_N):
                return grandparent_N
            self._parent_N = grandparent_N

    def find(self, element_A: Integers) -> Integers:
        """Return the roots of some elements."""
        parent_N = self._parent_N
        root_A = parent_N[element_A]
        while not np.array_equal(above_A := parent_N[root_A], root_A):
            root_A = above_A
        return root_A

    def union(self, one_E: Integers, other_E: Integers) -> None:
        """Join the components of both ends of each edge."""
        parent_N = self._parent_N
        while True:
            one_E, other_E = self.find(one_E), self.find(other_E)
            differs_E = one_E != other_E
            if not differs_E.any():
                break
            one_E, other_E = one_E[differs_E], other_E[differs_E]
            np.minimum.at(parent_N, np.maximum(one_E, other_E), np.minimum(one_E, other_E))
            _jump(parent_N, np.concatenate([one_E, other_E]))


def _jump(parent_N: Integers, root_A: Integers) -> None:
    """Point elements to their roots; the paths from them have no other elements."""
    while True:
        parent_A = parent_N[root_A]
        grandparent_A = parent_N[parent_A]
        if np.array_equal(grandparent_A, parent_A):
            return
        parent_N[root_A] = grandparent_A

"""Layers of points that are small, so that few points have every border between them."""

import pytest

from store.metrics import buckets, cell_blocks, cells, chunk_rows, chunks, curves


@pytest.fixture
def small_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every border frequent: chunks of 40 points, three newest points, blocks of 16 cells of 4 steps."""
    for module in (chunks, chunk_rows, cell_blocks, curves):
        monkeypatch.setattr(module, "CHUNK", 40)
    for module in (chunks, cell_blocks, buckets):
        monkeypatch.setattr(module, "SLAB", 3)
    monkeypatch.setattr(chunks, "FOLD", 8)
    for module in (cells, buckets):
        monkeypatch.setattr(module, "FINEST", 4)
    monkeypatch.setattr(cells, "POINTS_OF_CELL", 4)
    for module in (cells, cell_blocks):
        monkeypatch.setattr(module, "BLOCK", 16)

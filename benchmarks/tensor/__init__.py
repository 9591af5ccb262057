"""Tensor parallelism: loss curves on meshes against the dense run, communication on shaped links, and its reasons."""

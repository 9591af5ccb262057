"""Tensor parallelism: the ranks of a mesh hold the parts of one replica of a GPT; only torch, and no engine."""

"""The overlap benchmark: a DDP step with the gradient hook, compared with its parts and with plain DDP."""

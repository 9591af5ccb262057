"""Optimizers: LARS, LAMB, gradient clipping, and parameters exempt from adaptation or weight decay."""

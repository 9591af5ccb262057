"""Checkpoints: complete or absent, checksummed, the last few retained; plain folders, dictionaries and tensors.

step-0000000120-attempt-2/    one checkpoint
    shared.pt                 the state that all ranks share, written by rank 0
    rank-0.pt ...             the state of each rank
    manifest.json             written last: size and checksum of every part; a folder without it is no checkpoint
"""

"""Checkpoints: whole or not there, checksummed, the last few kept; plain folders, dictionaries and tensors.

step-0000000120-attempt-2/    one checkpoint
    shared.pt                 what all ranks have alike, written by rank 0
    rank-0.pt ...             what each rank has alone
    manifest.json             written last: size and checksum of every part; without it there is no checkpoint
"""

"""Keep the memory that a step frees for the next step, instead of giving it back to the operating system.

glibc gives the free end of the heap back when it is larger than about two gradients. After the update most gradients
are there, so the next backward pass gets new pages, which the kernel fills with zeros one by one. That took up to a
tenth of a step on two cores (docs/log/engine-scale.md).
"""

import ctypes

# parameters of mallopt(3), and the largest value of its argument
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, NEVER = -1, -3, 2**31 - 1
# Larger blocks are mapped one by one, as glibc itself has it at most. In the heap they would leave holes: before
# glibc 2.38 a freed aligned block does not fit the next one of its size.
LARGEST_IN_HEAP = 32 << 20  # bytes


def reuse_freed_memory() -> bool:
    """Let this process reuse what it frees; return whether its C library can.

    The heap keeps its largest size until the process ends, which a training step needs again anyway.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc alone has it
    if mallopt is None:
        return False
    return bool(mallopt(M_TRIM_THRESHOLD, NEVER) and mallopt(M_MMAP_THRESHOLD, LARGEST_IN_HEAP))

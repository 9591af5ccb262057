"""System metrics of a node: processors, memory, disks, network and GPUs, beside the points of a run."""

"""Every path for GPUs, on one to eight GPUs of one machine: `make gpu`."""

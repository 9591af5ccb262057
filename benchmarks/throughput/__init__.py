"""The throughput benchmark: samples per second of the engine, compared with plain PyTorch."""

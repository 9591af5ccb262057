"""Run the benchmark: `make bench NAME=throughput`."""

from benchmarks.throughput.benchmark import main

if __name__ == "__main__":
    main()

"""Run the benchmark: `make bench NAME=ddp_overlap`."""

from benchmarks.ddp_overlap.benchmark import main

if __name__ == "__main__":
    main()

"""Run the benchmark: `make bench NAME=sweeps`."""

from benchmarks.sweeps.benchmark import main

if __name__ == "__main__":
    main()

"""Run the benchmark: `make bench NAME=scale`."""

from benchmarks.scale.benchmark import main

if __name__ == "__main__":
    main()

"""Run the benchmark: `make bench NAME=growth`."""

from benchmarks.growth.benchmark import main

if __name__ == "__main__":
    main()

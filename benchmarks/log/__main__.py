"""Run the benchmark: `make bench NAME=log`."""

from benchmarks.log.benchmark import main

if __name__ == "__main__":
    main()

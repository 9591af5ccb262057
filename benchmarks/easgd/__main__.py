"""Run the benchmark: `make bench NAME=easgd`."""

from benchmarks.easgd.benchmark import main

if __name__ == "__main__":
    main()

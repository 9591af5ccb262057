"""Run the benchmark: `make bench NAME=time_split`."""

from benchmarks.time_split.benchmark import main

if __name__ == "__main__":
    main()

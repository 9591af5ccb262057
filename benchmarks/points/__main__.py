"""Run the benchmark: `make bench NAME=points`."""

from benchmarks.points.benchmark import main

if __name__ == "__main__":
    main()

"""Run the benchmark: `make bench NAME=submission`."""

from benchmarks.submission.benchmark import main

if __name__ == "__main__":
    main()

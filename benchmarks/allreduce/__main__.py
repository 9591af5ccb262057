"""Run the benchmark: `make bench NAME=allreduce`."""

from benchmarks.allreduce.benchmark import main

if __name__ == "__main__":
    main()

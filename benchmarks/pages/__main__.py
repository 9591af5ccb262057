"""Run the benchmark: `make bench NAME=pages`."""

from benchmarks.pages.benchmark import main

if __name__ == "__main__":
    main()

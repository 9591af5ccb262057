"""Run the benchmark: `make bench NAME=live`."""

from benchmarks.live.benchmark import main

if __name__ == "__main__":
    main()

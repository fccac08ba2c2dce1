"""Speed, as ratios to a limit or a peer measured in the same run. `python -m tests.benchmarks` prints the table."""

"""What `make bench` runs: each figure with its floor, measured in the same run on the same machine. Prints JSON."""

"""Virtual time over the same fold and decide that the daemon runs; traces in, reports out."""

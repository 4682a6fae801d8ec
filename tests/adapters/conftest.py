"""Machines with GPUs that are not there, and clusters on them."""

from tests.adapters.machines import dask_host, machine

__all__ = ["dask_host", "machine"]

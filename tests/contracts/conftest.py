"""Real adapters beside their twins."""

from tests.adapters.machines import dask_host, machine

__all__ = ["dask_host", "machine"]

"""One foreign thing each: SQLite, NVML, Dask, the launcher, the system's users. Strangers to each other."""

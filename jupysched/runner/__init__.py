"""What lives around and in a job's process: launcher, zygote, shim, shell.

Knows processes, pipes and IPython. Must not know the queue, the daemon or Dask. Only the standard library is imported
at module level: a launcher or a shim weighs nothing, and the user's interpreter owes us nothing but Python.
"""

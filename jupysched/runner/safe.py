"""The modules that a zygote may import ahead: known to start nothing that a fork would break.

Knows names only. Anything else is imported by the job that wants it.
"""

SAFE_PRELOADS = ("numpy", "torch", "scipy", "pandas", "matplotlib", "sklearn")

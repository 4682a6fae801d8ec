"""The long-lived process that owns the state and decides."""

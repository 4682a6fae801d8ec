"""Twins of the ports, public: tested against the real ones."""

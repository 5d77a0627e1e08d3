"""Figures of the live scheduler on a real API server: `python -m bench.live`, `make bench-live`."""

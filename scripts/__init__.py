"""Checks of the repository itself; each runs as `python -m scripts.NAME` (the Makefile does) and reads no network."""

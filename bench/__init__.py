"""Benchmarks: each result is checked, each figure is a median, each range has its measurement beside it.

`make bench` (`python -m bench [NAME…]`) runs every `bench_*.py` here. Figures and commands: README.md beside this file.
"""

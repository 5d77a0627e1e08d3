"""Plays field cases against the real processes on a real control plane, and judges them from outside.

`words` registers the steps and checks, `case.load` reads a case, `runner.play` plays it.
"""

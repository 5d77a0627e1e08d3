"""How each kind of workload speaks about gangs: pure readings of decoded objects and pods.

Public are `base` (the values) and `registry` (the questions: what does an object bring, which gang is a pod in).
"""

"""Volcano Jobs where Volcano is not installed: pods, PodGroup and status of `batch.volcano.sh/v1alpha1` Jobs."""

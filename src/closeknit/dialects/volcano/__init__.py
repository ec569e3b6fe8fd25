"""Volcano's HyperNodes, PodGroups and Jobs."""

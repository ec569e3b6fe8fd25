"""Turns objects into values: the control plane's cache of a running cluster, and readers of files."""

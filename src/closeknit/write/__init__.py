"""Turns actions and decisions into writes to the cluster."""

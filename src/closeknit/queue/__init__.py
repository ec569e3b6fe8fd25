"""Pending workloads: their order, which of them are parked, and what wakes them."""

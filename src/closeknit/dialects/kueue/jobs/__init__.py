"""Jobs of every kind that Kueue manages: one descriptor per kind, and what all kinds share."""

from .names import workload_name
from .reading import READ_KINDS, GivenJob, Parsed, Reading, odd, read, requests

__all__ = ["READ_KINDS", "GivenJob", "Parsed", "Reading", "odd", "read", "requests", "workload_name"]

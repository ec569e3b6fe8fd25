"""Jobs of every kind that Kueue manages, read into requests: one file a family of kinds, one table of kinds."""

from .names import workload_name
from .reading import READ_KINDS, Job, Parsed, Reading, odd, read, requests

__all__ = ["READ_KINDS", "Job", "Parsed", "Reading", "odd", "read", "requests", "workload_name"]

"""The admission rules of the embedded host: defaults, validation, immutable fields, and holding jobs."""

from .host import HostRules
from .settings import Settings

__all__ = ["HostRules", "Settings"]

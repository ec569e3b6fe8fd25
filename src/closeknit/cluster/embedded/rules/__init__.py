"""What objects of the embedded host have to be like: defaults, validation, what may not change, and held jobs."""

from .host import HostRules
from .settings import Settings

__all__ = ["HostRules", "Settings"]

"""The admission rules of the embedded host: defaults, validation, immutable fields, and holding jobs."""

from .host import HostRules
from .settings import AdmissionSettings

__all__ = ["AdmissionSettings", "HostRules"]

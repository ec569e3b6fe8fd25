"""Closeknit's own rules for jobs: they are held until they are admitted, and their topology requests are valid."""

from .checks import check_held
from .defaulting import held

__all__ = ["check_held", "held"]

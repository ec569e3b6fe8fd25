"""What Closeknit itself asks of jobs when they are made: that they wait until their turn comes."""

from .defaulting import held

__all__ = ["held"]

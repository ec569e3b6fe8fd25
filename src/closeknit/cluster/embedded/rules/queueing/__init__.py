"""What Closeknit itself asks of jobs: that they wait until their turn comes, and can be placed when it does."""

from .checks import check_held
from .defaulting import held

__all__ = ["check_held", "held"]

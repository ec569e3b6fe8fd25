"""Actions to writes: what was decided, in the form that a cluster takes."""

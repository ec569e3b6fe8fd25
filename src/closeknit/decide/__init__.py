"""Decisions: the scheduling cycle, from the heads of the queues to what is admitted and at whose cost."""

"""Queues: who waits, in which order, and what wakes those that were set aside."""

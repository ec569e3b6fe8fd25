"""The scheduling cycle: from the heads of the queues to what is admitted and what is preempted for it."""

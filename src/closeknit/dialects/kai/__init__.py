"""KAI-Scheduler's dialect: Topology, PodGroup and Queue, the keys on jobs and pods, and the grouper.

`gang.read_gang` reads a PodGroup with its pods. `grouper.group_objects` takes whole files: it makes the PodGroups that
jobs and pods without one need, and reads all of them.
"""

"""KAI-Scheduler's dialect: Topology, PodGroup and Queue, the keys on jobs and pods, and the grouper.

`read_gangs` reads whole files; `grouper` makes the PodGroups that jobs and pods without one need.
"""

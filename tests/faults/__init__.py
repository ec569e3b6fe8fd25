"""Faults on a real control plane: what users were told stays true, whoever dies, whatever is lost on the way.

ground      real servers with our installation, simulated machines and queues
replica     our controller as a process: killed, stopped in its tracks, asked what it believes
users       a stream of what people do, over the network
accounts    what they were told, and that nothing of it is lost or doubled
evidence    every object as it was at one moment, and every change since another
judge       the invariants, and whether a state that is rebuilt is the one that runs
"""

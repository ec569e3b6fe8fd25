"""Faults on a real control plane: acknowledged writes hold, whichever process dies and whatever messages are lost.

ground      real servers with our installation, simulated machines and queues
replica     our controller as a process: killed, suspended, asked for its cached state
users       a stream of user actions, over the network
accounts    what was acknowledged to users, and that nothing of it is lost or duplicated
evidence    every object as it was at one moment, and every change since another
judge       the invariants, and whether a state that is rebuilt is the one that runs
"""

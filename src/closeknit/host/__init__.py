"""A whole cluster in one process: the store, its stand-ins and the control plane, on a clock of choice."""

"""The control plane: changes come in, reconcilers and the scheduler decide, writes go out. It runs on any host."""

"""Stand-ins for what runs around a control plane: kubelets, the binding of pods, controllers of the kinds."""

"""The embedded host seen from outside: the REST protocol of Kubernetes, as far as kubectl and controllers use it."""

"""Real servers for the tests: built once from their modules, started on loopback, stopped by process id.

`versions.py` says what there is, `build.py` builds it into a cache outside the work tree, and `control_plane.py`
starts etcd, kube-apiserver and, if asked, kube-controller-manager. No source or binary of theirs is kept here.
"""

"""Whether an object is really a child of its owner: it has a kind, and a name or label, that the controller gives.

Any user who may create pods or jobs in a namespace may name any owner in `metadata.ownerReferences`; no server checks
that. Controllers give their children fixed names or labels, so that one with a name that its owner never uses was
not made by the owner's controller. An owner of a kind that is not listed here may have children of any kind and name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .raw import Raw, at, items, number

CONTROLLER_UIDS = ("batch.kubernetes.io/controller-uid", "controller-uid")
RAY_CLUSTER = "ray.io/cluster"

Check = Callable[[Raw, Raw], bool]
"""Whether the second object is a child of the first; the kinds fit."""


def is_child(owner: Raw, child: Raw) -> bool:
    """is_child(a JobSet "a" with 2 replicas of "w", a Job "a-w-1") is true; for a Job "a-w-2" it is not."""
    if owner.get("kind") == "AppWrapper":
        return _component(owner, child)
    known = _CHILDREN.get(owner.get("kind", ""))
    if known is None:
        return True
    check = known.get(child.get("kind", ""))
    return check is not None and check(owner, child)


def has_unlisted_owners(wrapper: Raw) -> bool:
    """Whether pods of an AppWrapper may have owners that are not listed here.

    They are the ReplicaSets of a Deployment, or made by the operator of a kind whose pods a component has to declare.
    """
    for component in items(wrapper, "spec", "components"):
        kind = at(component, "template", "kind")
        if kind not in _CHILDREN and (kind == "Deployment" or items(component, "podSets")):
            return True
    return False


def between(owners: Iterable[str]) -> set[str]:
    """The kinds that may stand between owners of these kinds and their pods: {"Job", "JobSet"} for a TrainJob."""
    found: set[str] = set()
    ahead = list(owners)
    while ahead:
        kind = ahead.pop()
        children = _CHILDREN if kind == "AppWrapper" else _CHILDREN.get(kind, {})
        new = children.keys() - found - {"Pod"}
        found |= new
        ahead += new
    return found


def _name(raw: Raw) -> str:
    name: str = at(raw, "metadata", "name") or ""
    return name


def _label(raw: Raw, key: str) -> str:
    value: str = at(raw, "metadata", "labels", key) or ""
    return value


def _index(name: str, prefix: str) -> int | None:
    """The number after a prefix: _index("a-w-1", "a-w-") == 1."""
    rest = name.removeprefix(prefix)
    return int(rest) if rest != name and rest.isdigit() and rest.isascii() and len(rest) < 10 else None


def _any(_owner: Raw, _child: Raw) -> bool:
    return True


def _selected(owner: Raw, child: Raw) -> bool:
    """A Job's pods match its selector, by default its uid; the Job controller ignores others and deletes excess."""
    if at(owner, "spec", "manualSelector") is True:
        wanted = at(owner, "spec", "selector", "matchLabels") or {}
        return all(_label(child, key) == value for key, value in wanted.items())
    return at(owner, "metadata", "uid") in [_label(child, key) for key in CONTROLLER_UIDS]


def _same_name(owner: Raw, child: Raw) -> bool:
    return _name(owner) == _name(child)


def _prefixed(owner: Raw, child: Raw) -> bool:
    return _name(child).startswith(f"{_name(owner)}-")


def _numbered(owner: Raw, child: Raw) -> bool:
    return _index(_name(child), f"{_name(owner)}-") is not None


def _replica(owner: Raw, child: Raw) -> bool:
    for one in items(owner, "spec", "replicatedJobs"):
        index = _index(_name(child), f"{_name(owner)}-{one.get('name')}-")
        if index is not None and index < number(one, "replicas", default=1):
            return True
    return False


def _launcher(owner: Raw, child: Raw) -> bool:
    return _name(child) == f"{_name(owner)}-launcher"


def _ray_cluster(owner: Raw, child: Raw) -> bool:
    """A RayJob's cluster is the one in its status; until that is written, its name begins with the job's."""
    name = at(owner, "status", "rayClusterName")
    return _name(child) == name if name else _prefixed(owner, child)


def _of_ray_cluster(owner: Raw, child: Raw) -> bool:
    return _label(child, RAY_CLUSTER) == _name(owner)


def _component(owner: Raw, child: Raw) -> bool:
    wanted = child.get("kind"), _name(child)
    found = (at(one, "template") or {} for one in items(owner, "spec", "components"))
    return any((one.get("kind"), _name(one)) == wanted for one in found)


_TRAINING: dict[str, Check] = {"Pod": _prefixed}
_CHILDREN: dict[str, dict[str, Check]] = {
    "Job": {"Pod": _selected},
    "JobSet": {"Job": _replica},
    "TrainJob": {"JobSet": _same_name},
    "MPIJob": {"Job": _launcher, "Pod": _prefixed},
    "PyTorchJob": _TRAINING,
    "RayCluster": {"Pod": _of_ray_cluster},
    "RayJob": {"RayCluster": _ray_cluster, "Job": _same_name},
    "SparkApplication": {"Pod": _any},
    "LeaderWorkerSet": {"StatefulSet": _same_name},
    "StatefulSet": {"Pod": _numbered},
    "Pod": {"StatefulSet": _same_name, "Pod": _any},
}
"""By kind of owner and of child. A leader's pod owns the set of its workers, a Spark driver its executors."""

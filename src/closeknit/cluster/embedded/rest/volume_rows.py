"""What `kubectl get` prints for PersistentVolumeClaims, PersistentVolumes and StorageClasses."""

from __future__ import annotations

from typing import Any

from ...port import Raw

UNSET = "<unset>"
SHORT = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
CLAIM = "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode+"
VOLUME = (
    "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode+"
)
STORAGE_CLASS = "Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age"


def claim(raw: Raw, _now: float) -> list[Any]:
    """Capacity and access modes are those of the volume, once there is one."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    bound = bool(spec.get("volumeName"))
    phase = "Terminating" if "deletionTimestamp" in raw["metadata"] else status.get("phase", "")
    return [
        phase,
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "") if bound else "",
        _modes(status) if bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or UNSET,
        spec.get("volumeMode") or UNSET,
    ]


def volume(raw: Raw, _now: float) -> list[Any]:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    owner = spec.get("claimRef") or {}
    return [
        (spec.get("capacity") or {}).get("storage", ""),
        _modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if "deletionTimestamp" in raw["metadata"] else status.get("phase", ""),
        f"{owner.get('namespace', '')}/{owner.get('name', '')}" if owner else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        spec.get("volumeMode") or UNSET,
    ]


def storage_class(raw: Raw, _now: float) -> list[Any]:
    return [
        raw.get("provisioner", ""),
        raw.get("reclaimPolicy", ""),
        raw.get("volumeBindingMode", ""),
        bool(raw.get("allowVolumeExpansion")),
    ]


def _modes(owner: Raw) -> str:
    return ",".join(SHORT.get(one, one) for one in owner.get("accessModes") or ())

"""PersistentVolumeClaims, PersistentVolumes and StorageClasses: defaults, and what an API server refuses.

The finalizers that protect claims and volumes in use are left out, and so are sources of volumes: the host mounts
nothing.
"""

from __future__ import annotations

from ....dialects.field import Field
from ....dialects.volumes import IS_DEFAULT
from ...kinds import STORAGE_CLASS
from ...port import Raw
from .causes import Causes
from .quantities import canonical_all
from .rule import KindRule, Making, unchanged

MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
RECLAIMS = ("Delete", "Retain", "Recycle")
BINDINGS = ("Immediate", "WaitForFirstConsumer")
FILESYSTEM = "Filesystem"


def _filled_claim(raw: Raw) -> Raw:
    spec = dict(raw.get("spec") or {})
    needs = spec.get("resources") or {}
    if needs:
        spec["resources"] = {key: canonical_all(value) for key, value in needs.items()}
    return {
        **raw,
        "spec": {**spec, "volumeMode": spec.get("volumeMode") or FILESYSTEM},
        "status": {"phase": "Pending", **(raw.get("status") or {})},
    }


def _begun_claim(making: Making, raw: Raw) -> Raw:
    """A new claim without a class gets the default one, and without one none."""
    spec = raw.get("spec") or {}
    if "storageClassName" in spec:
        return raw
    default = next((one for one in making.store.all(STORAGE_CLASS) if is_default(one)), None)
    return raw if default is None else {**raw, "spec": {**spec, "storageClassName": default["metadata"]["name"]}}


def is_default(storage_class: Raw) -> bool:
    notes = storage_class["metadata"].get("annotations") or {}
    return any(notes.get(key) == "true" for key in IS_DEFAULT)


def _check_claim(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    _check_modes(spec, causes)
    if not spec.at("resources", "requests", "storage").given:
        causes.required(spec.at("resources", "requests", "storage"))


def _check_claim_change(old: Field, new: Field, causes: Causes) -> None:
    before, after = old.at("spec"), new.at("spec")
    fixed = ["accessModes", "selector", "volumeMode"]
    fixed += [key for key in ("storageClassName", "volumeName") if before.at(key).value]
    unchanged(before, after, causes, *fixed)


def _filled_volume(raw: Raw) -> Raw:
    spec = dict(raw.get("spec") or {})
    if spec.get("capacity"):
        spec["capacity"] = canonical_all(spec["capacity"])
    filled = {
        "persistentVolumeReclaimPolicy": spec.get("persistentVolumeReclaimPolicy") or "Retain",
        "volumeMode": spec.get("volumeMode") or FILESYSTEM,
    }
    return {**raw, "spec": {**spec, **filled}, "status": {"phase": "Pending", **(raw.get("status") or {})}}


def _check_volume(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    _check_modes(spec, causes)
    if not spec.at("capacity", "storage").given:
        causes.required(spec.at("capacity"))
    causes.one_of(spec.at("persistentVolumeReclaimPolicy"), RECLAIMS)
    required = spec.at("nodeAffinity", "required")
    if required.given and not required.at("nodeSelectorTerms").items():
        causes.required(required.at("nodeSelectorTerms"), "must have at least one node selector term")


def _check_modes(spec: Field, causes: Causes) -> None:
    modes = spec.at("accessModes").items()
    if not modes:
        causes.required(spec.at("accessModes"), "at least 1 access mode is required")
    for mode in modes:
        causes.one_of(mode, MODES)
    if len(modes) > 1 and any(mode.text() == MODES[-1] for mode in modes):
        causes.forbidden(spec.at("accessModes"), "may not use ReadWriteOncePod with other access modes")


def _filled_class(raw: Raw) -> Raw:
    return {
        **raw,
        "reclaimPolicy": raw.get("reclaimPolicy") or "Delete",
        "volumeBindingMode": raw.get("volumeBindingMode") or "Immediate",
    }


def _check_class(raw: Field, causes: Causes) -> None:
    if not raw.at("provisioner").text():
        causes.required(raw.at("provisioner"))
    causes.one_of(raw.at("reclaimPolicy"), RECLAIMS[:2])
    causes.one_of(raw.at("volumeBindingMode"), BINDINGS)
    for term in raw.at("allowedTopologies").items():
        for one in term.at("matchLabelExpressions").items():
            if not one.at("values").items():
                causes.required(one.at("values"))


def _check_class_change(old: Field, new: Field, causes: Causes) -> None:
    for key in ("provisioner", "parameters"):
        if old.at(key).value != new.at(key).value:
            causes.forbidden(new.at(key), "updates to this field are forbidden")
    unchanged(old, new, causes, "reclaimPolicy", "volumeBindingMode")


CLAIM_RULE = KindRule(_filled_claim, _begun_claim, check=_check_claim, change=_check_claim_change)
VOLUME_RULE = KindRule(_filled_volume, check=_check_volume)
STORAGE_CLASS_RULE = KindRule(_filled_class, check=_check_class, change=_check_class_change)

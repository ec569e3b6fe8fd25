"""Validation of metadata, the same for all kinds: names, labels, annotations, owners, finalizers."""

from __future__ import annotations

from ....dialects.field import Field
from ....model.label_names import is_label_value, is_qualified_name
from ...kinds import Kind
from ...port import Raw
from ..deletion import FOREGROUND, ORPHAN
from .causes import Causes
from .names import TOO_LONG, NameForm

MAX_ANNOTATIONS = 256 * 1024
STANDARD_FINALIZERS = ("kubernetes", ORPHAN, FOREGROUND)
_PARTS = ("labels", "annotations", "ownerReferences", "finalizers")
_KEY = "a name has at most 63 letters, digits, '-', '_' and '.', after an optional domain and '/'"
_VALUE = "use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"


def tidy(meta: Raw) -> Raw:
    """The metadata without empty fields, which an API server treats as absent."""
    for part in _PARTS:
        if part in meta and not meta[part]:
            return {key: value for key, value in meta.items() if value or key not in _PARTS}
    return meta


def check_metadata(kind: Kind, form: NameForm, meta: Field, causes: Causes) -> None:
    _check_name(form, meta, causes)
    check_labels(meta.at("labels"), causes)
    check_annotations(meta.at("annotations"), causes)
    _check_owners(meta.at("ownerReferences"), causes)
    _check_finalizers(meta.at("finalizers"), causes, kind.is_built_in)


def _check_name(form: NameForm, meta: Field, causes: Causes) -> None:
    prefix, name = meta.at("generateName"), meta.at("name")
    wrong = form(prefix.text().removesuffix("-") + ("x" if prefix.text() == "-" else "")) if prefix.text() else ""
    if wrong and not wrong.startswith(TOO_LONG):
        causes.invalid(prefix, wrong)
    wrong = form(name.text())
    if wrong:
        causes.invalid(name, wrong)


def check_labels(labels: Field, causes: Causes) -> None:
    for key, value in labels.fields().items():
        if not is_qualified_name(key):
            causes.invalid(labels, _KEY, key)
        if not is_label_value(value.text()):
            causes.invalid(labels, _VALUE, value.value)


def check_annotations(annotations: Field, causes: Causes) -> None:
    size = 0
    for key, value in annotations.fields().items():
        size += len(key.encode(errors="replace")) + len(value.text().encode(errors="replace"))
        if not is_qualified_name(key.lower()):
            causes.invalid(annotations, _KEY, key)
    if size > MAX_ANNOTATIONS:
        causes.too_long(annotations, MAX_ANNOTATIONS)


def _check_owners(owners: Field, causes: Causes) -> None:
    controllers = 0
    for owner in owners.items():
        version = owner.at("apiVersion").text()
        if not version or version.count("/") > 1:
            causes.invalid(f"{owners.path}.apiVersion", "specify a group and a version such as batch/v1", version)
        for key in ("kind", "name", "uid"):
            if not owner.at(key).text():
                causes.invalid(f"{owners.path}.{key}", "must not be empty", "")
        if (version, owner.at("kind").text()) == ("v1", "Event"):
            causes.invalid(owners, "an Event cannot own anything", owner.value)
        controllers += owner.at("controller").value is True
    if controllers > 1:
        causes.invalid(owners, "only one owner can be the controller")


def _check_finalizers(finalizers: Field, causes: Causes, of_kubernetes: bool) -> None:
    names = [one.text() for one in finalizers.items()]
    for one in finalizers.items():
        if not is_qualified_name(one.text()):
            causes.invalid(finalizers, _KEY, one.value)
        elif "/" not in one.text() and one.text() not in STANDARD_FINALIZERS and of_kubernetes:
            causes.invalid(one, "must have a domain, such as example.com/cleanup")
    if ORPHAN in names and FOREGROUND in names:
        causes.invalid(finalizers, f"{ORPHAN} and {FOREGROUND} cannot be combined")


def check_metadata_change(old: Field, new: Field, causes: Causes) -> None:
    """An object that is being deleted gets no new finalizers."""
    if not old.at("deletionTimestamp").given:
        return
    before = [one.text() for one in old.at("finalizers").items()]
    added = [one.text() for one in new.at("finalizers").items() if one.text() not in before]
    if added:
        text = f"cannot be added while the object is being deleted: {', '.join(added)}"
        causes.forbidden(new.at("finalizers"), text)

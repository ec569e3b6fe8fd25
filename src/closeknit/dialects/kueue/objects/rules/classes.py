"""The rules for the small kinds: WorkloadPriorityClass, AdmissionCheck, ProvisioningRequestConfig."""

from __future__ import annotations

from .....model.provisioning import MERGE_POLICIES
from ....field import Field
from ..admission_checks import CheckSpec
from ..provisioning import ProvisioningSpec
from .limits import check_limits
from .values import INT32_MIN, check_reference, check_spelling, check_word


def check_priority_class(one: Field) -> None:
    """Check the value, a top-level field; there is no spec."""
    value = one.at("value")
    if not value.given:
        value.wrong("is missing", "set a whole number, as a top-level field")
    value.count(least=INT32_MIN)
    check_limits(one, "WorkloadPriorityClass")


def check_admission_check(check: Field) -> None:
    spec = check.at("spec")
    check_spelling(spec, CheckSpec)
    controller = spec.at("controllerName")
    if not controller.given:
        controller.wrong("is missing", "set the name of the controller that runs the check")
    check_limits(check, "AdmissionCheck")
    parameters = spec.at("parameters")
    if parameters.given:
        for key in ("apiGroup", "kind"):
            if not parameters.at(key).given:
                parameters.at(key).wrong(
                    "is missing", "set the API group, kind and name of the object with the parameters"
                )
        check_reference(parameters.at("name"), "the object with the parameters")


def check_admission_check_update(old: Field, new: Field) -> None:
    check_admission_check(new)
    before, after = old.at("spec", "controllerName").text(), new.at("spec", "controllerName")
    if before != after.text():
        after.wrong(f"cannot be changed from {before}", "create a new AdmissionCheck")


def check_provisioning_config(config: Field) -> None:
    spec = config.at("spec")
    check_spelling(spec, ProvisioningSpec)
    check_reference(spec.at("provisioningClassName"), "a provisioning class")
    check_limits(config, "ProvisioningRequestConfig")
    check_word(spec.at("podSetMergePolicy"), MERGE_POLICIES, "")
    _check_updates(spec.at("podSetUpdates", "nodeSelector"))


def _check_updates(updates: Field) -> None:
    for update in updates.items():
        key, detail = update.at("key"), update.at("valueFromProvisioningClassDetail")
        if not key.given:
            key.wrong("is missing", "set the key of the label")
        if not detail.given:
            detail.wrong("is missing", "set the detail of the provisioning class that provides the value")

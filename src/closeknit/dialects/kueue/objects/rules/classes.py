"""The rules for the small kinds: WorkloadPriorityClass, AdmissionCheck, ProvisioningRequestConfig."""

from __future__ import annotations

from .....model.label_names import is_qualified_name
from .....model.provisioning import MERGE_POLICIES
from ....field import Field, shown
from ....node_choice import LABEL_NAME
from ..admission_checks import CheckSpec
from ..provisioning import ProvisioningSpec
from .values import INT32_MIN, check_length, check_reference, check_spelling, check_text, check_word

MAX_DESCRIPTION = 2048
MAX_CONTROLLER = 253
MAX_PARAMETERS = 100
MAX_PARAMETER = 255
MAX_UPDATES = 8


def check_priority_class(one: Field) -> None:
    """The value is not inside a spec."""
    value = one.at("value")
    if not value.given:
        value.wrong("is missing", "give a whole number, at the top of the object")
    value.count(least=INT32_MIN)
    check_text(one.at("description"), MAX_DESCRIPTION)


def check_admission_check(check: Field) -> None:
    spec = check.at("spec")
    check_spelling(spec, CheckSpec)
    controller = spec.at("controllerName")
    if not controller.text():
        controller.wrong("is missing", "give the name of the controller that runs the check")
    check_text(controller, MAX_CONTROLLER)
    parameters = spec.at("parameters")
    if parameters.given:
        for key in ("apiGroup", "kind"):
            if not parameters.at(key).text():
                parameters.at(key).wrong("is missing", "say what object holds the parameters")
        check_reference(parameters.at("name"), "the object that holds the parameters")


def check_admission_check_update(old: Field, new: Field) -> None:
    check_admission_check(new)
    before, after = old.at("spec", "controllerName").text(), new.at("spec", "controllerName")
    if before != after.text():
        after.wrong(f"cannot be changed from {before}", "make a new AdmissionCheck")


def check_provisioning_config(config: Field) -> None:
    spec = config.at("spec")
    check_spelling(spec, ProvisioningSpec)
    check_reference(spec.at("provisioningClassName"), "a provisioning class")
    check_length(spec.at("parameters"), MAX_PARAMETERS)
    for value in spec.at("parameters").fields().values():
        check_text(value, MAX_PARAMETER)
    check_length(spec.at("managedResources"), MAX_PARAMETERS)
    for name in spec.at("managedResources").items():
        if not is_qualified_name(name.text()):
            name.wrong(f"is {shown(name.text())}, not the name of a resource", "write one such as cpu")
    for key in ("backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"):
        spec.at("retryStrategy", key).count()
    check_word(spec.at("podSetMergePolicy"), MERGE_POLICIES, "")
    _check_updates(spec.at("podSetUpdates", "nodeSelector"))


def _check_updates(updates: Field) -> None:
    check_length(updates, MAX_UPDATES)
    for update in updates.items():
        key, detail = update.at("key"), update.at("valueFromProvisioningClassDetail")
        if not is_qualified_name(key.text()):
            key.wrong(f"is {shown(key.text())}, not a label name", LABEL_NAME)
        if not detail.text():
            detail.wrong("is missing", "name the detail of the provisioning class that gives the value")

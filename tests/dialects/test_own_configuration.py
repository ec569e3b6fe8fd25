"""Our own configuration."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.own_configuration import OwnConfiguration, own_configuration

HEAD = {"apiVersion": "config.closeknit.dev/v1alpha1", "kind": "Configuration"}


def test_all_fields_are_read() -> None:
    given = {
        "profile": "kueue",
        "featureGates": {"VerifyBeforeAdmit": True},
        "notReadyDelay": "3s",
        "writesPerSecond": 100,
        "eventsPerSecond": 2.5,
        "groups": {"order": "spread", "steps": 500},
    }
    root = Field.root({**HEAD, **given})
    groups: dict[str, Any] = {"group_order": "spread", "group_steps": 500}
    assert own_configuration(root) == OwnConfiguration("kueue", {"VerifyBeforeAdmit": True}, 3.0, 100.0, 2.5, **groups)
    assert not root.report.mistakes


def test_an_empty_one_leaves_everything_as_it_is() -> None:
    root = Field.root(HEAD)
    assert own_configuration(root) == OwnConfiguration("", {}, 30.0, 0.0, 50.0)
    assert not root.report.mistakes


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"notReadyDelays": "3s"}, "notReadyDelays: is not a known field; did you mean notReadyDelay?"),
        ({"groups": {"order": "tight"}}, 'groups.order: is "tight"; use one of: binpack, spread'),
        ({"groups": {"steps": 0}}, "groups.steps: is 0; use a whole number from 1 to 2147483647"),
        ({"profile": "kueu"}, 'profile: is "kueu"; use one of: closeknit, kueue'),
        ({"featureGates": {"VerifyBeforAdmit": True}}, "is not a known feature gate; did you mean VerifyBeforeAdmit?"),
        ({"featureGates": {"AutoLevel": "on"}}, 'featureGates.AutoLevel: is "on"; use true or false'),
        ({"notReadyDelay": 3}, "notReadyDelay: is 3; use a duration such as 90s, 5m or 1h30m"),
        ({"writesPerSecond": -1}, "writesPerSecond: is -1; use a number, 0 or more"),
        ({"eventsPerSecond": "many"}, 'eventsPerSecond: is "many"; use a number, 0 or more'),
        ({"apiVersion": "config.closeknit.dev/v1"}, "use one of: config.closeknit.dev/v1alpha1"),
    ],
)
def test_mistakes_are_reported(given: dict[str, Any], said: str) -> None:
    root = Field.root({**HEAD, **given})
    own_configuration(root)
    (mistake,) = root.report.mistakes
    assert said in str(mistake)

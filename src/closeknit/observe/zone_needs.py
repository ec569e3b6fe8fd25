"""What the kubelet of a node sees of a bound pod, read from the pod's JSON.

Only pods on nodes whose zones are known need it, so pods are read here in full, which most readers avoid.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from ..dialects import core, timestamps
from ..dialects.field import Field
from ..dialects.nrt.keys import EXPECTED_ZONES, OBSERVED_ZONES
from ..dialects.nrt.zones_of_pods import expected_zones, observed_zones
from ..state.numa.zone_plans import KubeletPod

_decode = msgspec.json.Decoder(core.WirePod).decode


def needs_of(data: bytes | msgspec.Raw) -> KubeletPod:
    """What its kubelet sees of a pod whose resources are valid."""
    pod = _decode(data)
    needs = KubeletPod(core.demand(pod.spec), core.container_names(pod.spec))
    status = pod.given_status
    return told(needs, pod.metadata.annotations or {}, None if status is None else status.start_time)


def told(needs: KubeletPod, annotations: Mapping[str, Any], start: str | None) -> KubeletPod:
    """With what annotations tell of its zones, and when it was accepted."""
    if OBSERVED_ZONES in annotations or EXPECTED_ZONES in annotations:
        notes = Field.root(annotations)
        needs = needs._replace(observed=observed_zones(notes), expected=expected_zones(notes))
    return needs if start is None else needs._replace(since=started(start))


@lru_cache(maxsize=4096)
def started(text: str) -> float | None:
    """A time in seconds since 1970; None if it cannot be read."""
    try:
        return timestamps.parse(text)
    except (ValueError, TypeError):
        return None

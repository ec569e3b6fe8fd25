"""Names on the wire: API versions, attributes and annotations of NodeResourceTopology, and zones on pods."""

from __future__ import annotations

GROUP = "topology.node.k8s.io"
KIND = "NodeResourceTopology"
V1ALPHA1 = f"{GROUP}/v1alpha1"
V1ALPHA2 = f"{GROUP}/v1alpha2"
ZONE_TYPE = "Node"
"""The type of a zone that is a NUMA cell."""

FINGERPRINT = "nodeTopologyPodsFingerprint"
FINGERPRINT_METHOD = "nodeTopologyPodsFingerprintMethod"
FINGERPRINT_ANNOTATION = f"{GROUP}/fingerprint"
EXCLUSIVE_ONLY = "with-exclusive-resources"
PLACEMENT = f"{GROUP}/numaplacement-metadata"
PLACEMENT_VECTOR = f"{GROUP}/numaplacement-vector"

EXPECTED_ZONES = "closeknit.dev/numa-zones"
"""On a pod: where it was placed, in zones."""
OBSERVED_ZONES = "kai.scheduler/numa-placement-observed"
"""On a pod: where KAI's agent saw it run. The same form."""

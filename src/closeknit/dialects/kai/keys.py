"""The annotations, labels and names of KAI-Scheduler that are read or written here."""

from __future__ import annotations

PREFIX = "kai.scheduler/"

TOPOLOGY_GROUP = "kai.scheduler"
GROUP = "scheduling.run.ai"
POD_GROUP_VERSION = GROUP + "/v2alpha2"
QUEUE_VERSION = GROUP + "/v2"

TOPOLOGY = PREFIX + "topology"
REQUIRED = PREFIX + "topology-required-placement"
PREFERRED = PREFIX + "topology-preferred-placement"
SEGMENT_SIZE = PREFIX + "segment-size"
SEGMENT_REQUIRED = PREFIX + "segment-topology-required-placement"
SEGMENT_PREFERRED = PREFIX + "segment-topology-preferred-placement"
SEGMENTS = (SEGMENT_SIZE, SEGMENT_REQUIRED, SEGMENT_PREFERRED)
MIN_MEMBER = PREFIX + "batch-min-member"
SKIP = PREFIX + "skip-podgrouper"
POD_GROUP = "pod-group-name"
"""The annotation on a pod that names its PodGroup."""
SUB_GROUP = PREFIX + "subgroup-name"
"""The label on a pod that names its sub-group."""
QUEUE = PREFIX + "queue"
PROJECT = "project"
PRIORITY_CLASS = "priorityClassName"
PREEMPTIBILITY = PREFIX + "preemptibility"

APART = "closeknit.dev/apart"
"""An annotation of ours on a PodGroup, since no field of KAI's says it: groups that go to different domains."""

LWS_EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"
JOB_SET_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"

DEFAULT_QUEUE = "default-queue"
TRAIN, INFERENCE = "train", "inference"
PRIORITIES = {TRAIN: 50, "build-preemptible": 75, "build": 100, INFERENCE: 125}
"""The PriorityClasses of an installation of KAI."""
NOT_PREEMPTIBLE = 100
"""The priority from which a group is not preemptible, unless it says otherwise."""
PREEMPTIBLE_WORDS = ("preemptible", "non-preemptible")

ANNOTATIONS = (TOPOLOGY, REQUIRED, PREFERRED, *SEGMENTS, MIN_MEMBER, SKIP, POD_GROUP, APART)
LABELS = (SUB_GROUP, QUEUE, PROJECT, PRIORITY_CLASS, PREEMPTIBILITY)

"""What a stock kube-scheduler and a cluster need for `closeknit extender`: its configuration, and the permissions."""

from __future__ import annotations

from typing import NamedTuple

from .accounts import bound_account
from .marks import NAMESPACE
from .rbac import EXTENDER, Raw

NAME = "closeknit-extender"
CONFIGURATION = """\
# For kube-scheduler --config. Add the entry under `extenders` to the configuration that you have.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
# The extender can only choose among nodes that the scheduler offers, and without this it offers a sample of them: a
# pod would stay unschedulable although a node outside of the sample has room.
percentageOfNodesToScore: 100
extenders:
- urlPrefix: {url}
  filterVerb: filter
  prioritizeVerb: prioritize
  # The extender binds pods itself: only so does it learn which node was chosen, in time for the next pod.
  bindVerb: bind
  preemptVerb: preempt
  weight: 1
{tls}  # The extender knows nodes by itself, so their names are enough.
  nodeCacheCapable: true
  httpTimeout: 5s
  # true: pods are scheduled without regard to NUMA zones while the extender does not answer.
  ignorable: false
  # An extender applies to every profile. With managedResources only pods that request one of these are sent to it;
  # names of Kubernetes itself, such as cpu, are not allowed. Without it every pod is sent. Leave pods with CPUs of
  # their own out only if they never run on nodes with NUMA zones.
  # managedResources:
  # - name: nvidia.com/gpu
"""


class ExtenderUrl(NamedTuple):
    """Where the scheduler reaches the extender, and by which authority's certificate."""

    address: str
    is_tls: bool = False

    @property
    def url(self) -> str:
        return f"{'https' if self.is_tls else 'http'}://{self.address}"


def scheduler_configuration(where: ExtenderUrl) -> str:
    tls = "  enableHTTPS: true\n  tlsConfig:\n    caFile: /etc/kubernetes/closeknit-extender/ca.crt\n"
    return CONFIGURATION.format(url=where.url, tls=tls if where.is_tls else "")


def permissions(namespace: str = NAMESPACE) -> list[Raw]:
    """An account with a ClusterRole that holds exactly what the extender does."""
    return bound_account(NAME, namespace, EXTENDER)

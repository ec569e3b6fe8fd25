"""Checks the state of our admission policies for the controller, and logs it once per change.

    in force, for our configuration ─┬─ for another configuration: logged with the remedy
                                     ├─ not in force: jobs are suspended after creation; other kinds are not managed
                                     └─ unknown: logged as an error, and the controller continues as if in force

An unknown state switches nothing off: suspending a job again does no harm, but a pod that a policy has gated would wait
forever if the controller did not manage it.
"""

from __future__ import annotations

import logging

from ..cluster.kube.client import Client
from ..deploy.policies import AdmissionSettings, InForce, policies_hash, policies_tried

log = logging.getLogger("closeknit")

UNKNOWN = (
    "cannot determine whether the admission policies are in force: %s. Continuing as if they were; "
    "`closeknit install` grants the missing permission"
)
ANOTHER = (
    "the admission policies in force do not match this configuration (hash %s, expected %s): namespaces, frameworks, "
    "gates or the version differ; run `closeknit install --config FILE` with this configuration"
)
GONE = (
    "Closeknit's admission policies are no longer in force: %s. Jobs are suspended after creation; new pods and "
    "sets of pods are not queued; `closeknit install` restores the policies"
)
CURRENT = "admission policies are in force and match the configuration"


class Policing:
    """`home` is the controller's namespace; the expected policies are derived from `settings`."""

    def __init__(self, client: Client, home: str, settings: AdmissionSettings) -> None:
        self.client, self.home, self.wanted = client, home, policies_hash(settings)
        self._worked, self._said = False, ""

    @property
    def is_current(self) -> bool:
        """Whether the last check found the policies in force for this configuration."""
        return self._said == CURRENT

    async def look(self) -> InForce:
        """Ask the server, and log a change. The caller logs policies that are missing at the start."""
        found = await policies_tried(self.client, self.home)
        if not found.known:
            self._say(logging.ERROR, UNKNOWN % found.why)
        elif found and found.hash != self.wanted:
            self._say(logging.WARNING, ANOTHER % (found.hash or "none", self.wanted))
        elif found:
            self._say(logging.INFO, CURRENT)
        elif self._worked:
            self._say(logging.WARNING, GONE % found.why)
        self._worked = self._worked or found.works
        return found

    def _say(self, level: int, text: str) -> None:
        if text != self._said:
            self._said = text
            log.log(level, text)

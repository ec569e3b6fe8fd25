"""What the controller finds of our admission policies, and says of them: once, and again when that is another.

    in force, for our configuration ─┬─ for another one: said, with the remedy
                                     ├─ not in force: what can be suspended is, when it is seen; the rest is off
                                     └─ not known: said loudly, and everything goes on

Where it is not known nothing is switched off. Suspending a job that is seen to run does no harm where policies have
done it before; but a pod that a policy has gated would wait for ever if nobody here looked after it.
"""

from __future__ import annotations

import logging

from ..cluster.kube.client import Client
from ..deploy.policies import InForce, Settings, policies_hash, policies_tried

log = logging.getLogger("closeknit")

UNKNOWN = (
    "unknown whether admission policies of ours are in force: %s. Everything goes on as if they were; "
    "`closeknit install` grants what is missing"
)
ANOTHER = (
    "the admission policies in force are not those of this configuration (their hash is %s, ours %s): namespaces, "
    "frameworks or gates differ, or the version; `closeknit install --config FILE` with this configuration mends that"
)
GONE = (
    "admission policies of ours are not in force any more: %s. Jobs are suspended when they are seen; pods and sets "
    "that are made from now on do not wait in a queue; `closeknit install` brings the policies back"
)
WELL = "admission policies are in force, as the configuration has them"


class Policing:
    """`home` is our own namespace, `settings` what policies are made from."""

    def __init__(self, client: Client, home: str, settings: Settings) -> None:
        self.client, self.home, self.wanted = client, home, policies_hash(settings)
        self._worked, self._said = False, ""

    @property
    def is_well(self) -> bool:
        """Whether that is what was found last."""
        return self._said == WELL

    async def look(self) -> InForce:
        """Ask the server, and say what is new. That they are not there at the start is said by whoever goes by it."""
        found = await policies_tried(self.client, self.home)
        if not found.known:
            self._say(logging.ERROR, UNKNOWN % found.why)
        elif found and found.hash != self.wanted:
            self._say(logging.WARNING, ANOTHER % (found.hash or "none", self.wanted))
        elif found:
            self._say(logging.INFO, WELL)
        elif self._worked:
            self._say(logging.WARNING, GONE % found.why)
        self._worked = self._worked or found.works
        return found

    def _say(self, level: int, text: str) -> None:
        if text != self._said:
            self._said = text
            log.log(level, text)

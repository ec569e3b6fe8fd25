"""One fault: users act, controllers run, something breaks, and afterwards everything is judged.

with Scene(ground, seed=1) as scene:
    scene.begin(2)
    … break something …
    scene.judge.now()
    scene.rest()
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType

from closeknit.observe.dump import Document
from servers.process import tail

from .accounts import Accounts
from .ground import QUICK, Ground
from .judge import Judge
from .replica import Replica
from .users import Users

PATIENCE = 120.0
ALONE = "--no-leader-election"


class Scene:
    """`election` is the leader election part of the controllers' configuration."""

    def __init__(self, ground: Ground, seed: int, election: str = QUICK) -> None:
        self.ground, self.seed = ground, seed
        self.config, self.accounts = ground.config(election), Accounts()
        self.replicas: list[Replica] = []
        self.holder = ""
        """The holder of the lease when a leader was last seen."""
        self._users: Users | None = None

    def __enter__(self) -> Scene:
        self.ground.clear()
        self.judge = Judge(self.ground.cluster.kubeconfig, self.accounts, self.config)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note("\n".join(f"end of {one.log}:\n{tail(one.log, 6000)}" for one in self.replicas))
        for one in self.replicas:
            one.stop()
        if self._users is not None:
            self._users.stop()
        self.judge.close()

    def begin(self, replicas: int = 2, kubeconfig: Path | None = None, options: Sequence[str] = ()) -> None:
        """Start controllers, of which one leads, and users."""
        given = kubeconfig or self.ground.account, self.config, self.ground.logs
        self.replicas += [Replica(f"controller-{number}", *given, options) for number in range(1, replicas + 1)]
        self.act()

    def begin_alone(self, kubeconfig: Path | None = None, *options: str) -> Replica:
        """Start one controller without leader election, and users."""
        self.begin(1, kubeconfig, [ALONE, *options])
        return self.replicas[0]

    # Users

    def act(self) -> None:
        """Start the users."""
        self.seed += 1
        self._users = Users(self.ground.cluster.kubeconfig, self.seed, self.accounts)
        self._users.start()

    def pause(self) -> Users:
        assert self._users is not None
        self._users.stop()
        return self._users

    # The leader

    def leader(self, other_than: str = "") -> Replica:
        """Wait for a leader; `other_than` is an identity that no longer counts."""
        end = monotonic() + PATIENCE
        if ALONE in self.replicas[0].command:
            return self.replicas[0]
        while monotonic() < end:
            self.holder = self.ground.leader
            for one in self.replicas:
                if self.holder != other_than and self.holder.startswith(f"{one.name}_"):
                    return one
            sleep(0.05)
        raise AssertionError(f"no leader other than {self.holder}")

    def rest(self) -> Document:
        """Stop users and repair what they broke; at rest, judge everything. Returns the leader's dumped state."""
        self.pause().repair()
        believed = self.judge.at_rest(self.leader)
        assert self.ground.refusals() == [], "the shipped permissions do"
        for one in self.replicas:
            assert "Traceback" not in one.log.read_text(), f"{one.log} shows that something failed which must not"
        return believed

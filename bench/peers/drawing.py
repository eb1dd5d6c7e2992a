"""Drawing questions about a lake: random workloads, targets, trials and budgets, so that no answer is cached."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.peers.questions import Aim, AllScalings, Best, Curve, Kind, Question, Scaling, Sweep
from bench.plan import Scale
from bench.published import PublishedWorkload, published
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.statuses import STATUSES

N_TARGETS = 50
# How far targets lie from the goal, as part of the way back to where training starts: most are reached, some nowhere.
# None is beyond the limit of the workload: an error rate would be below 0.
HARDEST, EASIEST = -0.05, 0.3
COMPLETE = STATUSES.index("COMPLETE")


@dataclass(frozen=True)
class DrawableWorkload:
    """A workload of a lake, with what its archive was made from."""

    plan: PublishedWorkload
    facts: WorkloadFacts

    @property
    def aim(self) -> Aim:
        return Aim(self.facts.workload, self.plan.metrics.goal_metric, -1 if self.plan.is_maximized else 1)

    @property
    def hardest(self) -> float:
        """The distance of its hardest target from the goal."""
        return max(HARDEST, (self.plan.limit - self.plan.goal) / (self.plan.start - self.plan.goal))

    def target(self, chance: random.Random) -> float:
        """Draw a target."""
        return self._at(chance.uniform(self.hardest, EASIEST))

    def targets(self, chance: random.Random) -> tuple[float, ...]:
        """Draw N_TARGETS targets at equal distances."""
        between = (EASIEST - self.hardest) / N_TARGETS
        first = self.hardest + chance.uniform(0, between)
        return tuple(self._at(first + number * between) for number in range(N_TARGETS))

    def _at(self, part: float) -> float:
        return self.plan.goal + part * (self.plan.start - self.plan.goal)


def drawable_workloads(view: ReleaseView) -> list[DrawableWorkload]:
    """Return the synthetic workloads of a release; raise LossLakeError if it has none."""
    planned = [(Workload.parse(f"{Scale.root}/{plan.path}"), plan) for plan in published()]
    workloads = [
        DrawableWorkload(plan, view.workloads[workload]) for workload, plan in planned if workload in view.workloads
    ]
    if not workloads:
        raise LossLakeError(f"the lake has no workload of {Scale.root}: give one of an archive by bench.archive")
    return workloads


def questions(workloads: list[DrawableWorkload], kind: Kind, seed: int = 1) -> Iterator[Question]:
    """Endless questions of a kind; the same for the same seed."""
    chance = random.Random(f"{kind.name} {seed}")
    draw = _DRAWN[kind]
    while True:
        yield draw(workloads, chance)


def _scaling(workloads: list[DrawableWorkload], chance: random.Random) -> Scaling:
    chosen = chance.choice(workloads)
    return Scaling(chosen.aim, chosen.target(chance))


def _all_scalings(workloads: list[DrawableWorkload], chance: random.Random) -> AllScalings:
    return AllScalings(tuple(Scaling(one.aim, one.target(chance)) for one in workloads))


def _curve(workloads: list[DrawableWorkload], chance: random.Random) -> Curve:
    chosen = chance.choice(workloads)
    facts, study = chosen.facts, chance.randrange(len(chosen.facts.batch_sizes))
    trials = facts.trials[facts.rows_of(study)]
    trial_id = chance.choice(trials.trial_id[trials.status == COMPLETE].tolist())
    return Curve(Trial(Study(facts.workload, facts.batch_sizes[study]), trial_id), chosen.aim.metric)


def _best(workloads: list[DrawableWorkload], chance: random.Random) -> Best:
    chosen = chance.choice(workloads)
    batch_size = chance.choice(chosen.facts.batch_sizes)
    return Best(chosen.aim, round(chosen.plan.steps_to_goal(batch_size) * chance.uniform(0.5, 3)))


def _sweep(workloads: list[DrawableWorkload], chance: random.Random) -> Sweep:
    chosen = chance.choice(workloads)
    return Sweep(chosen.aim, chosen.targets(chance))


_DRAWN: dict[Kind, Callable[[list[DrawableWorkload], random.Random], Question]] = {
    Kind.ALL: _all_scalings,
    Kind.SCALING: _scaling,
    Kind.CURVE: _curve,
    Kind.BEST: _best,
    Kind.SWEEP: _sweep,
}

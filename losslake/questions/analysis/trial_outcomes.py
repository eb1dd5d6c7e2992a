"""What became of trials: the classes of the goal region."""

from __future__ import annotations

from losslake.analysis.goal_region import outcomes
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.reached import Flags, Integers
from losslake_schema.tables import STATUSES


def outcomes_of(facts: WorkloadFacts, has_reached: Flags, rows: Integers) -> Integers:
    """The class of each of these trials, as an index of goal_region.OUTCOMES.

    has_reached: the target, by trial in the order of facts.trials. rows: in that order.
    """
    status = facts.trials.status[rows]
    return outcomes(
        has_reached=has_reached[rows],
        is_infeasible=status == STATUSES.index("INFEASIBLE"),
        is_incomplete=status == STATUSES.index("INCOMPLETE"),
    )

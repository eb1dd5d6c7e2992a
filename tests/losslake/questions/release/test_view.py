from __future__ import annotations

from tests.losslake.questions.views import OTHER, WORKLOAD, view_of
from tests.oracle import Row


def test_settings_of_studies_are_those_of_their_workload() -> None:
    rows = [Row(8, 0, "COMPLETE", 1, 0.5), Row(16, 0, "COMPLETE", 1, 0.5)]
    view = view_of(rows, of_other=rows[:1], batch_units={OTHER: "tokens"}, train_steps=700)
    first = "SELECT min(study_id) FROM base.studies WHERE optimizer = ?"
    view.cursor().execute(
        "UPDATE base.studies SET train_steps = NULL WHERE study_id = (" + first + ")", [WORKLOAD.optimizer]
    )
    ours, other = view.workload(WORKLOAD), view.workload(OTHER)
    assert (view.batch_units(ours), view.train_steps(ours).tolist()) == (["something unknown"] * 2, [0, 700])
    assert (view.batch_units(other), view.train_steps(other).tolist()) == (["tokens"], [700])

"""The steps of evaluations: dense enough to locate a crossing to better than a tenth of its step."""

RESOLUTION = 0.075


def evaluation_steps(train_steps: int) -> list[int]:
    """Ascending steps from 0 to `train_steps`, each at most `RESOLUTION` of itself (or 1) after the one before."""
    steps = [0]
    while steps[-1] < train_steps:
        stride = max(1, int(steps[-1] * RESOLUTION / (1 - RESOLUTION)))
        steps.append(min(steps[-1] + stride, train_steps))
    return steps

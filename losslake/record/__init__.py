"""Record a training run in a folder, which `losslake ingest` reads: start, log, finish.

    import losslake.record

    run = losslake.record.start(workload="mine/mnist/cnn/sgd", batch_size=64, parameters={"learning_rate": 0.1})
    for step in range(1, 1001):
        run.log({"train/loss": loss}, step=step)
    run.finish()

Recording never hurts a training: `log` only puts values into a queue, takes microseconds and never raises. A thread
writes them. It needs nothing but Python's standard library. Documented in docs/recording.md.
"""

from losslake.record.behind import behind
from losslake.record.run import Run, start

__all__ = ["Run", "behind", "start"]

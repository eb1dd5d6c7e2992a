"""Logs as training loops print them, each with the curves that were printed: what a draft of a mapping has to find.

A loop records each value as the text that it prints, at the step (the number of updates) that it was measured after.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

BATCH_SIZE = 10
EPOCH_SIZE = 1_000
UPDATES = EPOCH_SIZE // BATCH_SIZE  # of an epoch


class Run:
    """The curves of one run: value by metric and step."""

    def __init__(self, seed: int = 1) -> None:
        """Take the seed of its values."""
        self.random = random.Random(seed)
        self.curves: dict[str, dict[int, float]] = {}

    def loss(self, metric: str, step: int, form: str = ".4f") -> str:
        """Record a loss, and return it as it is printed."""
        return self.add(metric, step, format(self.random.lognormvariate(0, 1), form))

    def percent(self, metric: str, step: int, form: str = ".2f") -> str:
        """Record a fraction that is printed as percent, without its sign."""
        text = format(self.random.uniform(2, 98), form)
        self.add(metric, step, str(Decimal(text) / 100))
        return text

    def share(self, metric: str, step: int) -> str:
        """Record a fraction that is printed as such."""
        return self.add(metric, step, format(self.random.uniform(0.02, 0.98), ".4f"))

    def add(self, metric: str, step: int, text: str) -> str:
        """Record a printed number."""
        self.curves.setdefault(metric, {})[step] = float(text)
        return text


@dataclass(frozen=True)
class PrintLoop:
    """A loop. write: yields the parts of its log, and fills the runs of it.

    known: what its author knows of its columns, by an expression for their names: a metric, or "" for none. answers:
    the values of keys of the mapping that the author gives when asked, if they aren't the first that is offered.
    """

    name: str
    write: Callable[..., Iterator[str]]
    known: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    n_runs: int = 1

    def log(self) -> tuple[str, list[dict[str, dict[int, float]]]]:
        """Return the text and the curves of each run."""
        runs = [Run(seed) for seed in range(1, self.n_runs + 1)]
        text = "".join(self.write(*runs))
        return text, [run.curves for run in runs]


LOOPS: list[PrintLoop] = []


def loop(
    name: str, known: Mapping[str, str] | None = None, answers: Mapping[str, str] | None = None, n_runs: int = 1
) -> Callable[[Callable[..., Iterator[str]]], Callable[..., Iterator[str]]]:
    """Add a loop to the list."""

    def add(write: Callable[..., Iterator[str]]) -> Callable[..., Iterator[str]]:
        LOOPS.append(PrintLoop(name, write, known or {}, answers or {}, n_runs))
        return write

    return add


TRAIN = {"loss": "train/loss"}


@loop("Keras: a bar and its epoch on the line above", {"accuracy": "train/accuracy", "loss": "train/loss"})
def _keras(run: Run) -> Iterator[str]:
    for epoch in range(1, 7):
        at = epoch * UPDATES
        yield f"Epoch {epoch}/6\n"
        yield f"100/100 [==============================] - {epoch}s {9 + epoch}ms/step"
        yield f" - loss: {run.loss('train/loss', at)}"
        yield f" - accuracy: {run.share('train/accuracy', at)} - val_loss: {run.loss('val/loss', at)}"
        yield f" - val_accuracy: {run.share('val/accuracy', at)}\n"


@loop("bars in it/s and s/it, a test every second epoch", {**TRAIN, "test_accuracy": "test/accuracy"})
def _bars(run: Run) -> Iterator[str]:
    for epoch in range(1, 9):
        rate, left = ("1.12s/it", "3:06:24") if epoch == 4 else (f"{1 + epoch / 10:.2f}it/s", f"00:{30 + epoch}")
        yield f"Epoch {epoch}: 100%|##########| 50/50 [{left}<00:00,  {rate},"
        yield f" loss={run.loss('train/loss', epoch * UPDATES)}]\n"
        if epoch % 2 == 0:
            yield f"Test accuracy: {run.share('test/accuracy', epoch * UPDATES)}\n"


@loop("bars that return to the start of their line", {**TRAIN}, {"repeated": '"last"'})
def _returning_bars(run: Run) -> Iterator[str]:
    for epoch in range(1, 5):
        for batch in range(0, 101, 25):
            bar = f"{'#' * (batch // 10):<10}"
            loss = run.loss("train/loss", epoch * UPDATES)
            yield f"\rEpoch {epoch}: {batch:3}%|{bar}| {batch}/100 [00:{batch // 10:02}<00:10, 12.5it/s, loss={loss}]"
        yield f"\nEpoch {epoch}: val_loss={run.loss('val/loss', epoch * UPDATES)}\n"


@loop("values before the line of their epoch")
def _values_first(run: Run) -> Iterator[str]:
    for epoch in range(1, 7):
        at = epoch * UPDATES
        yield f"val_loss: {run.loss('val/loss', at)}\nval_acc: {run.share('val/accuracy', at)}\n"
        yield f"Epoch {epoch} done in {30 + epoch}.5s\n"


@loop("steps in thousands: 1k, 1.5k", TRAIN)
def _thousands(run: Run) -> Iterator[str]:
    for step in range(500, 4_001, 500):
        shown = f"{step}" if step < 1_000 else f"{step / 1_000:g}k"
        yield f"step: {shown} loss: {run.loss('train/loss', step)}\n"


@loop("a table in a frame")
def _framed(run: Run) -> Iterator[str]:
    frame = "+-------+------------+----------+--------------+\n"
    yield frame + "| Epoch | Train Loss | Val Loss | Val Accuracy |\n" + frame
    for epoch in range(1, 7):
        at = epoch * UPDATES
        yield f"| {epoch:^5} | {run.loss('train/loss', at):^10} | {run.loss('val/loss', at):^8} |"
        yield f" {run.share('val/accuracy', at):^12} |\n"
    yield frame


@loop("a table of blanks, as skorch prints")
def _skorch(run: Run) -> Iterator[str]:
    yield "  epoch    train_loss    valid_acc    valid_loss     dur\n"
    yield "-------  ------------  -----------  ------------  ------\n"
    for epoch in range(1, 8):
        at = epoch * UPDATES
        yield f"{epoch:7}  {run.loss('train/loss', at):>12}  {run.share('val/accuracy', at):>11}"
        yield f"  {run.loss('val/loss', at):>12}  {0.09 + epoch / 1000:.4f}\n"


@loop("a table of blanks whose header is printed again", {"time": "", "accuracy": "val/accuracy"})
def _headers(run: Run) -> Iterator[str]:
    for epoch in range(1, 7):
        if epoch % 3 == 1:
            yield "epoch     train_loss  valid_loss  accuracy  time    \n"
        at = epoch * UPDATES
        yield f"{epoch:<9} {run.loss('train/loss', at):<11} {run.loss('val/loss', at):<11}"
        yield f" {run.share('val/accuracy', at):<9} 00:{10 + epoch:<5}\n"


@loop("several runs in one file, a banner before each", n_runs=3)
def _banners(*runs: Run) -> Iterator[str]:
    for run, (model, rate) in zip(runs, (("resnet18", 0.1), ("resnet34", 0.01), ("vgg", 0.003)), strict=True):
        yield f"===== training {model}, lr={rate} =====\n"
        for step in range(0, 500, 100):
            yield f"step {step} val_loss {run.loss('val/loss', step)}\n"


@loop("several runs in one file, nothing between", TRAIN, n_runs=2)
def _runs(*runs: Run) -> Iterator[str]:
    for run in runs:
        for step in range(0, 500, 100):
            yield f"[{step:4}/400] step {step}: loss = {run.loss('train/loss', step)}\n"


@loop("the logger of Python")
def _logger(run: Run) -> Iterator[str]:
    for epoch in range(1, 7):
        at = epoch * UPDATES
        yield f"2024-03-01 12:0{epoch}:01,123 INFO trainer: epoch {epoch}: train loss={run.loss('train/loss', at)},"
        yield f" val loss={run.loss('val/loss', at)}, val acc={run.percent('val/accuracy', at)}%\n"
        yield f"2024-03-01 12:0{epoch}:02,456 WARNING trainer: checkpoint {epoch} is {100 + epoch} MB\n"


@loop("the logger of absl", TRAIN)
def _absl(run: Run) -> Iterator[str]:
    for step in range(100, 800, 100):
        yield f"I0301 12:00:0{step // 100}.123456 140234 train.py:88] step = {step},"
        yield f" loss = {run.loss('train/loss', step)},"
        yield f" train_accuracy = {run.share('train/accuracy', step)}\n"


@loop("a block of lines for an epoch")
def _block(run: Run) -> Iterator[str]:
    yield "Training on cuda:0 with 4 workers\n"
    for epoch in range(1, 7):
        at = epoch * UPDATES
        yield f"Epoch: {epoch}\n  Train Loss: {run.loss('train/loss', at)}\n  Val Loss: {run.loss('val/loss', at)}\n"
        yield f"  Val Accuracy: {run.percent('val/accuracy', at)}%\n{'-' * 30}\n"


@loop("a block of lines whose epoch comes last")
def _block_last(run: Run) -> Iterator[str]:
    for epoch in range(1, 7):
        at = epoch * UPDATES
        yield f"train loss: {run.loss('train/loss', at)}\nvalidation loss: {run.loss('val/loss', at)}\n"
        yield f"=> finished epoch {epoch} of 6\n\n"


@loop("epoch and step of the epoch", TRAIN, {"counts": '"epochs"', "repeated": '"last"'})
def _nested(run: Run) -> Iterator[str]:
    for epoch in range(1, 5):
        for step in range(25, 101, 25):
            loss = run.loss("train/loss", epoch * UPDATES)
            yield f"Epoch [{epoch}/4], Step [{step}/100], Loss: {loss}\n"


@loop(
    "batch and running mean in brackets",
    {**TRAIN, "val_acc_1.*": "val/accuracy"},
    {"repeated": '"last"', "offset": "1"},
)
def _means(run: Run) -> Iterator[str]:
    for epoch in range(4):
        for batch in range(0, 100, 20):
            loss = run.loss("train/loss", (epoch + 1) * UPDATES)
            yield f"Epoch: [{epoch}][{batch:3}/100]\tTime 0.{batch + 10} (0.123)\tLoss {loss} (2.5000)\n"
        yield f" * Val Acc@1 {run.percent('val/accuracy', (epoch + 1) * UPDATES, '.3f')}\n"


@loop(
    "dictionaries",
    {"eval_loss": "val/loss", "eval_accuracy": "val/accuracy", "'loss'": "train/loss", "loss": "train/loss"},
)
def _dictionaries(run: Run) -> Iterator[str]:
    for epoch in range(1, 7):
        at = epoch * UPDATES
        yield f"{{'loss': {run.loss('train/loss', at)}, 'learning_rate': {5e-05 / epoch:.3g}, 'epoch': {epoch}.0}}\n"
        yield f"{{'eval_loss': {run.loss('val/loss', at)}, 'eval_accuracy': {run.share('val/accuracy', at)},"
        yield f" 'eval_runtime': {1.5 + epoch}, 'epoch': {epoch}.0}}\n"


@loop("pairs of keys and values")
def _pairs(run: Run) -> Iterator[str]:
    for step in range(100, 800, 100):
        yield f"step={step} train_loss={run.loss('train/loss', step, '.3e')} lr={1e-3 / step:.2e} tok_s={step},345"
        yield f" val_loss={run.loss('val/loss', step, '.3e')}\n" if step % 200 == 0 else "\n"


@loop("hours, minutes and seconds beside the values", TRAIN)
def _durations(run: Run) -> Iterator[str]:
    for step in range(100, 800, 100):
        eta = "1 day, 3:06:24" if step < 300 else f"{9 - step // 100}:06:24" if step < 600 else f"{step // 100}:24"
        yield f"[0:{step // 100:02}:23] iter {step}/700 loss {run.loss('train/loss', step)} eta {eta}\n"


@loop("steps with commas", TRAIN)
def _commas(run: Run) -> Iterator[str]:
    for step in range(500, 1_000_501, 250_000):
        yield f"Step {step:,} | Loss: {run.loss('train/loss', step)} | Tokens/s: {10 + step // 10_000},345\n"


@loop("the lines of two ranks", {**TRAIN, "rank": ""})
def _ranks(run: Run) -> Iterator[str]:
    for step in range(10, 80, 10):
        yield f"[rank0]: step {step} loss {run.loss('train/loss', step)}\n[rank1]: step {step} loss 9.{step}\n"


@loop(
    "dictionaries of two ranks",
    {"eval_loss": "val/loss", "eval_accuracy": "val/accuracy", "'loss'": "train/loss", "loss": "train/loss"},
)
def _dictionaries_of_ranks(run: Run) -> Iterator[str]:
    for line in "".join(_dictionaries(run)).splitlines():
        yield f"[rank0]: {line}\n[rank1]: {line.replace('0.', '9.')}\n"


@loop("a validation every second epoch", {"(val_)?accuracy.*": "val/accuracy"})
def _every_second(run: Run) -> Iterator[str]:
    for epoch in range(1, 9):
        yield f"Epoch {epoch:03d} train_loss {run.loss('train/loss', epoch * UPDATES)}\n"
        if epoch % 2 == 0:
            yield f"  => validation accuracy: {run.percent('val/accuracy', epoch * UPDATES)}%\n"


@loop(
    "PyTorch's quick start",
    {"loss": "train/loss", ".*avg_loss": "test/loss", "(test_)?accuracy.*": "test/accuracy"},
    {"repeated": '"last"'},
)
def _quick_start(run: Run) -> Iterator[str]:
    for epoch in range(1, 6):
        at = epoch * UPDATES
        yield f"Epoch {epoch}\n-------------------------------\n"
        for examples in range(64, 1_000, 300):
            yield f"loss: {run.loss('train/loss', at, '>7f')}  [{examples:>5d}/{EPOCH_SIZE:>5d}]\n"
        yield f"Test Error: \n Accuracy: {run.percent('test/accuracy', at, '>0.1f')}%,"
        yield f" Avg loss: {run.loss('test/loss', at, '>8f')} \n\n"


@loop("PyTorch's MNIST example", answers={"repeated": '"last"'})
def _mnist(run: Run) -> Iterator[str]:
    for epoch in range(1, 6):
        at = epoch * UPDATES
        for examples in range(0, 1_000, 250):
            yield f"Train Epoch: {epoch} [{examples}/1000 ({examples // 10}%)]"
            yield f"\tLoss: {run.loss('train/loss', at, '.6f')}\n"
        yield f"\nTest set: Average loss: {run.loss('test/loss', at)},"
        yield f" Accuracy: {run.percent('test/accuracy', at, '.0f')}00/10000 ("
        yield f"{run.curves['test/accuracy'][at] * 100:.0f}%)\n\n"


@loop("Lightning's bar with values of the epoch", answers={"offset": "1"})
def _lightning(run: Run) -> Iterator[str]:
    for epoch in range(6):
        at = (epoch + 1) * UPDATES
        yield f"Epoch {epoch}: 100%|██████████| 100/100 [00:0{epoch + 1}<00:00, {18 + epoch}.52it/s, v_num=0,"
        yield f" train_loss={run.loss('train/loss', at)}, val_loss={run.loss('val/loss', at)}]\n"


@loop("tokens in millions and billions", {**TRAIN, "tokens": ""})
def _tokens(run: Run) -> Iterator[str]:
    for step in range(1, 8):
        tokens = f"{step * 250}M" if step < 4 else f"{step / 4:g}B"
        yield f"tokens: {tokens} | step: {step * 1_000} | loss: {run.loss('train/loss', step * 1_000)} | lr: 3.0e-04\n"


@loop("a time of training before an accuracy", {"loss": "train/loss", "acc.*": "test/accuracy"})
def _time_between(run: Run) -> Iterator[str]:
    for epoch in range(1, 6):
        at = epoch * UPDATES
        yield f"epoch {epoch} | loss {run.loss('train/loss', at)} | train {epoch}.1s"
        yield f" | Acc {run.percent('test/accuracy', at)}%\n"


@loop("a configuration on each line", n_runs=3, answers={"starts": "Config"})
def _configurations(*runs: Run) -> Iterator[str]:
    for run, (rate, name) in zip(runs, ((0.1, "sgd"), (0.01, "adam"), (0.2, "lion")), strict=True):
        for epoch in range(1, 4):
            yield f"Config: {{'lr': {rate}, 'optimizer': '{name}'}} epoch {epoch} val_loss"
            yield f" {run.loss('val/loss', epoch * UPDATES)}\n"


@loop("XGBoost", {"train.logloss": "train/loss", "eval.logloss": "val/loss"})
def _xgboost(run: Run) -> Iterator[str]:
    for step in range(8):
        yield f"[{step}]\ttrain-logloss:{run.loss('train/loss', step, '.5f')}"
        yield f"\teval-logloss:{run.loss('val/loss', step, '.5f')}\n"


@loop("a best value beside the last one", {"best": ""})
def _best(run: Run) -> Iterator[str]:
    for epoch in range(1, 8):
        at = epoch * UPDATES
        yield f"epoch {epoch}: val_loss = {run.loss('val/loss', at)}, best = {min(run.curves['val/loss'].values())}"
        yield " (saved)\n" if epoch % 3 == 1 else "\n"


@loop("minutes within a line that isn't always the same")
def _varying(run: Run) -> Iterator[str]:
    for epoch in range(1, 8):
        at = epoch * UPDATES
        note = "" if epoch % 2 else " | patience 1/5" if epoch == 4 else " | new best"
        yield f"Epoch {epoch}/7 ({epoch}m {epoch + 3}s){note} | train loss {run.loss('train/loss', at)}"
        yield f" | val loss {run.loss('val/loss', at)}\n"


@loop("values after arrows", {"cer": ""})
def _arrows(run: Run) -> Iterator[str]:
    for step in range(1_000, 7_000, 1_000):
        yield f">> step {step} -> val_loss -> {run.loss('val/loss', step)}\n>> saved model_{step}.pt\n"


@loop("iterations and a validation below them", {"loss": "train/loss"})
def _validations(run: Run) -> Iterator[str]:
    for step in range(50, 501, 50):
        yield f"iteration {step}: training loss {run.loss('train/loss', step)}, {step + 9}.55 ms\n"
        if step % 100 == 0:
            yield f"validation loss: {run.loss('val/loss', step)}\n"


@loop("colons and a time in brackets", {"loss": "train/loss"})
def _colons(run: Run) -> Iterator[str]:
    for step in range(10, 80, 10):
        yield f"[01-02 10:0{step // 10}] Step: {step}, Loss: {run.loss('train/loss', step)}\n"


@loop("a learning rate beside losses of both splits")
def _both(run: Run) -> Iterator[str]:
    yield "model of 3 layers, 4.5M parameters\n"
    for step in range(0, 500, 50):
        yield f"iter {step:6} | train loss {run.loss('train/loss', step)} | val loss {run.loss('val/loss', step)}"
        yield f" | acc {step / 10:.2f}% | lr 3.0e-04\n"


@loop(
    "two networks in brackets", {"d_loss": "train/discriminator_loss", "g_loss": "train/loss"}, {"repeated": '"last"'}
)
def _two_networks(run: Run) -> Iterator[str]:
    for epoch in range(1, 5):
        for batch in range(50, 101, 50):
            at = epoch * UPDATES
            yield f"[Epoch {epoch}/4] [Batch {batch}/100] [D loss: {run.loss('train/discriminator_loss', at)}]"
            yield f" [G loss: {run.loss('train/loss', at)}]\n"


@loop("PyTorch's language model", {"loss": "train/loss", "ppl": "train/perplexity"}, {"repeated": '"last"'})
def _language_model(run: Run) -> Iterator[str]:
    for epoch in range(1, 5):
        at = epoch * UPDATES
        for batch in range(50, 101, 50):
            yield f"| epoch {epoch:3d} | {batch:5d}/  100 batches | lr 20.00 | ms/batch {5.5 + epoch:5.2f} | "
            yield f"loss {run.loss('train/loss', at, '5.2f')} | ppl {run.loss('train/perplexity', at, '8.2f')}\n"
        yield f"{'-' * 89}\n| end of epoch {epoch:3d} | time: {5 + epoch:5.2f}s"
        yield f" | valid loss {run.loss('val/loss', at, '5.2f')} |"
        yield f" valid ppl {run.loss('val/perplexity', at, '8.2f')}\n{'-' * 89}\n"


@loop("epoch and running step in brackets")
def _running_step(run: Run) -> Iterator[str]:
    for step in range(0, 600, 50):
        yield f"Ep {step // 100 + 1} (Step {step:06d}): Train loss {run.loss('train/loss', step, '.3f')},"
        yield f" Val loss {run.loss('val/loss', step, '.3f')}\n"


@loop("a block with the split before its values")
def _split_first(run: Run) -> Iterator[str]:
    for epoch in range(1, 6):
        at = epoch * UPDATES
        yield f"Epoch {epoch}:\n\ttrain: loss={run.loss('train/loss', at)}, acc={run.share('train/accuracy', at)}\n"
        yield f"\tval:   loss={run.loss('val/loss', at)}, acc={run.share('val/accuracy', at)}\n"


@loop("Keras with a checkpoint below", {"accuracy": "train/accuracy", "loss": "train/loss"})
def _checkpoint(run: Run) -> Iterator[str]:
    for epoch in range(1, 6):
        at = epoch * UPDATES
        yield f"\nEpoch {epoch}: val_loss improved from inf to {9 - epoch}.00000, saving model to best.h5\n" * (
            epoch == 1
        )
        yield f"Epoch {epoch}/5\n 100/100 - {epoch}s - loss: {run.loss('train/loss', at)}"
        yield f" - val_loss: {run.loss('val/loss', at)} - {epoch + 30}ms/epoch\n"


@loop("the last line of each epoch is in another form", {"loss": "train/loss"}, {"repeated": '"last"'})
def _other_form(run: Run) -> Iterator[str]:
    for epoch in range(1, 5):
        at = epoch * UPDATES
        for batch in (0, 50):
            yield f"epoch: {epoch}, batch: {batch}, loss: {run.loss('train/loss', at)}\n"
        yield f"epoch {epoch} ended: train loss {run.loss('train/loss', at)}, val loss {run.loss('val/loss', at)}\n"


@loop("values in sentences")
def _sentences(run: Run) -> Iterator[str]:
    for epoch in range(1, 6):
        at = epoch * UPDATES
        yield f"Finished epoch {epoch}. The training loss is {run.loss('train/loss', at)}.\n"
        yield f"Test accuracy was {run.percent('test/accuracy', at)} %.\n"


@loop("srun's labels of tasks", {"loss": "train/loss"})
def _tasks(run: Run) -> Iterator[str]:
    for step in range(10, 80, 10):
        yield f"0: step={step} loss={run.loss('train/loss', step)}\n1: step={step} loss=7.{step}\n"


@loop("seconds since the start, as a time", {"loss": "train/loss", "time": ""})
def _clock(run: Run) -> Iterator[str]:
    for step in range(10, 80, 10):
        yield f"time 0:0{step // 10}:30 step {step} loss {run.loss('train/loss', step)}\n"


@loop("a table of steps and time", {"step": "", "time": ""})
def _table_of_steps(run: Run) -> Iterator[str]:
    yield "step      train_loss    val_loss    time\n"
    for step in range(100, 800, 100):
        yield f"{step:<9} {run.loss('train/loss', step):<13} {run.loss('val/loss', step):<11} {step / 50:.1f}\n"

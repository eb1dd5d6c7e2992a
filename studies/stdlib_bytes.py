"""Trains byte-level language models on Python's standard library at ten batch sizes, on one GPU, into recorded runs.

python -m studies.stdlib_bytes FOLDER

All trials of a study are trained at once, with the same minibatches and different initial weights. So runs have no
times: a step took as long for all. `studies/README.md` says what was found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import sysconfig
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import qmc

LENGTH, WIDTH, LAYERS, HEADS, WORDS = 64, 64, 2, 4, 256
SEED, CLIP, EVALUATED, GROWTH, TRIALS = 20261127, 1.0, 512, 1.075, 32
# The length of training at each batch size, in steps.
STEPS = {
    1: 27_000, 2: 15_000, 4: 9_000, 8: 5_500, 16: 3_500, 32: 2_500, 64: 5_000, 128: 1_400, 256: 900, 512: 2_000,
}  # fmt: skip
# Ranges of the learning rate at batch size 1 and at 512, log-linear between, and of 1 - momentum or 1 - beta1.
RANGES = {
    "momentum": ((3e-4, 0.1), (3e-3, 1.0), (0.01, 0.5)),
    "adam": ((3e-5, 1e-2), (3e-4, 3e-2), (0.02, 0.5)),
}
GOAL = {"metric": "val/cross_entropy_error", "target": 1.8, "source": "a value that trials of every batch size reach"}
_SKIPPED = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__", "lib2to3", "ensurepip"}
Weights = dict[str, Any]


def text() -> tuple[Any, Any, dict[str, object]]:
    """Return the training and the validation bytes, and what identifies them: of every 20th file, by its name."""
    root = Path(sysconfig.get_paths()["stdlib"])
    parts: dict[bool, list[bytes]] = {False: [], True: []}
    for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
        name = path.relative_to(root)
        if not _SKIPPED.intersection(name.parts):
            parts[zlib.crc32(name.as_posix().encode()) % 20 == 0].append(path.read_bytes())
    train, val = (np.frombuffer(b"".join(parts[is_held]), np.uint8) for is_held in (False, True))
    facts = {
        "hardware": jax.devices()[0].device_kind,
        "jax": jax.__version__,
        "data_sha256": hashlib.sha256(train.tobytes()).hexdigest(),
    }
    return train, val, facts


def initial(key: Any) -> Weights:
    """Return the weights: normal, with a deviation of 0.02 for embeddings, else of 1 / sqrt(inputs)."""
    shapes: dict[str, tuple[int, ...]] = {"embed": (WORDS, WIDTH), "place": (LENGTH, WIDTH), "scale": (WIDTH,)}
    for n in range(LAYERS):
        shapes |= {f"qkv{n}": (WIDTH, 3 * WIDTH), f"out{n}": (WIDTH, WIDTH), f"in{n}": (WIDTH, 4 * WIDTH)}
        shapes |= {f"down{n}": (4 * WIDTH, WIDTH), f"scale_a{n}": (WIDTH,), f"scale_b{n}": (WIDTH,)}
    weights = {}
    for number, (name, shape) in enumerate(sorted(shapes.items())):
        normal = jax.random.normal(jax.random.fold_in(key, number), shape)
        deviation = 0.02 if name in ("embed", "place") else shape[0] ** -0.5
        weights[name] = jnp.ones(shape) if name.startswith("scale") else normal * deviation
    return weights


def _normed(x: Any, scale: Any) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def losses(weights: Weights, windows: Any) -> tuple[Any, Any]:
    """Return the mean cross entropy of the next bytes, in nats, and the share of wrong ones.

    The model is a decoder: RMSNorm before each layer, GELU, learned places, tied embedding.
    """
    tokens, wanted = windows[:, :-1], windows[:, 1:]
    x = weights["embed"][tokens] + weights["place"]
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    for n in range(LAYERS):
        parts = jnp.split(_normed(x, weights[f"scale_a{n}"]) @ weights[f"qkv{n}"], 3, -1)
        q, k, v = (each.reshape(*each.shape[:-1], HEADS, WIDTH // HEADS) for each in parts)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (WIDTH // HEADS) ** -0.5
        shares = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", shares, v).reshape(x.shape) @ weights[f"out{n}"]
        x = x + jax.nn.gelu(_normed(x, weights[f"scale_b{n}"]) @ weights[f"in{n}"]) @ weights[f"down{n}"]
    found = _normed(x, weights["scale"]) @ weights["embed"].T
    likely = jnp.take_along_axis(jax.nn.log_softmax(found), wanted[..., None], -1)
    return -likely.mean(), (found.argmax(-1) != wanted).mean()


def updated(
    optimizer: str, weights: Weights, memory: Any, gradient: Weights, rate: Any, beta: Any, step: Any
) -> tuple[Weights, Any]:
    """Return weights and memory after an update with the gradient, of norm 1 at most."""
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in gradient.values()))
    gradient = {name: g * jnp.minimum(1.0, CLIP / (norm + 1e-12)) for name, g in gradient.items()}
    if optimizer == "momentum":
        first = {name: beta * memory["first"][name] + g for name, g in gradient.items()}
        return {name: w - rate * first[name] for name, w in weights.items()}, {"first": first}
    first = {name: beta * memory["first"][name] + (1 - beta) * g for name, g in gradient.items()}
    second = {name: 0.999 * memory["second"][name] + 0.001 * g * g for name, g in gradient.items()}
    t = step + 1.0
    change = {n: first[n] / (1 - beta**t) / (jnp.sqrt(second[n] / (1 - 0.999**t)) + 1e-8) for n in weights}
    return {n: w - rate * change[n] for n, w in weights.items()}, {"first": first, "second": second}


def search(optimizer: str, batch_size: int, n_trials: int, seed: int) -> tuple[Any, Any]:
    """Return the learning rate, and momentum or beta1, of each trial: scrambled Sobol points, log-uniform."""
    low, high, left = RANGES[optimizer]
    share = np.log(batch_size) / np.log(max(STEPS))
    bounds = [np.exp((1 - share) * np.log(low[end]) + share * np.log(high[end])) for end in (0, 1)]
    points = qmc.Sobol(2, scramble=True, seed=seed).random(n_trials)
    rates = np.exp(np.log(bounds[0]) + points[:, 0] * np.log(bounds[1] / bounds[0]))
    return rates.astype(np.float32), (
        1 - np.exp(np.log(left[0]) + points[:, 1] * np.log(left[1] / left[0])).astype(np.float32)
    )


def study(
    optimizer: str, batch_size: int, n_trials: int, data: Any, val: Any, n_steps: int
) -> Callable[[], list[tuple[dict[str, float], list[dict[str, float]]]]]:
    """Compile a study; return a function that trains it and returns parameters and rows of each trial."""
    seed = zlib.crc32(f"{SEED}/{optimizer}/{batch_size}".encode())
    rates, betas = search(optimizer, batch_size, n_trials, seed)
    key = jax.random.PRNGKey(seed)
    weights = jax.jit(jax.vmap(initial))(jax.random.split(jax.random.fold_in(key, 2**31 - 1), n_trials))
    memory = {name: jax.tree.map(jnp.zeros_like, weights) for name in ("first", "second")}
    starts = np.linspace(0, val.size - LENGTH - 1, EVALUATED).astype(np.int64)
    held = jnp.asarray(val[starts[:, None] + np.arange(LENGTH + 1)].astype(np.int32))

    def train(state: Any, rates: Any, betas: Any, key: Any, begin: Any, end: Any, data: Any) -> Any:
        def body(step: Any, state: Any) -> Any:
            at = jax.random.randint(jax.random.fold_in(key, step), (batch_size, 1), 0, data.shape[0] - LENGTH - 1)
            windows = data[at + jnp.arange(LENGTH + 1)].astype(jnp.int32)
            gradient = jax.vmap(jax.grad(lambda each: losses(each, windows)[0]))(state[0])
            update = jax.vmap(lambda w, m, g, r, b: updated(optimizer, w, m, g, r, b, step.astype(jnp.float32)))
            return update(*state, gradient, rates, betas)

        return jax.lax.fori_loop(begin, end, body, state)

    state = weights, memory if optimizer == "adam" else {"first": memory["first"]}
    fixed = jnp.asarray(rates), jnp.asarray(betas), key
    zero = jnp.int32(0)
    advance = jax.jit(train, donate_argnums=0).lower(state, *fixed, zero, zero, data).compile()
    evaluate = jax.jit(jax.vmap(lambda each: losses(each, held))).lower(weights).compile()

    def run() -> list[tuple[dict[str, float], list[dict[str, float]]]]:
        now, step = state, 0
        rows: list[list[dict[str, float]]] = [[] for _ in rates]
        while True:
            for trial, (loss, error) in enumerate(zip(*map(np.asarray, evaluate(now[0])), strict=True)):
                values = {"val/cross_entropy_error": float(loss), "val/classification_error": float(error)}
                rows[trial].append({"step": step, **values})
            if step >= n_steps:
                break
            following = min(n_steps, max(step + 1, int(step * GROWTH)))
            now, step = advance(now, *fixed, jnp.int32(step), jnp.int32(following), data), following
        named = "beta1" if optimizer == "adam" else "momentum"
        return [
            ({"learning_rate": rate, named: beta}, of_trial)
            for rate, beta, of_trial in zip(rates.tolist(), betas.tolist(), rows, strict=True)
        ]

    return run


def write(folder: Path, facts: Mapping[str, object], parameters: Mapping[str, object], rows: Sequence[Any]) -> None:
    """Write a run as `losslake.record` does; its name follows from its content. INFEASIBLE from the first NaN on."""
    finite = [row for row in rows if np.isfinite(row["val/cross_entropy_error"])]
    data = b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in finite)
    run = {"format": "losslake-record/1", **facts, "parameters": parameters}
    text = json.dumps(run, indent=1).encode()
    number = bytearray(hashlib.sha256(text + data).digest()[:16])
    number[6], number[8] = (number[6] & 15) | 0x80, (number[8] & 63) | 0x80
    place = folder / str(uuid.UUID(bytes=bytes(number)))
    (place / "0001").mkdir(parents=True)
    (place / "run.json").write_bytes(text)
    (place / "0001" / "000001.jsonl").write_bytes(data)
    segment = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    end = {
        "status": "COMPLETE" if len(finite) == len(rows) else "INFEASIBLE", "ended_at": time.time(), "n_dropped": 0,
        "segments": {"0001/000001.jsonl": segment},
    }  # fmt: skip
    (place / "end.json").write_text(json.dumps(end, indent=1))


def studies(sizes: Sequence[int], n_trials: int, scale: float) -> Iterator[tuple[str, int, dict[str, object], Any]]:
    """Yield optimizer, batch size, facts of the machine, and what trains it; the next ones compile meanwhile."""
    on_gpu = jax.default_backend() == "gpu"
    jax.config.update("jax_default_matmul_precision", "tensorfloat32" if on_gpu else "float32")
    train, val, machine = text()
    data = jnp.asarray(train)
    with ThreadPoolExecutor(10) as pool:
        names = [(optimizer, size) for size in sizes for optimizer in RANGES]
        compiled = [
            pool.submit(study, *name, n_trials, data, val, max(2, int(STEPS[name[1]] * scale))) for name in names
        ]
        for (optimizer, size), each in zip(names, compiled, strict=True):
            yield optimizer, size, machine, each.result()


def main() -> None:
    """Train all studies into a folder."""
    parser = argparse.ArgumentParser(description="Train language models at ten batch sizes, on one GPU.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(STEPS))
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--scale", type=float, default=1.0, help="Share of the steps, to try it out.")
    options = parser.parse_args()
    for optimizer, size, machine, run in studies(options.sizes, options.trials, options.scale):
        began = time.time()
        trials = run()
        for parameters, rows in trials:
            facts = {
                "collection": "stdlib_bytes", "dataset": "python_stdlib", "model": "transformer_2x64",
                "optimizer": optimizer, "batch_size": size, "batch_unit": "sequences", "licence": "CC0-1.0",
                "started_at": began, "goals": [GOAL], "steps": int(rows[-1]["step"]),
            }  # fmt: skip
            write(options.folder, facts, {**parameters, **machine}, rows)
        print(f"{optimizer} {size}: {len(trials)} trials in {time.time() - began:.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

"""The paper's figures, copied from the published notebook independently of the service's data file.

A series is `label | workload | goal | trials`; nm is nesterov_momentum, goals of one panel have one metric.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.losslake.figures.papers.synthetic_archive import ERROR, LOSS, PRECISION

MNIST, FASHION = "mnist/simple_cnn_base/nm", "fashion_mnist/simple_cnn_base/nm"
RESNET, VGG, CIFAR = "imagenet/resnet_50/nm", "imagenet/vgg_11/nm", "cifar_10/resnet_8/nm"
IMAGES, LM1B, LSTM = "open_images_v4/resnet_50/nm", "lm1b/transformer_base/nm", "lm1b/lstm/nm"
CRAWL = "common_crawl/transformer_base/nm"


@dataclass(frozen=True)
class SeriesOf:
    """A series of the notebook."""

    label: str
    workload: str
    metric: str
    goal: float
    trials: int | None = 100


def series(text: str, metric: str = ERROR) -> SeriesOf:
    label, workload, goal, *trials = (part.strip() for part in text.split("|"))
    path = workload.replace("/nm", "/nesterov_momentum")
    goal_metric = PRECISION if path.startswith("open_images") else metric
    return SeriesOf(label, path, goal_metric, float(goal), int(trials[0]) if trials else 100)


def fully_connected(width: int) -> SeriesOf:
    return series(f"FC-{width}-{width}-{width}|mnist/fc_{width}_{width}_{width}/sgd|0.03")


WORKLOADS = [
    [series(f"|{MNIST}|0.01")], [series(f"|{FASHION}|0.1")], [series(f"|{CIFAR}|0.3")], [series(f"|{RESNET}|0.25")],
    [series(f"|{IMAGES}|0.31")], [series(f"|{LM1B}|3.9", LOSS)], [series(f"|{CRAWL}|3.9|50", LOSS)],
    [series(f"|{VGG}|0.35")], [series(f"|{LSTM}|3.9|50", LOSS)],
]  # fmt: skip
TRANSFORMERS = {"Wide": "wide", "Base": "base", "Shallow": "shallow", "Narrow and Shallow": "narrow_and_shallow"}
FC = "mnist/fc_1024_1024_1024/sgd"
STEPS: dict[str, list[tuple[int | None, str | None, list[SeriesOf]]]] = {
    "1": [(None, "", panel) for panel in WORKLOADS],
    "2": [
        (None, None, [series(f"goal error = {g}|{MNIST}|{g}") for g in ("0.008", "0.01", "0.012", "0.014", "0.016")]),
        (
            None,
            None,
            [series(f"goal error = {g}|{LM1B}|{g}", LOSS) for g in ("3.8", "3.85", "3.9", "3.95", "4", "4.05")],
        ),
        (None, None, [series(f"goal error = {g}|{RESNET}|{g}") for g in ("0.25", "0.27", "0.29", "0.31")]),
    ],
    "3": [
        (
            1,
            "FC-1024-1024-1024",
            [series(f"FC-1024-1024-1024|{FC}|0.03"), series("Simple CNN|mnist/simple_cnn_base/sgd|.03")],
        ),
        (64, "ResNet-50", [series(f"ResNet-50|{RESNET}|0.35"), series(f"VGG-11|{VGG}|0.35")]),
        (16, "Transformer", [series(f"Transformer|{LM1B}|3.9", LOSS), series(f"LSTM|{LSTM}|3.9|50", LOSS)]),
        (2, "FC-1024", [series("FC-1024|mnist/fc_1024/sgd|0.03"), *map(fully_connected, (128, 256, 512, 1024, 2048))]),
        (
            2,
            "Simple CNN",
            [
                series("Simple CNN|mnist/simple_cnn_base/sgd|0.01"),
                series("Simple CNN Narrow|mnist/simple_cnn_narrow/sgd|0.01"),
                series("Simple CNN Wide|mnist/simple_cnn_wide/sgd|0.01"),
            ],
        ),
        (16, "Wide", [series(f"{name}|lm1b/transformer_{path}/nm|4.2", LOSS) for name, path in TRANSFORMERS.items()]),
    ],
    "4": [
        (
            None,
            "Nesterov Momentum",
            [
                series("SGD|mnist/simple_cnn_base/sgd|.01"),
                series("Momentum|mnist/simple_cnn_base/momentum|.01"),
                series(f"Nesterov Momentum|{MNIST}|.01"),
            ],
        ),
        (
            None,
            "Nesterov Momentum",
            [
                series("SGD|lm1b/transformer_shallow/sgd|3.9|50", LOSS),
                series("Momentum|lm1b/transformer_shallow/momentum|3.9", LOSS),
                series("Nesterov Momentum|lm1b/transformer_shallow/nm|3.9", LOSS),
            ],
        ),
        (None, "Nesterov Momentum", [series("SGD|cifar_10/resnet_8/sgd|.3"), series(f"Nesterov Momentum|{CIFAR}|.3")]),
    ],
    "5": [
        (2, "MNIST, 0.01", [series(f"MNIST, 0.01|{MNIST}|.01"), series(f"Fashion MNIST, 0.1|{FASHION}|.1")]),
        (128, "ImageNet, 0.25", [series(f"ImageNet, 0.25|{RESNET}|.25"), series(f"Open Images, 0.31|{IMAGES}|.31")]),
        (32, "LM1B, 3.9", [series(f"LM1B, 3.9|{LM1B}|3.9", LOSS), series(f"Common Crawl, 3.9|{CRAWL}|3.9|50", LOSS)]),
    ],
    "6": [
        (
            2,
            "100% of images, 0.02",
            [
                series("100% of images, 0.02|mnist_subsets/mnist_55000/simple_cnn_base/nm|0.02"),
                series("50% of images, 0.02|mnist_subsets/mnist_27500/simple_cnn_base/nm|0.02"),
                series("25% of images, 0.02|mnist_subsets/mnist_13750/simple_cnn_base/nm|0.02"),
                series("12.5% of images, 0.02|mnist_subsets/mnist_6875/simple_cnn_base/nm|0.02"),
            ],
        ),
        (
            64,
            "100% of images, 0.25",
            [
                series(f"100% of images, 0.25|{RESNET}|.25"),
                series("50% of images, 0.3|imagenet_subsets/imagenet_half_images/resnet_50/nm|.3"),
                series("50% of classes, 0.3|imagenet_subsets/imagenet_half_classes/resnet_50/nm|.3"),
            ],
        ),
    ],
}
"""By figure and panel: the normalizing batch size, the label of the scaling line ("": each; None: none), the series."""
OPTIMAL = [replaced if place != 1 else [series(f"|{FASHION}|0.3")] for place, replaced in enumerate(WORKLOADS)]
SCATTER = {
    "9a": [(LM1B, 3.9, size, 30_301_028 / size) for size in (128, 256, 512, 1024, 2048, 4096)],
    "9b": [(LM1B, 3.9, size, 25_000.0) for size in (512, 1024, 2048, 4096, 8192, 16384)],
    "10": [(f"lm1b/transformer_{path}/nm", 4.2, 1024, 50_000.0) for path in TRANSFORMERS.values()],
}
"""By figure and panel: workload, goal, batch size, step budget."""
_SMALL = ((5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000), (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000))
_LARGE = ((10, 20, 50, 100, 200, 500, 1000), (0.2, 0.5, 1, 2, 5, 10, 20))
BUDGETS = [
    ("solution_quality/mnist/simple_cnn_base/nm", 55_000, ERROR, *_SMALL),
    ("solution_quality/fashion_mnist/simple_cnn_base/nm", 55_000, ERROR, *_SMALL),
    ("lm1b/transformer_narrow_and_shallow/nm", 30_301_028, LOSS, *_LARGE),
    (LM1B, 30_301_028, LOSS, *_LARGE),
]
"""Of Figure 11 by row: workload, training set, metric, step budgets in thousands, epochs."""
PRINTED_BATCH_SIZES = {
    "1": [10, 9, 13, 11, 10, 12, 6, 11, 7],
    "3": [17, 17, 11, 11, 12, 7, *[17] * 6, 17, 17, 16, *[12] * 4],
    "4": [17, 17, 10, 5, 6, 12, 13, 13],
    "6": [17, 16, 15, 14, 11, 10, 10],
}
"""By figure, what the notebook prints: how many batch sizes it loads, series by series."""

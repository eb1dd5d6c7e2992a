"""System metrics of a run that is recorded: processor, memory and GPUs, sampled by a thread.

    run = losslake.record.start(...)
    losslake.record.system.Sampler(run)

A sample belongs to the step that was logged last. Its metrics are the mean of all samples at that step, the largest one
of memory, and the total of energy. What a machine or an installation doesn't have is left out. Needs psutil, and for
GPUs of Nvidia nvidia-ml-py: `pip install "losslake[system]"`.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from losslake.record.steps import StepBeside

SECONDS_BETWEEN_SAMPLES = 15.0
_LOGGER = logging.getLogger("losslake.record")
_GB = 1e9
_LARGEST = ("_memory_gb", "/memory_gb")
_LAST = "_energy_j"
Source = Callable[[], Mapping[str, float]]


class Recorder(Protocol):
    """The part of a recorded run that the sampler needs."""

    @property
    def last_step(self) -> StepBeside | None:
        """The step that was logged last; None before the first one and after a rewind."""

    @property
    def is_finished(self) -> bool:
        """True after the end."""

    @property
    def folder(self) -> Any:
        """The folder of the run, None if nothing is recorded here."""

    def log(self, values: Mapping[str, float], /, *, step: StepBeside) -> None:
        """Record values at a step."""


class Sampler:
    """A thread that samples until the run has ended.

    seconds: between samples, at least 0.1. sources: functions that return metrics by name; by default those of
    installed packages.
    """

    def __init__(
        self, run: Recorder, seconds: float = SECONDS_BETWEEN_SAMPLES, sources: list[Source] | None = None
    ) -> None:
        self._run = run
        self._seconds = max(seconds, 0.1)
        self._stopped = threading.Event()
        self._step: StepBeside | None = None
        self._samples: dict[str, list[float]] = {}
        self._sources = installed_sources() if sources is None and run.folder is not None else sources or []
        if self._sources and run.folder is not None:
            threading.Thread(target=self._work, name="losslake-system", daemon=True).start()

    def stop(self) -> None:
        """End the sampling."""
        self._stopped.set()

    def sample(self) -> None:
        """Take one sample, and record it with the earlier ones of its step. Before the first step, do nothing."""
        metrics: dict[str, float] = {}
        for source in list(self._sources):
            try:
                metrics |= source()
            except Exception as error:  # noqa: BLE001 - drivers raise anything
                self._sources.remove(source)
                _LOGGER.warning("system metrics end: %s: %s", type(error).__name__, error)
        step = self._run.last_step
        if step is None:
            return
        if step != self._step:
            self._step, self._samples = step, {}
        for name, value in metrics.items():
            self._samples.setdefault(name, []).append(value)
        self._run.log({name: _combined(name, values) for name, values in self._samples.items()}, step=step)

    def _work(self) -> None:
        while not self._stopped.wait(self._seconds) and not self._run.is_finished:
            self.sample()


def _combined(name: str, values: list[float]) -> float:
    """Return what counts of the samples of one step."""
    if name.endswith(_LAST):
        return values[-1]
    return max(values) if name.endswith(_LARGEST) else sum(values) / len(values)


def installed_sources() -> list[Source]:
    """Return the sources that are installed; a warning names what is missing."""
    sources: list[Source] = []
    try:
        sources.append(_processor())
    except Exception as error:  # noqa: BLE001 - a broken installation must not end a training
        _LOGGER.warning('no system metrics of the processor: %s; pip install "losslake[system]"', error)
    try:
        sources.append(_gpus())
    except Exception as error:  # noqa: BLE001 - as above; most machines have no such GPU
        _LOGGER.info("no system metrics of GPUs: %s", error)
    return sources


def _processor() -> Callable[[], Mapping[str, float]]:
    """Return the source of this process and of the machine. The first percentages count from now."""
    psutil: Any = importlib.import_module("psutil")
    process = psutil.Process()
    psutil.cpu_percent(None)
    process.cpu_percent(None)
    return lambda: {
        "system/cpu_percent": psutil.cpu_percent(None),
        "system/process_cpu_percent": process.cpu_percent(None),
        "system/process_memory_gb": process.memory_info().rss / _GB,
        "system/memory_percent": psutil.virtual_memory().percent,
    }


def _gpus() -> Callable[[], Mapping[str, float]]:
    """Return the source of all GPUs of Nvidia. Raises what the driver raises without one."""
    nvml: Any = importlib.import_module("pynvml")
    nvml.nvmlInit()
    devices = [nvml.nvmlDeviceGetHandleByIndex(at) for at in range(nvml.nvmlDeviceGetCount())]
    quantities: dict[str, Callable[[Any], float]] = {
        "percent": lambda device: nvml.nvmlDeviceGetUtilizationRates(device).gpu,
        "memory_gb": lambda device: nvml.nvmlDeviceGetMemoryInfo(device).used / _GB,
        "power_w": lambda device: nvml.nvmlDeviceGetPowerUsage(device) / 1e3,
        "temperature_c": lambda device: nvml.nvmlDeviceGetTemperature(device, nvml.NVML_TEMPERATURE_GPU),
        "energy_j": lambda device: nvml.nvmlDeviceGetTotalEnergyConsumption(device) / 1e3,
    }

    def read() -> dict[str, float]:
        values: dict[str, float] = {}
        for at, device in enumerate(devices):
            for name, quantity in quantities.items():
                try:
                    values[f"system/gpu_{at}_{name}"] = float(quantity(device))
                except nvml.NVMLError:  # not every device has every sensor
                    continue
        return values

    begun = read()

    def since_begun() -> dict[str, float]:
        return {name: value - begun.get(name, 0.0) if name.endswith(_LAST) else value for name, value in read().items()}

    return since_begun

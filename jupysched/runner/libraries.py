"""Metrics that the job's libraries log, reported as `jupysched.log` would: TensorBoard, Lightning, transformers, accelerate.

Knows, of each library, the one place through which all of its loggers and callbacks are fed. Must not import any of them, nor
change what they do: an argument that is not understood costs a point, never the training. Where one library logs through another
(Lightning's TensorBoardLogger, the Trainer's TensorBoardCallback) the inner one adds nothing that the outer one has said.
"""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from jupysched.runner import metrics
from jupysched.runner.hooks import Imports

#: Set to off, the libraries are left as they are.
SWITCH = "JUPYSCHED_HOOKS"
_OFF = frozenset({"0", "off", "no", "false"})


class Told(NamedTuple):
    """What a call told: numbers by name, and where the training is."""

    values: Mapping[str, Any]
    step: Any = None
    epoch: Any = None


#: Reads the arguments of a call; None: nothing is to be reported.
Read = Callable[..., Told | None]


class _Outer(threading.local):
    """What the libraries that are at work in this thread have said already; they call one another."""

    said: tuple[frozenset[tuple[str, str]], ...] = ()
    is_mute = False


_outer = _Outer()
#: the last value and step of each metric: what is logged twice is reported once
_last: dict[str, tuple[Any, float]] = {}
_noted: set[str] = set()


def install() -> None:
    """Follow the libraries that the job imports, unless the user has switched that off."""
    if os.environ.get(SWITCH, "").lower() not in _OFF:
        Imports(AWAITED, _note).install()


def _note(library: str, error: Exception) -> None:
    """Say once for each library that its metrics are not followed."""
    name = library.partition(".")[0]
    if name not in _noted:
        _noted.add(name)
        metrics.note(
            f"Metrics that {name} logs may be missing here ({type(error).__name__}: {error}). The job itself is not affected."
        )


# --- what is common to all -----------------------------------------------------------------------------------------------


def _cover_innermost(owner: Any, method: str, read: Read) -> None:
    """Have each call of this method read first; it calls nothing that logs, and is called most.

    Raises AttributeError where the library has no such method: a version that we do not know.
    """
    original = getattr(owner, method)
    library = owner.__module__

    @functools.wraps(original)
    def covered(*args: Any, **kwargs: Any) -> Any:
        if metrics.is_connected() and not _outer.is_mute:
            try:
                told = read(*args, **kwargs)
                if told is not None:
                    _report(told)
            except Exception as error:
                _note(library, error)
        return original(*args, **kwargs)

    setattr(owner, method, covered)


def _cover(owner: Any, method: str, read: Read | None) -> None:
    """Have each call of this method read first, and what is said inside the call reported only where it is new; with None, not at all.

    Raises AttributeError where the library has no such method: a version that we do not know.
    """
    original = getattr(owner, method)
    library = owner.__module__

    @functools.wraps(original)
    def covered(*args: Any, **kwargs: Any) -> Any:
        before = (_outer.said, _outer.is_mute)
        if read is None:
            _outer.is_mute = True
        elif metrics.is_connected() and not _outer.is_mute:
            try:
                told = read(*args, **kwargs)
                if told is not None:
                    _outer.said = (*before[0], frozenset(map(_same, _report(told).items())))
            except Exception as error:
                _note(library, error)
        try:
            return original(*args, **kwargs)
        finally:
            _outer.said, _outer.is_mute = before

    setattr(owner, method, covered)


def _report(told: Told) -> dict[str, float]:
    """Report what is new; return all that was said."""
    values: dict[str, float] = {}
    for name, value in told.values.items():
        number = _number(value)
        if number is not None:
            values[str(name)] = number
    new = {name: value for name, value in values.items() if _is_metric(name) and _is_new(name, value, told.step)}
    if new:
        metrics.report(new, step=told.step, epoch=told.epoch)
    return values


def _is_metric(name: str) -> bool:
    return name not in ("step", "epoch") and not name.endswith(("_runtime", "_per_second", "total_flos"))


def _same(item: tuple[str, float]) -> tuple[str, str]:
    """A metric and its value, the same under the names that one library gives to what another one hands it: loss, train/loss."""
    name, value = item
    return re.sub(r"^(?:train_)+", "", name.replace("/", "_")), repr(value)


def _is_new(name: str, value: float, step: Any) -> bool:
    if name in metrics.stated_by_log:
        return False  # who calls jupysched.log himself knows best
    if _outer.said and any(_same((name, value)) in said for said in _outer.said):
        return False
    if step is None:
        return True
    place = (step, value)
    if _last.get(name) == place:
        return False
    _last[name] = place
    return True


def _number(value: Any) -> float | None:
    if value.__class__ is float:
        return value
    if isinstance(value, str):
        return None
    try:
        return float(value)
    except Exception:  # a text, a picture, a tensor with two elements
        return None


# --- TensorBoard: torch.utils.tensorboard and tensorboardX ---------------------------------------------------------------


def _scalar(_writer: Any, tag: str, scalar_value: Any, global_step: Any = None, *_: Any, **__: Any) -> Told:
    return Told({tag: scalar_value}, global_step)


def _scalars(_writer: Any, main_tag: str, tag_scalar_dict: Any, global_step: Any = None, *_: Any, **__: Any) -> Told:
    return Told({f"{main_tag}/{tag}": value for tag, value in tag_scalar_dict.items()}, global_step)


def _follow_tensorboard(module: ModuleType) -> None:
    writer = module.SummaryWriter
    _cover_innermost(writer, "add_scalar", _scalar)
    _cover_innermost(writer, "add_scalars", _scalars)
    # The metrics of hyper-parameters repeat what was logged, or sum it up: they belong to no step.
    _cover(writer, "add_hparams", None)


# --- Lightning -----------------------------------------------------------------------------------------------------------


def _logged(connector: Any, logged: Mapping[str, Any], step: Any = None) -> Told | None:
    """What `self.log` collected, on its way to every Logger. Adding a Logger of ours would do the same, and would move the
    user's checkpoints where there was none; this works without any."""
    trainer = connector.trainer
    if not trainer.is_global_zero:
        return None
    if step is None:
        step = logged.get("step")
    if step is None:
        # As Lightning counts for its own loggers; global_step counts a GAN's optimizers apart.
        step = getattr(trainer.fit_loop.epoch_loop, "_batches_that_stepped", trainer.global_step)
    return Told(logged, step, trainer.current_epoch)


def _follow_lightning(module: ModuleType) -> None:
    _cover(module._LoggerConnector, "log_metrics", _logged)


# --- transformers --------------------------------------------------------------------------------------------------------


def _on_log(_callbacks: Any, _args: Any, state: Any, _control: Any, logs: Any = None, **_: Any) -> Told | None:
    """TrainerCallback.on_log of the callback that calls all others."""
    if logs is None or not state.is_world_process_zero:
        return None
    return Told(logs, state.global_step, state.epoch)


def _follow_transformers(module: ModuleType) -> None:
    _cover(module.CallbackHandler, "on_log", _on_log)


# --- accelerate ----------------------------------------------------------------------------------------------------------


def _tracked(loop: Any, values: Mapping[str, Any], step: Any = None, *_: Any, **__: Any) -> Told | None:
    """What goes to every GeneralTracker."""
    if not loop.is_main_process:
        return None
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat.update({f"{name}/{inner}": part for inner, part in value.items()})
        else:
            flat[name] = value
    return Told(flat, step, flat.get("epoch"))


def _follow_accelerate(module: ModuleType) -> None:
    _cover(module.Accelerator, "log", _tracked)


#: The module in which each library keeps that place.
AWAITED = {
    "torch.utils.tensorboard.writer": _follow_tensorboard,
    "tensorboardX.writer": _follow_tensorboard,
    "lightning.pytorch.trainer.connectors.logger_connector.logger_connector": _follow_lightning,
    "pytorch_lightning.trainer.connectors.logger_connector.logger_connector": _follow_lightning,
    "transformers.trainer_callback": _follow_transformers,
    "accelerate.accelerator": _follow_accelerate,
}

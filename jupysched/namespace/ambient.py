"""State of the process that a plain cell would see: random numbers, options, warnings. Only of modules in use."""

from __future__ import annotations

import decimal
import random
import sys
import warnings
from typing import Any


def collect() -> dict[str, Any]:
    """Return the ambient state of this process as plain data."""
    state: dict[str, Any] = {
        "random": random.getstate(),
        "warnings": [f for f in warnings.filters if _is_plain_filter(f)],
        "decimal": _decimal(),
        "recursion": sys.getrecursionlimit(),
    }
    for name, (take, _) in _MODULES.items():
        module = sys.modules.get(name)
        if module is not None:
            try:
                state[name] = take(module)
            except Exception:  # noqa: BLE001, S112  half-imported or foreign module of that name
                continue
    return state


def dice_of(state: dict[str, Any]) -> dict[str, Any]:
    """Return the states of the random generators alone."""
    inner = {name: state[name]["random"] for name in _WITH_DICE if "random" in state.get(name, {})}
    return {**({"random": state["random"]} if "random" in state else {}), **inner}


def without_dice(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state but for the random generators."""
    kept = {key: value for key, value in state.items() if key != "random"}
    for name in _WITH_DICE & set(kept):
        kept[name] = {key: value for key, value in kept[name].items() if key != "random"}
    return kept


def throw_anew() -> None:
    """Seed the random generators that are loaded from the system's."""
    random.seed()
    numpy, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    if numpy is not None:
        numpy.seed()
    if torch is not None and hasattr(torch, "seed"):
        torch.seed()


def modules_of(state: dict[str, Any]) -> set[str]:
    """Return the modules whose state this holds."""
    return set(state) & set(_MODULES)


def apply(state: dict[str, Any]) -> None:
    """Make the ambient state of this process what was collected elsewhere."""
    for key, value in state.items():
        if key == "random":
            random.setstate(value)
        elif key == "warnings":
            _apply_warnings(value)
        elif key == "decimal":
            _apply_decimal(value)
        elif key == "recursion":
            sys.setrecursionlimit(max(value, 1000))
        elif key in _MODULES and key in sys.modules:
            try:
                _MODULES[key][1](sys.modules[key], value)
            except Exception:  # noqa: BLE001, S112  an option that this version does not know
                continue


def changes(before: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of the ambient state that are not as they were."""
    now = collect()
    return {key: value for key, value in now.items() if key not in before or before[key] != value}


def land(changed: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Apply what a job changed, but for what changed here since. Return the parts that were kept."""
    now = collect()
    kept = [key for key in changed if key in now and now[key] != before.get(key) and now[key] != changed[key]]
    apply({key: value for key, value in changed.items() if key not in kept and (key in now or key not in _MODULES)})
    return kept


def _is_plain_filter(entry: tuple[Any, ...]) -> bool:
    return isinstance(entry[2], type) and entry[2].__module__ in {"builtins"}


def _apply_warnings(filters: list[tuple[Any, ...]]) -> None:
    own = [f for f in warnings.filters if not _is_plain_filter(f)]
    warnings.filters[:] = [*filters, *own]  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined]


def _decimal() -> dict[str, Any]:
    context = decimal.getcontext()
    return {name: getattr(context, name) for name in ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")}


def _apply_decimal(values: dict[str, Any]) -> None:
    context = decimal.getcontext()
    for name, value in values.items():
        setattr(context, name, value)


def _take_numpy(numpy: Any) -> Any:
    kind, keys, position, has_gauss, gauss = numpy.random.get_state()
    options = {k: v for k, v in numpy.get_printoptions().items() if not callable(v) and k != "override_repr"}
    return {"random": (kind, keys.tobytes(), position, has_gauss, gauss), "print": options, "err": numpy.geterr()}


def _apply_numpy(numpy: Any, state: Any) -> None:
    if "random" in state:
        kind, keys, *rest = state["random"]
        numpy.random.set_state((kind, numpy.frombuffer(keys, dtype=numpy.uint32), *rest))
    options = {k: v for k, v in state["print"].items() if k != "formatter" or v}
    numpy.set_printoptions(**options)
    numpy.seterr(**state["err"])


def _take_torch(torch: Any) -> Any:
    return {
        "random": bytes(torch.get_rng_state().numpy())
        if "numpy" in sys.modules
        else bytes(torch.get_rng_state().tolist()),
        "dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "grad": torch.is_grad_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def _apply_torch(torch: Any, state: Any) -> None:
    if "random" in state:
        torch.set_rng_state(torch.frombuffer(bytearray(state["random"]), dtype=torch.uint8))
    torch.set_default_dtype(getattr(torch, state["dtype"]))
    torch.set_grad_enabled(state["grad"])
    if state["deterministic"] != torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(state["deterministic"])


def _take_pandas(pandas: Any) -> Any:
    config = pandas._config.config
    options = {}
    for key, registered in config._registered_options.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # options that pandas 4 will drop
            value = config.get_option(key)
        if isinstance(value, str | int | float | bool | type(None)) and value != registered.defval:
            options[key] = value
    return options


def _apply_pandas(pandas: Any, options: Any) -> None:
    for key, value in options.items():
        pandas.set_option(key, value)


def _take_matplotlib(matplotlib: Any) -> Any:
    default = matplotlib.rcParamsDefault
    plain = (str, int, float, bool, list, tuple, type(None))
    return {
        k: matplotlib.rcParams._get(k)
        for k in matplotlib.rcParams
        if not k.startswith("backend")
        and isinstance(matplotlib.rcParams._get(k), plain)
        and matplotlib.rcParams._get(k) != default._get(k)
    }


def _apply_matplotlib(matplotlib: Any, values: Any) -> None:
    matplotlib.rcParams.update(values)


_WITH_DICE = {"numpy", "torch"}
_MODULES: dict[str, tuple[Any, Any]] = {
    "numpy": (_take_numpy, _apply_numpy),
    "torch": (_take_torch, _apply_torch),
    "pandas": (_take_pandas, _apply_pandas),
    "matplotlib": (_take_matplotlib, _apply_matplotlib),
}

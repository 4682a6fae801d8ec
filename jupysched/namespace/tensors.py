"""How torch tensors travel: by their storages, so that views stay views and tied weights stay tied.

Knows torch only through the module it is given; CUDA tensors travel as copies in CPU memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jupysched.namespace import restore
from jupysched.namespace.pages import untouched_name

_IN_BAND_BYTES = 64 * 1024
#: a tensor takes its whole storage along up to this size, or up to this many times its own
_SMALL_STORAGE_BYTES = 1 << 20
_STORAGE_FACTOR = 4


def storage_view(torch: Any, storage: Any) -> Any:
    """Return the bytes of a CPU storage as a flat numpy-free buffer."""
    flat = torch.empty(0, dtype=torch.uint8).set_(storage)
    return memoryview(flat.numpy()) if "numpy" in _modules() else memoryview(bytes(flat.tolist()))


def _modules() -> Any:
    import sys

    return sys.modules


class TensorReducer:
    """Reduces tensors of one pickle; keeps the storages that it has met, so that sharing is kept."""

    def __init__(self, put: Callable[..., str], shared_roots: frozenset[int]) -> None:
        self.put = put
        self.shared_roots = shared_roots
        #: one Python object for each storage: pickle knows objects by identity
        self.storages: dict[int, Any] = {}
        #: CUDA tensors and the CPU copies that travel for them
        self.copies: list[tuple[Any, Any]] = []

    def reduce(self, torch: Any, value: Any) -> Any:
        """Return how a tensor, storage or compiled module travels; NotImplemented for everything else."""
        kind = type(value)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            return self._tensor(torch, value)
        if kind is torch.UntypedStorage:
            return self._storage(torch, value)
        if kind.__name__ == "OptimizedModule" and kind.__module__.startswith("torch._dynamo"):
            return restore.compiled, (value._orig_mod, _compile_arguments(value))
        return NotImplemented

    def _tensor(self, torch: Any, tensor: Any) -> Any:
        plain = (
            tensor.layout is torch.strided
            and tensor.device.type in ("cpu", "cuda")
            and not tensor.is_quantized
            and not tensor.is_conj()
            and not tensor.is_neg()
            and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        )
        if not plain:
            return NotImplemented
        data = tensor.detach()
        if data.device.type != "cpu":
            data = data.cpu()
            self.copies.append((tensor, data))
        storage = data.untyped_storage()
        own = data.numel() * data.element_size()
        keep = storage.nbytes() <= max(_SMALL_STORAGE_BYTES, _STORAGE_FACTOR * own)
        if not keep and storage._cdata not in self.shared_roots:
            data = data.clone(memory_format=torch.contiguous_format)
            storage = data.untyped_storage()
        storage = self.storages.setdefault(storage._cdata, storage)
        args = (
            type(tensor),
            storage,
            tensor.dtype,
            data.storage_offset(),
            tuple(data.size()),
            tuple(data.stride()),
            tensor.requires_grad,
        )
        grad = tensor.grad if tensor.is_leaf else None
        attributes = dict(tensor.__dict__)
        if grad is None and not attributes:
            return restore.tensor, args
        return restore.tensor, args, (grad, attributes), None, None, restore.tensor_state

    def _storage(self, torch: Any, storage: Any) -> Any:
        if storage.device.type != "cpu":
            storage = storage.cpu()
        view = storage_view(torch, storage)
        if view.nbytes < _IN_BAND_BYTES:
            return restore.small_storage, (bytes(view),)
        at = storage.data_ptr()
        known = untouched_name(at, storage.nbytes())
        return restore.storage, (self.put(view, owner=storage, name=known, place=at),)


def _compile_arguments(module: Any) -> dict[str, Any]:
    """Return the backend and mode that a module was compiled with, as far as they can be told."""
    backend = getattr(getattr(module, "dynamo_ctx", None), "_torchdynamo_orig_backend", None)
    found = _backend_name(backend) or _backend_name(getattr(getattr(module, "dynamo_ctx", None), "callback", None))
    return {"backend": found} if found else {}


def _backend_name(callback: Any) -> str | None:
    seen = 0
    while callback is not None and seen < 8:  # noqa: PLR2004  wrappers hold wrappers; eight is more than there are
        name = getattr(callback, "compiler_name", None) or getattr(callback, "__name__", None)
        if isinstance(name, str) and name in {"eager", "aot_eager", "cudagraphs", "inductor"}:
            return name
        callback = getattr(callback, "_torchdynamo_orig_callable", None) or getattr(
            callback, "_torchdynamo_orig_backend", None
        )
        seen += 1
    return None

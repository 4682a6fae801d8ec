"""How arrays, storages and tensors change. Content is compared by hash: 512 MB take 20 ms, and a hash is never stale."""

from __future__ import annotations

import sys
from typing import Any

from jupysched.namespace.arrays import array_root
from jupysched.namespace.facets import FACETS, MISSING
from jupysched.namespace.objects import content_name
from jupysched.namespace.pages import untouched_name
from jupysched.namespace.restore import Raw


def _digest(flat: Any) -> str:
    name = untouched_name(flat.__array_interface__["data"][0], flat.nbytes)
    return name or content_name(memoryview(flat))


class ArrayFacet:
    """The content of an array that owns its memory; views change with it."""

    def take(self, obj: Any) -> Any:
        if obj.dtype.hasobject:
            return ("objects", obj.shape, obj.ravel().tolist())
        if array_root(obj) is not obj:
            return None
        if not (obj.flags.c_contiguous or obj.flags.f_contiguous):
            obj = obj.copy()
        order = "C" if obj.flags.c_contiguous else "F"
        return _digest(obj.reshape(-1, order=order).view(sys.modules["numpy"].uint8))

    def change(self, obj: Any, before: Any) -> Any:
        if before is None:
            return MISSING
        now = self.take(obj)
        if isinstance(before, tuple):
            same = before[1] == now[1] and all(a is b for a, b in zip(before[2], now[2], strict=True))
            return MISSING if same else obj.ravel().tolist()
        return MISSING if now == before else Raw(obj)

    def apply(self, obj: Any, patch: Any) -> None:
        if isinstance(patch, list):
            for position, value in enumerate(patch):
                obj.flat[position] = value
        else:
            sys.modules["numpy"].copyto(obj, patch.reshape(obj.shape))


class StorageFacet:
    """The bytes of a torch storage."""

    def take(self, obj: Any) -> Any:
        if obj.device.type != "cpu":
            return None
        return _digest(_flat(obj).numpy())

    def change(self, obj: Any, before: Any) -> Any:
        return MISSING if before is None or self.take(obj) == before else Raw(obj)

    def apply(self, obj: Any, patch: Any) -> None:
        if obj.nbytes() != patch.nbytes():
            obj.resize_(patch.nbytes())
        _flat(obj).copy_(_flat(patch))


def _flat(storage: Any) -> Any:
    torch = sys.modules["torch"]
    return torch.empty(0, dtype=torch.uint8).set_(storage)


class TensorFacet:
    """Which storage a tensor looks at, its gradient and its attributes."""

    def take(self, obj: Any) -> Any:
        return (self._place(obj), obj.grad if obj.is_leaf else None, obj.requires_grad, dict(obj.__dict__))

    def _place(self, obj: Any) -> Any:
        if obj.layout is not sys.modules["torch"].strided:
            return None
        # the storage is held, so that no other storage can get its address
        storage = obj.untyped_storage()
        return (storage._cdata, obj.storage_offset(), tuple(obj.size()), tuple(obj.stride()), obj.dtype, storage)

    def change(self, obj: Any, before: Any) -> Any:
        place, grad, requires_grad, held = now = self.take(obj)
        moved = place is not None and before[0] is not None and place[:-1] != before[0][:-1]
        same_held = len(held) == len(before[3]) and all(before[3].get(k, MISSING) is v for k, v in held.items())
        if not moved and grad is before[1] and requires_grad == before[2] and same_held:
            return MISSING
        del now
        return (obj.detach() if moved else None, grad, requires_grad, held)

    def apply(self, obj: Any, patch: Any) -> None:
        data, grad, requires_grad, held = patch
        torch = sys.modules["torch"]
        with torch.no_grad():
            if data is not None:
                if data.shape == obj.shape and data.dtype == obj.dtype:
                    obj.copy_(data)
                else:
                    obj.data = data.to(obj.device)
        if obj.is_leaf and obj.requires_grad != requires_grad:
            obj.requires_grad_(requires_grad)
        if obj.is_leaf:
            obj.grad = None if grad is None else grad.to(obj.device)
        obj.__dict__.update(held)


FACETS.update({"array": ArrayFacet(), "storage": StorageFacet(), "tensor": TensorFacet()})

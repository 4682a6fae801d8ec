"""What a job says and gives to who asks, in forms that read well in a notebook. Knows no jobs."""

from __future__ import annotations

from typing import Any


class Said(str):
    """A sentence that a notebook shows as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Results(dict[str, Any]):
    """What came back, by name; `results.model` is `results["model"]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"The job brought no {name!r} back; it brought {', '.join(self) or 'nothing'}."
            ) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

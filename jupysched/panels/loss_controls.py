"""The controls of the loss panel: which jobs, which metrics, which axes, how smooth. Knows Bokeh's widgets; draws nothing.

Bokeh's choosers take labels as HTML and put values into attributes: names of jobs and metrics reach them escaped and numbered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from bokeh.models import CheckboxButtonGroup, MultiChoice, RadioButtonGroup, Row, Slider

from jupysched.panels.theme import WRAP, Theme, style

#: as `runs.x_of` knows them, and as people read them
AXES = ("step", "epoch", "minutes", "time")
LABELS = ("step", "epoch", "minutes", "clock")


class Controls:
    """What a person has chosen."""

    def __init__(
        self, theme: Theme, *, jobs: Sequence[int], metrics: Sequence[str], changed: Callable[[], None]
    ) -> None:
        sheet = [style(theme)]
        gap = (5, 14, 5, 0)
        self._jobs = MultiChoice(
            value=[str(j) for j in jobs], title="Jobs", width=340, placeholder="choose jobs", stylesheets=sheet
        )
        self._metrics = MultiChoice(title="Metrics", width=260, placeholder="all losses", stylesheets=sheet)
        self._axis = RadioButtonGroup(labels=list(LABELS), active=0, width=230, margin=gap, stylesheets=sheet)
        self._logs = CheckboxButtonGroup(labels=["log x", "log y"], active=[], width=110, margin=gap, stylesheets=sheet)
        self._smoothing = Slider(
            start=0, end=0.99, step=0.01, value=0, title="Smoothing", width=150, margin=gap, stylesheets=sheet
        )
        self._names: list[str] = []
        self._wanted = list(metrics)
        for control, name in (
            (self._jobs, "value"),
            (self._metrics, "value"),
            (self._axis, "active"),
            (self._logs, "active"),
            (self._smoothing, "value_throttled"),
        ):
            control.on_change(name, lambda _a, _o, _n: changed())

    def rows(self) -> tuple[Row, Row]:
        """Where the choosers stand, and where the rest does (more may be added to that one)."""
        return (
            Row(children=[self._jobs, self._metrics], sizing_mode="stretch_width", styles=WRAP),
            Row(children=[self._axis, self._logs, self._smoothing], sizing_mode="stretch_width", styles=WRAP),
        )

    @property
    def jobs(self) -> list[int]:
        """Jobs chosen."""
        return [int(j) for j in self._jobs.value]

    def choose(self, job: int) -> None:
        """Add a job to the choice."""
        self._jobs.value = [*self._jobs.value, str(job)]

    def offer_jobs(self, jobs: Sequence[tuple[int, str]]) -> None:
        """Jobs that can be chosen, with their labels."""
        options = [(str(job), escape(label)) for job, label in jobs]
        if options != self._jobs.options:
            self._jobs.options = options

    def offer_metrics(self, names: Sequence[str]) -> None:
        """Metrics that can be chosen."""
        for name in names:
            if name not in self._names:
                self._names.append(name)
        options = [(str(i), escape(name)) for i, name in enumerate(self._names)]
        if options != self._metrics.options:
            self._metrics.options = options
        if self._wanted and all(name in self._names for name in self._wanted):
            self._metrics.value = [str(self._names.index(name)) for name in self._wanted]
            self._wanted = []

    def shown_metrics(self) -> list[str]:
        """Metrics chosen; without a choice all losses, and without a loss the first few."""
        if self._metrics.value:
            return [self._names[int(i)] for i in self._metrics.value]
        losses = [n for n in self._names if "loss" in n]
        return losses or self._names[:3]

    @property
    def axis(self) -> str:
        """What is drawn to the right."""
        return AXES[self._axis.active]

    @property
    def axis_label(self) -> str:
        """Its name."""
        return LABELS[self._axis.active]

    @property
    def x_is_log(self) -> bool:
        """A clock is never logarithmic."""
        return 0 in self._logs.active and self.axis != "time"

    @property
    def y_is_log(self) -> bool:
        """Is the loss drawn on a logarithmic axis?"""
        return 1 in self._logs.active

    @property
    def weight(self) -> float:
        """How much of the past each point keeps."""
        return float(self._smoothing.value)

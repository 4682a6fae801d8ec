"""The panel of usage: GPU-hours by user and day, and how much of them ended in failure."""

from __future__ import annotations

import time
from datetime import date, timedelta
from typing import Any

from bokeh.document import Document
from bokeh.models import (
    CategoricalAxis,
    Column,
    ColumnDataSource,
    DataTable,
    Div,
    FactorRange,
    GlyphRenderer,
    HoverTool,
    NumberFormatter,
    Row,
    TableColumn,
    VBar,
)

from jupysched.panels import facts, look
from jupysched.panels.files import csv_button
from jupysched.panels.views import World

PERIOD_MS = 5000
#: days shown
MOST_DAYS = 30
LEAST_DAYS = 7
#: users with a colour of their own; the others are one
MOST_USERS = 12


def draw(document: Document, world: World) -> None:
    """Fill the document, and keep it true."""
    View(document, world)


class View:
    """One open panel."""

    def __init__(self, document: Document, world: World) -> None:
        self._world = world
        self._theme = look.theme_of(document)
        self._bars = ColumnDataSource({})
        self._rows = ColumnDataSource({name: [] for name in facts.Used._fields})
        self._users: list[str] = []
        self._chart = Column(children=[], sizing_mode="stretch_width")
        look.dress(document, self._theme, "GPU usage")
        document.add_root(self._layout())
        self._tick()
        document.add_periodic_callback(self._tick, PERIOD_MS)

    def _layout(self) -> Column:
        sheet = [look.style(self._theme)]
        csv = csv_button([("", self._rows)], name="gpu-usage", theme=self._theme)
        said = Div(text="<span class='soft'>of the jobs that the queue still knows</span>", stylesheets=sheet)
        hours = NumberFormatter(format="0.000")
        columns = [
            TableColumn(field="day", title="Day"),
            TableColumn(field="user", title="User"),
            TableColumn(field="jobs", title="Jobs"),
            TableColumn(field="gpu_hours", title="GPU-hours", formatter=hours),
            TableColumn(field="failed_hours", title="of these failed", formatter=hours),
        ]
        table = DataTable(
            source=self._rows,
            columns=columns,
            height=220,
            index_position=None,
            sizing_mode="stretch_width",
            stylesheets=[*sheet, look.table_style(self._theme)],
        )
        return Column(children=[Row(children=[csv, said]), self._chart, table], sizing_mode="stretch_width")

    def _tick(self) -> None:
        rows = facts.usage(self._world.picture.jobs.values(), now=time.time())
        self._rows.data = {name: [getattr(r, name) for r in reversed(rows)] for name in facts.Used._fields}
        days = _days(rows)
        totals = {u: sum(r.gpu_hours for r in rows if r.user == u) for u in {r.user for r in rows}}
        users = sorted(totals, key=lambda u: -totals[u])
        shown, others = users[:MOST_USERS], set(users[MOST_USERS:])
        names = [*shown, *(["others"] if others else [])]
        data: dict[str, list[Any]] = {"day": days}
        below = [0.0] * len(days)
        for index, name in enumerate(names):
            of = others if name == "others" and others else {name}
            hours = [sum(r.gpu_hours for r in rows if r.day == d and r.user in of) for d in days]
            data[f"bottom{index}"] = below
            below = [b + h for b, h in zip(below, hours, strict=True)]
            data[f"top{index}"] = below
            data[f"hours{index}"] = hours
        self._bars.data = data
        if names != self._users or (days and not self._chart.children):
            self._users = names
            self._chart.children = [self._draw(days)] if days else [self._nothing()]
        elif days and self._chart.children:
            self._chart.children[0].x_range.factors = days

    def _nothing(self) -> Div:
        return Div(text="No job has run yet.", stylesheets=[look.style(self._theme)])

    def _draw(self, days: list[str]) -> Any:
        made = look.chart(
            "GPU-hours by user and day", self._theme, height=280, x_range=FactorRange(factors=days), is_time=False
        )
        plot = made.plot
        plot.below.clear()
        look.categories(plot, CategoricalAxis(), self._theme)
        for index, name in enumerate(self._users):
            glyph = VBar(
                x="day",
                bottom=f"bottom{index}",
                top=f"top{index}",
                width=0.7,
                fill_color=look.colour(index),
                line_color=self._theme.ground,
                hatch_pattern=" " if index < len(look.COLOURS) else "right_diagonal_line",
                hatch_alpha=0.4,
            )
            renderer = GlyphRenderer(data_source=self._bars, glyph=glyph, name=name)
            plot.renderers.append(renderer)
            made.entry(name, renderer)
            plot.add_tools(
                HoverTool(
                    renderers=[renderer],
                    tooltips=[("", "$name"), ("", f"@hours{index}{{0.00}} GPU-hours"), ("", "@day")],
                )
            )
        return made.with_legend()


def _days(rows: list[facts.Used]) -> list[str]:
    """The days from the first with any use to today, at most MOST_DAYS and at least LEAST_DAYS of them."""
    if not rows:
        return []
    today = date.today()  # noqa: DTZ011  days are those of the people here
    first = date.fromisoformat(min(r.day for r in rows))
    count = min(MOST_DAYS, max(LEAST_DAYS, (today - first).days + 1))
    return [(today - timedelta(days=n)).isoformat() for n in reversed(range(count))]

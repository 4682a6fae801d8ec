"""The panel of usage: GPU-hours by user and day against their share, GPUs that are held and idle, and what was left unused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from html import escape
from typing import Any

from bokeh.document import Document
from bokeh.models import (
    CategoricalAxis,
    ColumnDataSource,
    FactorRange,
    GlyphRenderer,
    HBar,
    HoverTool,
    Scatter,
    VBar,
)

from jupysched import phrases
from jupysched.panels import facts, look
from jupysched.panels.page import Page, fill, number, say
from jupysched.panels.views import World
from jupysched.wire import requests as ask
from jupysched.wire.samples import IdleRecord, UsageReport

RANGES: tuple[tuple[str, int], ...] = (("7 d", 7), ("30 d", 30))
PERIOD_MS = 5000
#: users with a colour of their own; the others are one
MOST_USERS = 12
MOST_IDLE = 12
OTHERS = "others"


def draw(document: Document, world: World) -> None:
    """Fill the document, and keep it true."""
    View(document, world)


class View:
    """One open panel."""

    def __init__(self, document: Document, world: World) -> None:
        self._world = world
        self._page = Page(document, title="GPU usage", file_name="gpu-usage")
        self._days = RANGES[0][1]
        self._bars = ColumnDataSource({"day": [], "date": []})
        self._shares = ColumnDataSource({"user": [], "part": [], "share": []})
        self._people = ColumnDataSource({name: [] for name in facts.Person._fields})
        self._by_day = ColumnDataSource({name: [] for name in facts.Day._fields})
        self._wastes = ColumnDataSource({name: [] for name in facts.Waste._fields})
        self._idle = self._page.text("")
        self._users: list[str] = []
        self._is_drawn = False
        self._stand()
        self._page.keep_true(self._tick, period_ms=PERIOD_MS)

    def _stand(self) -> None:
        page = self._page
        hours, percent, count = number("0.00"), number("0"), number("0")
        unused = {"busy": ("Busy %", percent), "idle_hours": ("Idle h", hours), "unused_hours": ("Unused h", hours)}
        more = {**unused, "memory": ("Mem. %", percent), "failed_hours": ("Failed h", hours)}
        held, who = {"gpu_hours": ("GPU h", hours)}, ("User", 70)
        people = {
            "user": who,
            "jobs": ("Jobs", count),
            **held,
            "part": ("Of all %", percent),
            "share": ("Share %", percent),
            **more,
        }
        days = {"day": ("Day", 80), "user": who, "jobs": ("Jobs", count), **held, **more}
        peak = {"peak": ("Peak %", percent)}
        jobs = {"job": ("Job", count), "name": "Name", "user": who, **held, **unused, **peak, "failed": ""}
        sources = [("", self._people), ("", self._by_day), ("", self._wastes)]
        page.show(
            [page.ranges([label for label, _ in RANGES], self._show_range)],
            self._idle,
            page.text(
                "<b>Users</b> <span class='soft'>GPU h: hours for which GPUs were held. Of these, busy: their utilization; unused: the "
                "rest; idle: minutes on end under 5 %. Mem. and peak: of the memory there.</span>"
            ),
            page.table(self._people, people, most=8),
            page.text("<b>Left most unused</b> <span class='soft'>by jobs of this time</span>"),
            page.table(self._wastes, jobs, most=8),
            page.text("<b>Days</b>"),
            page.table(self._by_day, days, most=10),
            sources=sources,
        )

    def _show_range(self, index: int) -> None:
        self._days = RANGES[index][1]
        self._page.again()

    async def _tick(self) -> None:
        report: UsageReport = await self._world.call(ask.UsageReport(days=self._days))
        people = facts.people(report)
        fill(self._people, people, facts.Person._fields)
        fill(self._by_day, facts.days(report)[::-1], facts.Day._fields)
        fill(self._wastes, facts.wastes(report), facts.Waste._fields)
        say(self._idle, idle_words(report.idle))
        self._draw(people, facts.days(report))

    def _draw(self, people: Sequence[facts.Person], rows: Sequence[facts.Day]) -> None:
        days = _last_days(self._days) if rows else []
        shown, others = people[:MOST_USERS], {p.user for p in people[MOST_USERS:]}
        names = [*(p.user for p in shown), *([OTHERS] if others else [])]
        self._bars.data = _stacks(rows, days, names, others)
        # The first user stands on top.
        self._shares.data = {
            "user": [p.user for p in shown][::-1],
            "part": [p.part for p in shown][::-1],
            "share": [p.share for p in shown][::-1],
        }
        charts = self._page.charts
        if names != self._users or not self._is_drawn:
            self._users, self._is_drawn = names, True
            charts.children = [self._by_day_chart(days), self._share_chart()] if names else [self._nothing()]
        elif names:
            charts.children[0].x_range.factors = _places(days)

    def _nothing(self) -> Any:
        return self._page.text("No job has run yet.")

    def _by_day_chart(self, days: list[str]) -> Any:
        theme = self._page.theme
        made = look.chart(
            "GPU-hours by user and day",
            theme,
            height=250,
            x_range=FactorRange(factors=_places(days), group_padding=0.2),
            is_time=False,
        )
        plot = made.plot
        plot.below.clear()
        look.categories(plot, CategoricalAxis(group_text_color=theme.soft, separator_line_color=theme.rule), theme)
        for index, name in enumerate(self._users):
            glyph = VBar(
                x="day",
                bottom=f"bottom{index}",
                top=f"top{index}",
                width=0.7,
                fill_color=look.colour(index),
                line_color=theme.ground,
                hatch_pattern=" " if index < len(look.COLOURS) else "right_diagonal_line",
                hatch_alpha=0.4,
            )
            renderer = GlyphRenderer(data_source=self._bars, glyph=glyph, name=name)
            plot.renderers.append(renderer)
            made.entry(name, renderer)
            tips = [("", "$name"), ("", f"@hours{index}{{0.00}} GPU-hours"), ("", "@date")]
            plot.add_tools(HoverTool(renderers=[renderer], tooltips=tips))
        return made.with_legend()

    def _share_chart(self) -> Any:
        """What each used of all, and a mark at what is theirs."""
        theme = self._page.theme
        users = [name for name in self._users if name != OTHERS]
        made = look.chart(
            "Part of all GPU-hours, and share (%)",
            theme,
            height=80 + 22 * len(users),
            x_range=look.percent(),
            y_range=FactorRange(factors=users[::-1]),
            is_time=False,
        )
        plot = made.plot
        plot.left.clear()
        look.categories(plot, CategoricalAxis(), theme, "left")
        bar = HBar(y="user", right="part", height=0.6, fill_color=look.colour(0), line_color=theme.ground)
        mark = Scatter(x="share", y="user", marker="dash", angle=1.5708, size=18, line_color=theme.ink, line_width=3)
        bars = GlyphRenderer(data_source=self._shares, glyph=bar, name="used")
        marks = GlyphRenderer(data_source=self._shares, glyph=mark, name="share")
        plot.renderers.extend([bars, marks])
        made.entry("used", bars)
        made.entry("share", marks)
        tips = [("", "@user"), ("used", "@part{0.0} % of all"), ("share", "@share{0.0} %")]
        plot.add_tools(HoverTool(renderers=[bars, marks], tooltips=tips))
        return made.with_legend()


def idle_words(idle: Sequence[IdleRecord]) -> str:
    """GPUs that are held and not used, as sentences."""
    lines = [
        f"{escape(i.label)}: {escape(i.user)}'s {escape(i.name[:60])} ({i.job}) has used less than 5 % of it for "
        f"{phrases.duration(i.idle_s)}."
        for i in idle[:MOST_IDLE]
    ]
    if len(idle) > MOST_IDLE:
        lines.append(f"{len(idle) - MOST_IDLE} more.")
    return f"<b>Held and idle now</b><br>{'<br>'.join(lines)}" if lines else ""


def _stacks(rows: Sequence[facts.Day], days: list[str], names: Sequence[str], others: set[str]) -> dict[str, list[Any]]:
    """Bars on top of each other, a pair of columns a user."""
    data: dict[str, list[Any]] = {"day": _places(days), "date": days}
    below = [0.0] * len(days)
    for index, name in enumerate(names):
        of = others if name == OTHERS and others else {name}
        hours = [sum(r.gpu_hours for r in rows if r.day == d and r.user in of) for d in days]
        data[f"bottom{index}"] = below
        below = [b + h for b, h in zip(below, hours, strict=True)]
        data[f"top{index}"] = below
        data[f"hours{index}"] = hours
    return data


def _places(days: Sequence[str]) -> list[tuple[str, str]]:
    """Month and day of each: a month of full dates would stand on top of each other."""
    return [(date.fromisoformat(day).strftime("%b %Y"), day[-2:]) for day in days]


def _last_days(count: int) -> list[str]:
    today = date.today()  # noqa: DTZ011  days are those of the people here
    return [(today - timedelta(days=n)).isoformat() for n in reversed(range(count))]

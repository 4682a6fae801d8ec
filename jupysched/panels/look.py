"""How charts look: plots, lines, legends, colours. Knows Bokeh; knows nothing of jobs or GPUs.

Plots are put together from their parts instead of by `figure()`: a document with 32 lines is made in a quarter of the time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bokeh.models import (
    BasicTicker,
    CategoricalScale,
    ColumnDataSource,
    DataRange1d,
    DatetimeAxis,
    DatetimeTickFormatter,
    GlyphRenderer,
    Grid,
    HoverTool,
    Legend,
    LegendItem,
    Line,
    LinearAxis,
    LogAxis,
    LogScale,
    LogTicker,
    PanTool,
    Plot,
    Range1d,
    ResetTool,
    SaveTool,
    Scatter,
    Title,
    WheelZoomTool,
)

from jupysched.panels.theme import Theme

#: told apart by those who see few colours, on light and on dark (after Okabe and Ito); a dash pattern is added past eight
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")
#: entries of a legend beside each other, and the width of a panel beside a notebook, which has room for so many
MOST_COLUMNS, NARROW = 4, 430
#: what a letter of an entry takes, and what its sign takes
LETTER_WIDTH, SIGN_WIDTH = 6.2, 32
DASHES = ("solid", "dashed", "dotted", "dotdash")


def colour(index: int) -> str:
    """The colour of the line with this number."""
    return COLOURS[index % len(COLOURS)]


def ink_on(ground: str) -> str:
    """Black or white, whichever is read better on this colour."""
    red, green, blue = (int(ground[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "#111111" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.45 else "#ffffff"


def dash(index: int) -> str:
    """Its dash pattern: colour alone never tells two lines apart."""
    return DASHES[index // len(COLOURS) % len(DASHES)]


def entries_beside(labels: Sequence[str]) -> int:
    """How many entries of a legend stand beside each other: a longer row would be cut at its left."""
    widest = max((LETTER_WIDTH * len(label) + SIGN_WIDTH for label in labels), default=1.0)
    return max(1, min(MOST_COLUMNS, len(labels), int(NARROW // widest)))


@dataclass(slots=True)
class Chart:
    """A plot and the handles by which lines are added."""

    plot: Plot
    theme: Theme
    legend: list[LegendItem] = field(default_factory=list)

    def line(
        self,
        source: ColumnDataSource,
        *,
        x: str,
        y: str,
        label: str,
        index: int,
        width: float = 1.5,
        alpha: float = 1.0,
    ) -> GlyphRenderer:
        """A line, with its place in the legend."""
        glyph = Line(x=x, y=y, line_color=colour(index), line_dash=dash(index), line_width=width, line_alpha=alpha)
        renderer = GlyphRenderer(data_source=source, glyph=glyph, name=label)
        self.plot.renderers.append(renderer)
        if label:
            self.entry(label, renderer)
        return renderer

    def marks(self, source: ColumnDataSource, *, x: str, y: str, index: int) -> GlyphRenderer:
        """Crosses where a value was not a number."""
        glyph = Scatter(x=x, y=y, marker="x", size=9, line_color=colour(index), line_width=2)
        renderer = GlyphRenderer(data_source=source, glyph=glyph)
        self.plot.renderers.append(renderer)
        return renderer

    def entry(self, label: str, renderer: GlyphRenderer) -> None:
        """A place in the legend for something that is not a line."""
        self.legend.append(LegendItem(label={"value": label}, renderers=[renderer]))

    def with_legend(self) -> Plot:
        """The plot, its legend below it; a click on an entry hides its line. A line alone needs none."""
        if len(self.legend) > 1:
            for item in self.legend:
                self._calm(item)
            beside = entries_beside([item.label["value"] for item in self.legend])
            legend = Legend(
                items=self.legend,
                click_policy="hide",
                orientation="horizontal",
                ncols=beside,
                background_fill_alpha=0,
                border_line_alpha=0,
                spacing=8,
                margin=0,
                padding=2,
                label_text_color=self.theme.ink,
                label_text_font_size="11px",
                glyph_width=16,
                label_height=14,
                glyph_height=14,
            )
            self.plot.add_layout(legend, "below")
            rows = -(-len(self.legend) // beside)
            self.plot.height += 8 + 20 * rows
        return self.plot

    def _calm(self, item: LegendItem) -> None:
        """Let the entry speak for its lines through one that is never drawn: a legend is drawn anew, and the page laid out
        anew, with everything that comes in for a line that it knows."""
        lines = [r for r in item.renderers if isinstance(r.glyph, Line)]
        if len(lines) != len(item.renderers) or not lines:
            return
        # With no row at all Bokeh would leave the entry without a sign of its line.
        nowhere = ColumnDataSource({lines[0].glyph.x: [math.nan], lines[0].glyph.y: [math.nan]})
        stand_in = GlyphRenderer(data_source=nowhere)
        stand_in.glyph = lines[0].glyph
        self.plot.renderers.append(stand_in)

        def hide(_name: str, _old: bool, is_shown: bool) -> None:  # noqa: FBT001  as Bokeh calls it
            for line in lines:
                line.visible = is_shown

        stand_in.on_change("visible", hide)
        item.renderers = [stand_in]


def chart(
    title: str,
    theme: Theme,
    *,
    height: int = 190,
    x_range: Any = None,
    y_range: Any = None,
    is_time: bool = True,
    is_log: bool = False,
    x_is_log: bool = False,
    y_label: str = "",
    x_label: str = "",
    tooltips: Sequence[tuple[str, str]] = (),
) -> Chart:
    """An empty chart with axes, grid, zoom, pan and the tools that save it."""
    words: dict[str, Any] = {
        "axis_label_text_color": theme.soft,
        "major_label_text_color": theme.soft,
        "axis_line_color": theme.rule,
        "major_tick_line_color": theme.rule,
        "minor_tick_line_color": None,
        "major_label_text_font_size": "11px",
        "axis_label_text_font_size": "11px",
        "axis_label_text_font_style": "normal",
    }
    plot = Plot(
        title=Title(text=title, text_color=theme.ink, text_font_size="12px", text_font_style="bold"),
        height=height,
        x_range=x_range or DataRange1d(range_padding=0.02),
        y_range=y_range or DataRange1d(range_padding=0.05),
        sizing_mode="stretch_width",
        output_backend="canvas",
        background_fill_color=theme.ground,
        min_border_left=48,
        border_fill_color=theme.ground,
        outline_line_color=theme.rule,
        toolbar_location="right",
    )
    if is_log:
        plot.y_scale = LogScale()
    if x_is_log:
        plot.x_scale = LogScale()
    below: Any = (
        DatetimeAxis(formatter=_clock(), **words)
        if is_time
        else (LogAxis if x_is_log else LinearAxis)(axis_label=x_label or None, **words)
    )
    left = (LogAxis if is_log else LinearAxis)(axis_label=y_label or None, ticker=_ticker(is_log), **words)
    plot.add_layout(below, "below")
    plot.add_layout(left, "left")
    plot.add_layout(Grid(dimension=0, ticker=below.ticker, grid_line_color=theme.rule))
    plot.add_layout(Grid(dimension=1, ticker=left.ticker, grid_line_color=theme.rule))
    wheel = WheelZoomTool(dimensions="width")
    tools: list[Any] = [
        PanTool(dimensions="both"),
        wheel,
        ResetTool(),
        SaveTool(filename=title.lower().replace(" ", "-")),
    ]
    if tooltips:
        tools.append(HoverTool(tooltips=list(tooltips), formatters={"@time": "datetime"}, mode="mouse"))
    plot.add_tools(*tools)
    plot.toolbar.autohide = True
    plot.toolbar.logo = None
    return Chart(plot=plot, theme=theme)


def categories(plot: Plot, axis: Any, theme: Theme, place: str = "below") -> None:
    """An axis of names."""
    axis.update(
        major_label_text_color=theme.soft,
        axis_line_color=theme.rule,
        major_tick_line_color=None,
        major_label_text_font_size="11px",
    )
    along = "x_scale" if place == "below" else "y_scale"
    setattr(plot, along, CategoricalScale())
    plot.add_layout(axis, place)


def _ticker(is_log: bool) -> Any:  # noqa: FBT001  one caller
    return LogTicker(desired_num_ticks=5) if is_log else BasicTicker(desired_num_ticks=4)


def _clock() -> DatetimeTickFormatter:
    return DatetimeTickFormatter(
        milliseconds="%H:%M:%S.%3N",
        seconds="%H:%M:%S",
        minsec="%H:%M:%S",
        minutes="%H:%M",
        hourmin="%H:%M",
        hours="%H:%M",
        days="%d %b",
        months="%b %Y",
        years="%Y",
    )


def percent() -> Range1d:
    """The axis of what goes from nothing to all."""
    return Range1d(0, 101, bounds=(0, 101))

# SPDX-License-Identifier: GPL-2.0-or-later
"""Bar charts as SVG, for the results of benches."""

import dataclasses
from typing import Optional
from xml.sax.saxutils import escape

_COLOURS = ("#9aa5b1", "#e0a458", "#4f86c6", "#3a7d44", "#a23b72")
_WIDTH, _HEIGHT = 420, 240
_LEFT, _TOP, _BOTTOM = 56, 34, 34
_LEGEND = 30


@dataclasses.dataclass
class Panel:
    """
    One chart: @bars has, for each group of @groups, a value for each series
    of the figure; None leaves a gap.
    """
    title: str
    unit: str
    groups: list[str]
    bars: list[list[Optional[float]]]


def _ceiling(value: float) -> float:
    """A round number that is not below @value."""
    scale = 1.0
    while scale * 10 <= value:
        scale *= 10
    while scale > value > 0:
        scale /= 10
    return next(scale * n for n in (1, 2, 2.5, 5, 10) if scale * n >= value)


def _text(x: float, y: float, text: str, anchor: str = "middle",
          size: int = 11) -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'font-size="{size}">{escape(text)}</text>')


def _panel(panel: Panel, x0: float, y0: float) -> list[str]:
    width, height = _WIDTH - _LEFT - 16, _HEIGHT - _TOP - _BOTTOM
    left, base = x0 + _LEFT, y0 + _TOP + height
    top = _ceiling(max((v for group in panel.bars for v in group
                        if v is not None), default=1) or 1)
    out = [_text(x0 + _WIDTH / 2, y0 + 18, f"{panel.title} ({panel.unit})",
                 size=13)]
    for n in range(5):
        y = base - height * n / 4
        out.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" '
                   f'y2="{y:.1f}" stroke="#ddd"/>')
        out.append(_text(left - 6, y + 4, f"{top * n / 4:g}", "end"))
    slot = width / max(1, len(panel.groups))
    for g, (name, values) in enumerate(zip(panel.groups, panel.bars)):
        bar = slot * 0.8 / max(1, len(values))
        out.append(_text(left + slot * (g + 0.5), base + 18, name))
        for s, value in enumerate(values):
            if value is None:
                continue
            tall = height * value / top
            out.append(
                f'<rect x="{left + slot * (g + 0.1) + bar * s:.1f}" '
                f'y="{base - tall:.1f}" width="{bar * 0.9:.1f}" '
                f'height="{tall:.1f}" fill="{_COLOURS[s % len(_COLOURS)]}">'
                f'<title>{escape(name)}: {value:g}</title></rect>')
    return out


def svg(series: list[str], panels: list[Panel], columns: int = 2) -> str:
    """A figure of @panels; all have the bars of the same @series."""
    rows = -(-len(panels) // columns)
    width, height = _WIDTH * columns, _HEIGHT * rows + _LEGEND
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" font-family="sans-serif">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for n, name in enumerate(series):
        x = _LEFT + n * (width - _LEFT) / max(1, len(series))
        out.append(f'<rect x="{x:.1f}" y="10" width="12" height="12" '
                   f'fill="{_COLOURS[n % len(_COLOURS)]}"/>')
        out.append(_text(x + 18, 20, name, "start"))
    for n, panel in enumerate(panels):
        out += _panel(panel, n % columns * _WIDTH,
                      _LEGEND + n // columns * _HEIGHT)
    return "\n".join([*out, "</svg>", ""])

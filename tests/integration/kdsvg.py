# SPDX-License-Identifier: Apache-2.0
"""Pictures of text and bars, as SVG that needs nothing but some monospaced font."""

import re
from xml.sax.saxutils import escape

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
INK, PAPER = "#1f2328", "#ffffff"


class Drawing:
    """A drawing with a fixed width in pixels for each character, whatever the font."""

    def __init__(self, width, height, size=13, paper=PAPER):
        self.size, self.advance = size, size * 0.6
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                      f'width="{width}" height="{height}" font-family="{FONT}" '
                      f'font-size="{size}">', f'<rect width="100%" height="100%" fill="{paper}"/>']

    def rect(self, left, top, width, height, fill, title=""):
        about = f"><title>{escape(title)}</title></rect>" if title else "/>"
        self.parts.append(f'<rect x="{left:.5g}" y="{top:.5g}" width="{width:.4g}" '
                          f'height="{height:.4g}" fill="{fill}"{about}')

    def text(self, left, base, text, fill=INK, bold=False, size=None):
        """One line of text; blanks count."""
        if not text.strip():
            return
        advance = (size or self.size) * 0.6
        style = (' font-weight="bold"' if bold else "") + (f' font-size="{size}"' if size else "")
        self.parts.append(f'<text x="{left:.5g}" y="{base:.5g}" fill="{fill}"{style} '
                          f'textLength="{len(text) * advance:.5g}" xml:space="preserve">'
                          f"{escape(text)}</text>")

    def line(self, points, color):
        path = " ".join(f"{x:.5g},{y:.5g}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}"/>')

    def arrow(self, left, top, right, bottom, color):
        """An arrow down or up to a point."""
        back = 4 if bottom < top else -4
        self.line([(left, top), (right, bottom)], color)
        self.parts.append(f'<path d="M{right:.5g} {bottom:.5g}l-3 {back}h6z" fill="{color}"/>')

    def write(self, path):
        path.write_text("\n".join([*self.parts, "</svg>", ""]), encoding="utf-8")


# --- A terminal's screen ---

EIGHTHS = "▁▂▃▄▅▆▇█"
MARGIN, LINE = 10, 18


def runs(line, bold, reverse):
    """([(column, text, bold, reverse)], bold, reverse), the latter two being the state at the
    line's end."""
    found, column = [], 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            for code in part[2:-1].split(";"):
                if code in ("", "0"):
                    bold = reverse = False
                bold, reverse = bold or code == "1", reverse or code == "7"
        elif part:
            found.append((column, part, bold, reverse))
            column += len(part)
    return found, bold, reverse


def screen(text, path):
    """Draws the output of `tmux capture-pane -e -p`: bold and reversed text, and bars."""
    lines = text.rstrip("\n").split("\n")
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    columns = max(map(len, plain))
    drawing = Drawing(round(columns * 7.8 + 2 * MARGIN), LINE * len(lines) + 2 * MARGIN)
    bold = reverse = False
    for row, line in enumerate(lines):
        found, bold, reverse = runs(line, bold, reverse)
        top = MARGIN + row * LINE
        for column, part, is_bold, is_reverse in found:
            left = MARGIN + column * drawing.advance
            if is_reverse:
                drawing.rect(left, top, len(part) * drawing.advance, LINE, INK)
            ink = PAPER if is_reverse else INK
            for at, char in enumerate(part):
                if char in EIGHTHS:
                    height = LINE * (EIGHTHS.index(char) + 1) / 8
                    drawing.rect(left + at * drawing.advance, top + LINE - height,
                                 drawing.advance, height, ink)
            blank = re.sub(f"[{EIGHTHS}]", " ", part)
            start = len(blank) - len(blank.lstrip())
            drawing.text(left + start * drawing.advance, top + 13.5, blank.strip(), ink, is_bold)
    drawing.write(path)

"""paint.py - shared by all drawn pictures: colours for light and dark, fonts, escaping.

A picture has its own background, so that it can be read on any page, and loads nothing: GitHub shows it as
an image, without scripts and network.
"""
import re
import xml.sax.saxutils

MONO = ('ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",'
        '"Liberation Mono",monospace')
SANS = ('system-ui,-apple-system,"Segoe UI",Helvetica,Arial,"DejaVu Sans",'
        '"Liberation Sans",sans-serif')

LIGHT = {"page": "#ffffff", "card": "#f6f8fa", "edge": "#d0d7de", "text": "#1f2328",
         "dim": "#59636e", "blue": "#0969da", "green": "#1a7f37", "red": "#cf222e",
         "blueish": "#ddf4ff", "greenish": "#dafbe1", "reddish": "#ffebe9"}
DARK = {"page": "#0d1117", "card": "#161b22", "edge": "#3d444d", "text": "#e6edf3",
        "dim": "#9198a1", "blue": "#58a6ff", "green": "#3fb950", "red": "#f85149",
        "blueish": "#121d2f", "greenish": "#12261e", "reddish": "#2b1619"}


def escape(text):
    return xml.sax.saxutils.escape(text, {'"': "&quot;"})


def colours():
    """As CSS variables: var(--text)."""
    def block(theme):
        return "svg{" + ";".join(f"--{name}:{value}" for name, value in theme.items()) + "}"
    return f"{block(LIGHT)}\n@media (prefers-color-scheme:dark){{{block(DARK)}}}"


def with_fallbacks(style):
    """A plain colour before each variable, for librsvg, which does not know CSS variables."""
    return re.sub(r"(fill|stroke):var\(--(\w+)\)",
                  lambda match: f"{match[1]}:{LIGHT[match[2]]};{match[0]}", style)


def document(width, height, title, text, style, body):
    """The whole SVG file.  Title and text are for screen readers."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="t d" xml:space="preserve">\n'
        f'<title id="t">{escape(title)}</title>\n<desc id="d">{escape(text)}</desc>\n'
        f"<style>\n{colours()}\n{with_fallbacks(style)}</style>\n"
        f'<rect class="page" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>\n'
        f"{body}</svg>\n")


PAGE = ".page{fill:var(--page);stroke:var(--edge)}\n"

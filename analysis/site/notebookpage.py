"""An executed notebook as a page: light, without scripts, and in the reader's light or dark."""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import nbformat
from IPython.display import SVG
from latex2mathml.converter import convert
from markupsafe import Markup
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]

from qdisclab.analysis.site import pages
from qdisclab.analysis.site.outputs import FIGURE
from qdisclab.analysis.site.tables import hoisted

#: nbconvert's plain template, with code that unfolds.
FOLDED: Final = """{% extends 'basic/index.html.j2' %}
{% block input %}<details class="code"><summary>Code</summary>{{ super() }}</details>{% endblock %}
"""

#: What may be wider than the page, and so has to be reached by keys.
WIDE: Final = re.compile(r'<(pre\b|div(?= class="output_(?:html|svg|png)))')

DRAWING: Final = Markup(
    '<picture><source srcset="{}" media="(prefers-color-scheme: dark)">'
    '<img src="{}" alt="{}"></picture>'
)

COLORS: Final = {
    theme: Markup(HtmlFormatter(style=style).get_style_defs(".highlight"))
    for theme, style in (("light", "xcode"), ("dark", "github-dark"))
}
"""Of code, by theme, as Pygments has them."""


class Formulas(IPythonRenderer):
    """Markdown with formulas as MathML, which browsers and screen readers know without a script."""

    def block_math(self, body: str) -> str:
        """Return a formula of its own paragraph."""
        return convert(body, display="block")

    def inline_math(self, body: str) -> str:
        """Return a formula within a line."""
        return convert(body)


def render(notebook: Path, title: str, alt: str = "") -> str:
    """Return the page's HTML.

    If the notebook shows the figure that is saved in its folder, the page refers to that file, and
    to the dark one for readers of dark pages; `alt` is its alternative text.
    """
    node: Any = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    drawing = notebook.with_name(f"{FIGURE}.svg")
    outputs = [output for cell in node.cells for output in cell.get("outputs", ())]
    if drawing.is_file():
        _refer_to(drawing, outputs, alt)
    _describe(outputs)
    body, _ = _exporter().from_notebook_node(node)
    given = node.metadata.get("papermill", {}).get("parameters", {})
    for path in (value for value in given.values() if str(value).startswith("/")):
        body = body.replace(path, Path(path).name)  # of the machine that drew it
    body = WIDE.sub(r'<\1 tabindex="0"', body)
    page = pages.render(
        "notebook.html",
        "../../",
        here="",
        there=[pages.INDEX],
        title=title,
        body=Markup(body),
        colors=COLORS,
    )
    return hoisted(page)


@cache  # with its compiled templates
def _exporter() -> HTMLExporter:
    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        raw_template=FOLDED, exclude_input_prompt=True, exclude_output_prompt=True
    )
    markdown = MarkdownWithMath(renderer=Formulas(escape=False)).render
    exporter.register_filter("markdown2html", markdown)  # type: ignore[no-untyped-call]
    return exporter


def _refer_to(drawing: Path, outputs: Sequence[Any], alt: str) -> None:
    """Replace outputs that are the file `drawing`, as IPython writes it, by a reference to it.

    The size is left out of it: a notebook may show a figure in another one (`style.svg`).
    """
    same = _content(SVG(drawing.read_text(encoding="utf-8")).data)  # type: ignore[no-untyped-call]
    parts: Any = pages.common().get_template("parts.html").module
    for output in outputs:
        if _content(output.get("data", {}).get("image/svg+xml", "")) == same:
            html = f'<a href="{FIGURE}.svg">{parts.picture(FIGURE, alt, None)}</a>'
            output["data"] = {"text/html": html}


def _describe(outputs: Sequence[Any]) -> None:
    """Give all other drawings what `outputs.show` put in their metadata: their alternative text,
    and the dark one for readers of dark pages."""
    for output in outputs:
        drawing = output.get("data", {}).get("image/svg+xml")
        about = output.get("metadata", {}).get("image/svg+xml", {})
        if drawing and about.get("alt"):
            light, dark = map(_address, (drawing, about.get("dark") or drawing))
            output["data"] = {"text/html": DRAWING.format(dark, light, about["alt"])}


def _address(drawing: str) -> Markup:
    return Markup("data:image/svg+xml;base64," + b64encode(drawing.encode()).decode())


def _content(svg: str) -> str:
    """Return the content of the outermost element."""
    return svg.partition(">")[2]


def data_root(notebook: Path) -> str:
    """Return where an executed notebook read its runs from; empty where it does not say."""
    try:
        about = json.loads(notebook.read_text(encoding="utf-8"))["metadata"]
        return str(about["papermill"]["parameters"]["data_root"])
    except (OSError, ValueError, LookupError, TypeError):
        return ""

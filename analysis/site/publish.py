"""`python -m qdisclab.analysis.site.publish DIR --results results` makes a folder for a web server.

It has the pages, pictures and tables of the results. No link leads out of it but to the paper and,
with `--data-url`, to the runs below that address; nothing in it names a folder of this machine.
With `--site-url`, where it will be, there is a sitemap, too. Exit status 1 where DIR is not empty
or there are no pages.
"""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.site import pages
from qdisclab.emulation.host.storage import command

#: What of the results is served.
SERVED: Final = (
    "*.html", "*/*.html", "*/*/*.html", "*/*/*.svg", "*/*/*.png", "*/*/*.pdf",
    "*/*/table.csv", "*/*/series.csv", "*/*/runs.csv", "verdicts.json",
)  # fmt: skip
LEFT_OUT: Final = ("logs", "setup")
_LINK: Final = re.compile(r'<a href="([^"#?:]+)((?:[#?][^"]*)?)"([^>]*)>(.*?)</a>', re.DOTALL)
_HEAD: Final = '<meta property="og:title" content="{}">\n<meta property="og:image" content="{}">\n'


def publish(
    results: Path, data: Path, folder: Path, data_url: str = "", site_url: str = ""
) -> list[Path]:
    """Write the site into `folder`, which is empty or not there yet; return its files.

    Raises DataError where it is not, and where `results` has no pages.
    """
    if not (results / pages.INDEX).is_file():
        raise DataError.of(results, "has no index.html", "Draw figures with ./reproduce-all first")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError.of(folder, "is not an empty folder", "Name one that does not exist yet")
    files = sorted({path for pattern in SERVED for path in results.glob(pattern)})
    chosen = [of for of in files if not any(of.is_relative_to(results / out) for out in LEFT_OUT)]
    served = {of.resolve() for of in chosen}
    written = []
    for path in chosen:
        target = folder / path.relative_to(results)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".html":
            text = path.read_text(encoding="utf-8")
            target.write_text(_links(text, path, served, data, data_url), encoding="utf-8")
        else:
            shutil.copyfile(path, target)
        written.append(target)
    _describe(folder / pages.INDEX, site_url)
    if site_url:
        written.append(_sitemap(folder, written, site_url))
    return written


def _links(text: str, page: Path, served: set[Path], data: Path, data_url: str) -> str:
    """Return the HTML of `page` without links to what is not served; those to runs lead to
    `data_url`."""

    def link(match: re.Match[str]) -> str:
        address, rest, attributes, words = match.groups()
        target = Path(os.path.normpath(page.parent.resolve() / unquote(address)))
        if target in served:
            return match[0]
        if data_url and target.is_relative_to(data.resolve()):
            place = quote(target.relative_to(data.resolve()).as_posix())
            return f'<a href="{data_url.rstrip("/")}/{place}{rest}"{attributes}>{words}</a>'
        return words

    return _LINK.sub(link, text)


def _describe(index: Path, site_url: str) -> None:
    """Add to the overview what those show that link to it: its title and its first picture."""
    text = index.read_text(encoding="utf-8")
    title = re.search(r"<title>(.*?)</title>", text)
    picture = re.search(r'<img src="(\S+)\.svg"', text)
    if title and picture:
        head = _HEAD.format(title[1], f"{site_url.rstrip('/')}/{picture[1]}.png".lstrip("/"))
        index.write_text(text.replace("<title>", f"{head}<title>", 1), encoding="utf-8")


def _sitemap(folder: Path, files: Sequence[Path], site_url: str) -> Path:
    """Write sitemap.xml; return its path."""
    names = (of.relative_to(folder).as_posix() for of in files if of.suffix == ".html")
    site = escape(site_url.rstrip("/"))
    lines = (f"<url><loc>{site}/{quote(name)}</loc></url>" for name in names)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    path = folder / "sitemap.xml"
    path.write_text("\n".join([f'<urlset xmlns="{space}">', *lines, "</urlset>\n"]), "utf-8")
    return path


def _address(text: str) -> str:
    if text and not re.fullmatch(r"https?://[^\s\"'<>]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an address: write https://…")
    return text


@command
def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m qdisclab.analysis.site.publish", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="a new folder, or an empty one")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where figures are")
    parser.add_argument("--data", type=Path, default=Path("data"), help="root of the runs")
    parser.add_argument("--data-url", type=_address, default="", help="where that root is served")
    parser.add_argument("--site-url", type=_address, default="", help="where the folder will be")
    given = parser.parse_args(arguments)
    files = publish(given.results, given.data, given.folder, given.data_url, given.site_url)
    size = sum(of.stat().st_size for of in files)
    print(f"{given.folder}: {len(files)} files, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

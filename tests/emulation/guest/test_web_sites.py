"""Tests of emulation.guest.web_sites: the sizes that gbw2015 gives, and always the same bytes."""

import hashlib
from pathlib import Path
from statistics import fmean, median, stdev

import numpy as np
import pytest
import web_sites as sites

#: Of the names, times and bytes of all files.
DIGEST = "88c64828e353364f1c20194a28a144dde72c921eb7a62e4c48465866ee212315"


@pytest.mark.parametrize(
    ("name", "requests", "total"), [("small.example", 3, 56_000), ("large.example", 110, 3_000_000)]
)
def test_a_site_has_the_paper_s_requests_and_bytes(
    tmp_path: Path, name: str, requests: int, total: int
) -> None:
    sites.write(str(tmp_path))
    urls = (tmp_path / name / "filelist.txt").read_text().splitlines()
    assert len(set(urls)) == len(urls) == requests
    objects = [tmp_path / url.removeprefix("http://") for url in urls]
    assert sum(path.stat().st_size for path in objects) == total
    # Nothing but the objects and their list.
    assert len(list((tmp_path / name).iterdir())) == requests + 1


def test_the_large_site_spreads_its_bytes_like_files_on_the_web() -> None:
    """Barford and Crovella: half of the objects below exp(9.357) = 11.6 kB, scale 1.318."""
    sizes = sites.SITES["large.example"]
    assert median(sizes) == pytest.approx(11_600, rel=0.05)
    assert stdev(np.log(sizes)) == pytest.approx(1.318, rel=0.03)
    assert fmean(sizes) > 2 * median(sizes)
    assert min(sizes) > 0
    assert sizes != sorted(sizes)


def test_the_sites_are_those_of_the_shipped_data(tmp_path: Path) -> None:
    """Other bytes would be other sites: measured times could not be compared."""
    sites.write(str(tmp_path))
    digest = hashlib.sha256()
    for path in sorted(path for path in tmp_path.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(tmp_path)} {path.stat().st_mtime_ns}\n".encode())
        digest.update(path.read_bytes())
    assert digest.hexdigest() == DIGEST

"""Describe the data for machines: `python -m workflow.croissant` writes croissant.json.

The format is Croissant 1.0 (docs.mlcommons.org/croissant): file sets by pattern, and tables that
its library reads off them. It names no single run, so that it holds for any that are added.
`--check` writes nothing and fails where the file is not what would be written.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import mlcroissant as mlc

TEXT, INTEGER, NUMBER = mlc.DataType.TEXT, mlc.DataType.INTEGER, mlc.DataType.FLOAT

FILE = Path("croissant.json")
LICENSE = "https://creativecommons.org/licenses/by/4.0/"

#: File set -> media type, patterns below the folder of the project, what it is.
FILES: dict[str, tuple[str, list[str], str]] = {
    "measurements": (
        "application/gzip",
        ["data/*/*/*/*/*/seed-*.flent.gz"],
        "What flent measured in a run: gzipped JSON, https://flent.org/data-format.html",
    ),
    "rows": (
        "application/gzip",
        ["data/*/*/*/*/*/seed-*.rows.jsonl.gz"],
        "What a run measured that is no test of flent's: gzipped lines of JSON, a row a line",
    ),
    "output": (
        "application/gzip",
        ["data/*/*/*/*/*/seed-*.output.tar.gz"],
        "What a run's programs printed and left in files",
    ),
    "packets": (
        "application/vnd.apache.parquet",
        ["data/*/*/*/*/*/seed-*.packets.parquet"],
        "Every packet at the queue under test, of runs whose packets are followed",
    ),
    "series": (
        "application/vnd.apache.parquet",
        ["data/*/*/*/*/*/seed-*.qdisc.parquet"],
        "What the qdiscs of some ports reported in a run, as time series",
    ),
    "sockets": (
        "application/vnd.apache.parquet",
        ["data/*/*/*/*/*/seed-*.sockets.parquet"],
        "What the TCP connections of some nodes reported in a run, as time series",
    ),
    "provenance": (
        "application/json",
        ["data/*/*/*/*/*/seed-*.json"],
        "What a run was made of and what was seen of it; a run exists when this file does",
    ),
    "claims": (
        "text/csv",
        ["studies/*/claims.csv"],
        "What the papers state, a row per statement",
    ),
    "published": (
        "text/csv",
        ["studies/*/published/*.csv"],
        "Values read off the papers' figures and tables",
    ),
    "tables": (
        "text/csv",
        ["data/rig/*.csv", "data/*/*/*/*/*/seed-*.csv"],
        "Measurements of the emulation itself, and what probes recorded beside runs",
    ),
}

#: Column of the table of runs -> its type, where it is in a provenance, what it is.
RUNS: dict[str, tuple[Any, str, str]] = {
    "run": (TEXT, "$.run", "Its id, and its path below the folder of the data without the end"),
    "paper": (TEXT, "$.paper", "Whose experiment it is"),
    "experiment": (TEXT, "$.experiment", "The experiment's name in the study file"),
    "era": (TEXT, "$.era", "Behaviour of the kernel: modern, 2014 or one switch of it"),
    "link": (TEXT, "$.link", "Rates of the bottleneck, download/upload in Mbit/s"),
    "qdisc": (TEXT, "$.qdisc", "The queue discipline under test, by the paper's name"),
    "cc": (TEXT, "$.cc", "TCP congestion control"),
    "seed": (INTEGER, "$.seed", "The repetition"),
    "length_s": (NUMBER, "$.length_s", "Seconds of load"),
    "virtual_s": (NUMBER, "$.virtual_s", "Seconds of the guest's clock, start to end"),
    "wall_s": (NUMBER, "$.wall_s", "Seconds of the host's clock"),
    "kernel_release": (TEXT, "$.identity.kernel.release", "Of the guest's kernel"),
    "kernel_digest": (
        TEXT,
        "$.identity.kernel.digest",
        "Of what in it can reach a result",
    ),
    "kernel_log": (TEXT, "$.kernel_log", "clean: the guest's kernel complained of nothing"),
    "data_sha256": (TEXT, "$.data_sha256", "Of the measurements beside it"),
}

#: Column of the table of claims -> its type, what it is.
CLAIMS: dict[str, tuple[Any, str]] = {
    "id": (TEXT, "Of the claim"),
    "paper": (TEXT, "Which states it"),
    "section": (TEXT, "Of the paper"),
    "kind": (TEXT, "What is compared"),
    "statement": (TEXT, "In our words"),
}


def describe(root: Path = Path()) -> dict[str, Any]:
    """The description of the data of the project in `root`, as JSON-LD.

    Raises `ValueError` where the library finds it wrong.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = mlc.Metadata(
        name=project["name"],
        description="Runs of experiments on bufferbloat, made with the real Linux queue "
        "disciplines and TCP in virtual time, and values and statements of the papers.",
        url="README.md",
        license=[LICENSE],
        version=project["version"],
        creators=[mlc.Organization(name=one["name"]) for one in project["authors"]],
        cite_as="See CITATION.cff; and cite the paper whose experiment it is.",
        distribution=[
            mlc.FileSet(
                id=name, name=name, description=text, encoding_formats=[media], includes=patterns
            )
            for name, (media, patterns, text) in FILES.items()
        ],
        record_sets=[
            _table(
                "runs", "A row per run, off its provenance", "provenance",
                {name: (kind, {"json_path": path}, text)
                 for name, (kind, path, text) in RUNS.items()},
            ),
            _table(
                "statements", "A row per statement of a paper", "claims",
                {name: (kind, {"column": name}, text) for name, (kind, text) in CLAIMS.items()},
            ),
        ],
    )  # fmt: skip
    if about.issues.errors:
        raise ValueError(about.issues.report())
    found: dict[str, Any] = json.loads(json.dumps(about.to_json(), default=str))
    return found


def _table(name: str, text: str, files: str, columns: dict[str, Any]) -> mlc.RecordSet:
    fields = [
        mlc.Field(
            id=f"{name}/{column}",
            name=column,
            description=about,
            data_types=[kind],
            source=mlc.Source(file_set=files, extract=mlc.Extract(**where)),
        )
        for column, (kind, where, about) in columns.items()
    ]
    return mlc.RecordSet(id=name, name=name, description=text, fields=fields)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.croissant", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    given = parser.parse_args(arguments)
    text = json.dumps(describe(), indent=1, ensure_ascii=False) + "\n"
    if given.check:
        if FILE.is_file() and FILE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{FILE} is out of date: python -m workflow.croissant writes it", file=sys.stderr)
        return 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The table of others' tests in docs/exec.md is made of docs/suites.csv."""

import csv
from collections import Counter
from pathlib import Path

import pytest


def table(rows: list[dict[str, str]]) -> str:
    """Return a row per suite and kernel, with how many tests fail for each reason."""
    lines = ["| tests | kernel | ok | skipped | not ok |", "| --- | --- | ---: | ---: | --- |"]
    for suite, kernel in dict.fromkeys((row["suite"], row["kernel"]) for row in rows):
        counts: Counter[str] = Counter()
        for row in rows:
            if (row["suite"], row["kernel"]) == (suite, kernel):
                counts[row["why"] or row["outcome"]] += int(row["count"])
        ok, skipped = counts.pop("ok"), counts.pop("skipped", 0)
        reasons = "; ".join(f"{count}: {why}" for why, count in counts.most_common())
        lines.append(f"| {suite} | {kernel} | {ok} | {skipped or ''} | {reasons} |")
    return "\n".join(lines)


def test_the_page_has_the_table(root: Path) -> None:
    with (root / "docs/suites.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert table(rows) in (root / "docs/exec.md").read_text()
    assert all(row["why"] for row in rows if row["outcome"] == "not ok")


def test_reasons_are_counted() -> None:
    head, *values = ["suite", "kernel", "outcome", "count", "why"], "a 7.2 ok 9", "a 7.2 not-ok 1 x"
    rows = [dict(zip(head, [*text.split(), ""], strict=False)) for text in values]
    assert table([*rows, rows[1]]).splitlines()[2] == "| a | 7.2 | 9 |  | 2: x |"


@pytest.mark.parametrize("name", ["action.yml", "gitlab-ci.yml"])
def test_ci_files_are_yaml(root: Path, name: str) -> None:
    import yaml

    assert "pull-request.sh" in str(yaml.safe_load((root / "docs/ci" / name).read_text()))

"""Files that were made to harm: bounded, refused in a line, and shown as text."""

import gzip
import hashlib
import html
import json
import os
import tarfile
import time
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from qdisclab.analysis import sources
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs import published, reports
from qdisclab.analysis.site import outputs, pages as pages_module, report
from qdisclab.emulate.cli import main
from qdisclab.emulation import datafile
from qdisclab.emulation.captures import packets, pcap, samples
from qdisclab.emulation.checks import compare, identities
from qdisclab.emulation.checks.verify import Shipped
from qdisclab.emulation.errors import (
    ConfigError,
    DamagedData,
    EmulationError,
    printable,
)
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.host.storage import command
from qdisclab.emulation.host.terminal import note, warn
from qdisclab.emulation.model import sysctls
from qdisclab.emulation.runs.index import index, run_file
from qdisclab.emulation.study.source import MOST_TEXT, ParsedFile
from studies.khademi2013.captures import table
from tests import ROOT, studyfile
from tests.data.synthetic_results import write_data, write_results
from tests.fuzz import READERS, fuzz
from tests.studyfile import Refusal

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>"
LAUGHS = "a: &a [x]\n" + "".join(  # tenfold a line
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


def packed(content: bytes) -> bytes:
    """Gzip data without the time of day: it names a test, and all workers have to agree."""
    return gzip.compress(content, mtime=0)


# --- readers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_thousand_damaged_files(reader: str) -> None:
    found = fuzz(reader, 150 if reader == "study" else 1000, seed=3)
    assert not found.crashes
    assert found.refused > 0
    assert found.memory_mib < 1024


def test_a_process_that_dies_is_a_crash() -> None:
    assert fuzz("no such reader", 20, seed=1).crashes


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (packed(b" " * (datafile.MOST_BYTES + 1)), "is larger than 64 MiB"),
        (packed(packed(b"{}")), "not JSON"),
        (packed(b'{"a": ' * 100 + b"1" + b"}" * 100), "nested too deeply"),
        (packed(b"[" * 100_000), "nested too deeply"),
        (packed(b'{"a": NaN}'), "NaN is not a JSON number"),
        (packed(b'{"a": ' + b"9" * 5000 + b"}"), "not JSON"),
        (packed(b"[]"), "not an object"),
        (packed(b"{}")[:-4], "truncated"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bombs(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.flent.gz"
    path.write_bytes(content)
    with pytest.raises(DamagedData, match=said) as caught:
        datafile.read_json(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_pipes_and_folders_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    for path in (tmp_path / "x.json", tmp_path):
        with pytest.raises(DamagedData, match="cannot be read"):
            datafile.read(path)
        with pytest.raises(DamagedData, match="not a regular file"):
            sha256(path)


def test_pipes_are_no_runs_either(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    first, other = sorted(data.rglob(f"*{datafile.FLENT}"))[:2]
    first.unlink()
    os.mkfifo(first)
    assert main(["diff", str(first), str(other)]) == DamagedData.exit_status
    (file,) = (run for run in index(data, "gbw2015").runs if run.data == first)
    with pytest.raises(DamagedData, match="not a regular file"):
        _ = Shipped(file, datafile.read_json(file.provenance)).damaged
    os.mkfifo(data / identities.FILE)
    with pytest.raises(DamagedData, match="not a regular file"):
        identities.read(data)
    os.mkfifo(tmp_path / "x.pcap")
    with pytest.raises(DamagedData, match="not a regular file"):
        list(pcap.read(tmp_path / "x.pcap"))


@pytest.mark.parametrize("name", ["paper", "link", "qdisc", "cc", "era", "label", "length"])
def test_what_a_provenance_calls_a_run_is_text(name: str, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    path = next(data.rglob("seed-001.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), name: ["x"]}))
    with pytest.raises(DamagedData, match=f"{name} is not text"):
        run_file(data, path)


@pytest.mark.parametrize("name", ["identity", "qdiscs"])
def test_runs_that_are_compared_have_parts(name: str, tmp_path: Path) -> None:
    path = next(write_data(tmp_path / "data").rglob("seed-001.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), name: ["x"]}))
    with pytest.raises(DamagedData, match="is not the provenance of a run"):
        compare.load(path)


def test_tables_of_others(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(",".join(map(str, range(40_000))))
    with pytest.raises(DataError, match="longer than 64 KiB"):
        published.read_csv(path)
    path.write_bytes(b"a\n" * (published.MOST_CSV // 2 + 1))
    with pytest.raises(EmulationError, match="larger than 8 MiB"):
        published.read_csv(path)


def test_packets_of_others(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [[1], [2]]}), path)
    with pytest.raises(DamagedData, match="other columns"):
        table.read(path)
    columns = {field.name: pa.array([9], field.type) for field in table.SCHEMA}
    pq.write_table(pa.table(columns, table.SCHEMA), path)
    with pytest.raises(DamagedData, match="has an unknown fate"):
        table.read(path)
    capture = tmp_path / "x.pcap"
    head = pcap._HEADER.pack(0xA1B23C4D, 2, 4, 0, 0, 96, 1)
    capture.write_bytes(head + pcap._RECORD.pack(0, 0, 2**32 - 1, 60))
    with pytest.raises(ConfigError, match="a packet of 4294967295 bytes"):
        list(pcap.read(capture))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("-" * 100_000 + "1", "nested too deeply"),
        ("a" + ".b" * 100_000, "nested too deeply"),
        ("x = 1\n" * 50_000, "has more than 256 KiB of code"),
        ("[" * 300 + "]" * 300, "is not Python"),
    ],
    ids=("signs", "attributes", "long", "brackets"),
)
def test_notebooks_of_others(source: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    cell = {"cell_type": "code", "source": [source]}
    path.write_text(json.dumps({"cells": [cell], "metadata": {"kernelspec": {}}}))
    with pytest.raises(DataError, match=said):
        sources.check_notebook(path)
    with path.open("wb") as file:
        file.truncate(datafile.MOST_BYTES + 1)
    with pytest.raises(DamagedData, match="is larger than 64 MiB"):
        sources.check_notebook(path)


def test_series_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    small = pa.table({"time_ns": [1, 2], "node": ["a", None]})
    pq.write_table(small, path)
    assert samples.read_series(path)["time_ns"].tolist() == [1, 2]
    monkeypatch.setattr(samples, "MOST_VALUES", 100)
    monkeypatch.setattr(samples, "MOST_TEXT", 1 << 20)
    with pq.ParquetWriter(path, small.schema) as writer:
        for _ in range(26):
            writer.write_table(small)
    with pytest.raises(DamagedData, match="is no table of at most 100 values"):
        samples.read_series(path)
    pq.write_table(pa.table({"node": ["x" * 40_000] * 50}), path)  # once in the file
    assert path.stat().st_size < 100_000
    with pytest.raises(DamagedData, match="has more than 1 MiB of text"):
        samples.read_series(path)
    pq.write_table(pa.table({"time_ns": [[1], [2]]}), path)
    with pytest.raises(DamagedData, match="is no table of at most"):
        samples.read_series(path)
    path.unlink()
    os.mkfifo(path)
    for read in (samples.read_series, table.read, packets.read):
        with pytest.raises(DamagedData, match="not a regular file"):
            read(path)


def test_outputs_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_IN_ALL", 1 << 20)
    path = tmp_path / "seed-001.output.tar.gz"
    record = tmp_path / "seed-001.json"
    record.write_text("{}")
    extended = tarfile.TarInfo("x")  # a header of any length
    extended.type, extended.size = tarfile.XHDTYPE, 8 << 30
    path.write_bytes(packed(extended.tobuf() + bytes(reports.MOST_IN_ALL)))
    with pytest.raises(DamagedData, match="is larger than 1 MiB, unpacked"):
        reports.read(record)
    printed = tarfile.TarInfo("p/stdout")
    printed.size = len(text := b"PING x\n1 bytes from a: time=1 ms\n")
    path.write_bytes(packed(printed.tobuf() + text.ljust(512)))
    assert len(reports.read(record)) == 2
    for programs in ([1], {"p": []}, {"p": {"start_s": "x"}}):
        record.write_text(json.dumps({"programs": programs}))
        with pytest.raises(DataError, match="without a usable entry"):
            reports.read(record)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DamagedData, match="truncated"):
        reports.read(record)


# --- study files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, "has more than 20000 values"),
        ("[" * 50 + "]" * 50, "nested too deeply"),
        ("- " * 50 + "x", "nested too deeply"),
        ("#" * (MOST_TEXT + 1), "is longer than 128 KiB"),
        ("a: !!python/object:os.system x", "has the tag"),
        ("a: !!binary aGk=", "has the tag"),
        ("a: .nan", "is not a usable number"),
        ("a: -.inf", "is not a usable number"),
        ("a: 1e999", "is not a usable number"),
        ("a: 9223372036854775808", "is not a usable number"),
        ("a: " + "9" * 5000, "is not a usable number"),
        ('a: "\\e[2J"', "cannot be printed"),
        ('"\\e[2J": a', "cannot be printed"),
        ("a: 1\nb: 2\na: 3", "duplicate key, first on line 1"),
    ],
)  # fmt: skip
def test_yaml_of_others(text: str, said: str) -> None:
    began = time.monotonic()
    source = ParsedFile.read(text)
    assert time.monotonic() - began < 5
    assert said in source.problems[0].what


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel.core_pattern", "x"),
        ("net/../kernel/core_pattern", "x"),
        ("net..kernel.core_pattern", "x"),
        ("net.ipv4/../../kernel/core_pattern", "x"),
        ("vm.overcommit_memory", "1"),
        ("net.ipv4.tcp_ecn", '"1\\nkernel.core_pattern=x"'),
    ],
)
def test_settings_are_those_of_the_network(name: str, value: str, refusal: Refusal) -> None:
    settings = f'sysctls: {{"{name}": {value}}}'
    for rig in (
        f"{{kind: daisy_chain, base_rtt: 1 ms, edge_rate: 1 Gbit/s, {settings}}}",
        f"{{kind: nodes, nodes: {{a: {{{settings}}}, b: {{}}}}, links: [{{from: a, to: b}}]}}",
    ):
        (line, *_) = refusal(studyfile.text(rig))
        assert "setting" in line or "cannot be printed" in line


def test_a_wrong_setting_of_a_host_is_named_with_the_host(refusal: Refusal) -> None:
    hosts = "hosts: {client: {kernel.modprobe: x}, server: 5}"
    lines = refusal(
        studyfile.text(f"{{kind: daisy_chain, base_rtt: 1 ms, edge_rate: 1 Gbit/s, {hosts}}}")
    )
    assert [line.split(": ")[1] for line in lines] == [
        "rig.hosts.client.kernel.modprobe",
        "rig.hosts.server",
    ]


def test_a_merge_may_replace_a_longer_list(refusal: Refusal) -> None:
    whole = "&all {link: [10/1], qdisc: [codel, pie, fq_codel], cc: [cubic]}"
    sweep = f"[{whole}, {{<<: *all, qdisc: [pie]}}, {{<<: *all, qdisc: [nothing]}}]"
    (line,) = refusal(studyfile.text(sweep=sweep))
    assert "unknown qdisc 'nothing'" in line


def test_other_settings_are_pointed_out(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = "{{kind: daisy_chain, base_rtt: 1 ms, edge_rate: 1 Gbit/s, sysctls: {{net.ipv4.{}: 1}}}}"
    for name, notes in (("tcp_ecn", 0), ("tcp_gso", 0), ("igmp_qrv", 1)):
        (study / "study.yaml").write_text(studyfile.text(rig.format(name)))
        assert main(["check", str(study)]) == 0
        assert capsys.readouterr().err.count("none of the settings") == notes


def test_known_settings_are_valid() -> None:
    assert all(sysctls.flaw(name, "1") is None for name in sysctls._known())


def test_sweeps_have_an_end(refusal: Refusal) -> None:
    values = ", ".join(f"{n}ms" for n in range(1, 120))
    sweep = (
        f"{{link: [10/1], qdisc: [codel], cc: [cubic], rig.base_rtt: [{values}], "
        f"qdisc.target: [{values}]}}"
    )
    (line,) = refusal(studyfile.text(sweep=sweep))
    assert "has 14161 points, more than 10000" in line


def test_a_key_may_be_called_as_the_kind_beside_it(refusal: Refusal) -> None:
    text = studyfile.text()
    lines = refusal(f"{text}kind: nodes\nnodes: 1\n")
    assert [line.partition(";")[0] for line in lines] == [
        "10: kind: unknown key 'kind'",
        "11: nodes: unknown key 'nodes'",
    ]
    below = "    title: First\n"
    lines = refusal(text.replace(below, f"{below}    kind: programs\n    programs: [1]\n"))
    assert "8: experiments.first.kind: unknown key 'kind'" in lines[0]
    assert "9: experiments.first.programs: unknown key 'programs'" in lines[1]


def test_addresses_lead_to_pages(refusal: Refusal) -> None:
    text = studyfile.text()
    (line,) = refusal(text.replace("title: A", "address: javascript:alert(1)\ntitle: A", 1))
    assert "is not the address of a page" in line


def test_terminals_get_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "\x1b[2J"
    folder.mkdir()
    (folder / "study.yaml").write_text("format: 1")
    assert main(["check", str(folder)]) == ConfigError.exit_status

    @command
    def refuse() -> int:
        raise ConfigError("is wrong", str(folder))

    assert refuse() == ConfigError.exit_status
    note(str(folder))
    warn(str(folder))
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert all("\\x1b[2J" in line for line in said.splitlines())
    assert printable("a\x1b[2Jb\nc") == "a\\x1b[2Jb\nc"


# --- pages ----------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """What a page has beside text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.active: list[str] = []
        self.text = ""
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        bad = [name for name, value in attrs if name.startswith("on") or value == "x"]
        data = [("type", "application/json")]  # which a browser does not execute
        self._in_script = tag == "script" and attrs != data
        if bad or (self._in_script and attrs):
            self.active.append(f"{tag} {attrs}")

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts.append(data)
        else:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False


def _evil(value: Any, leave: tuple[str, ...] = ()) -> Any:
    if isinstance(value, dict):
        return {key: one if key in leave else _evil(one, leave) for key, one in value.items()}
    if isinstance(value, list):
        return [_evil(one, leave) for one in value]
    return f"{value}{EVIL}" if isinstance(value, str) else value


def test_pages_show_data_as_text(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    results = write_results(tmp_path / "results", data)
    names = ("paper", "experiment", "era", "link", "cc", "verdict", "id", "run", "data_sha256")
    for path in [*results.rglob("summary.json"), results / "verdicts.json", *data.rglob("*.json")]:
        path.write_text(json.dumps(_evil(json.loads(path.read_text()), names)))
    for path in results.rglob("table.csv"):
        text = path.read_text().replace("codel", f'"codel{EVIL.replace(chr(34), chr(34) * 2)}"')
        path.write_text(text)
    folder = data / "gbw2015/rrul/10-10/codel"
    folder.rename(folder.with_name(EVIL.replace("/", "")))
    for path in folder.parent.rglob("seed-*.json"):
        told = json.loads(path.read_text())
        told["run"] = str(path.relative_to(data)).removesuffix(".json")
        path.write_text(json.dumps(told))
    pages = report.write_report(results, data)
    shown = [Tags(page.read_text()) for page in pages]
    assert [one.active for one in shown] == [[]] * len(pages)
    assert sum("<script>alert(1)" in one.text for one in shown) >= 4
    templates = Path(pages_module.__file__).parent / "templates"
    ours = {script.read_text().strip() for script in templates.glob("*.js")}
    for page, one in zip(pages, shown, strict=True):
        assert {script.strip() for script in one.scripts} <= ours
        digests = [hashlib.sha256(script.encode()).digest() for script in one.scripts]
        allowed = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)
        assert f"""script-src {allowed or "'none'"}""" in html.unescape(page.read_text())


def test_a_title_is_text_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(outputs, "display", shown.append)
    source, table = outputs.Source("gbw2015"), pd.DataFrame()
    outputs.publish(None, table, source, figure="1", title=EVIL, caption="", output="")
    (title,) = shown
    assert Tags(title.data).active == []
    assert Tags(title.data).text == EVIL


def test_a_name_in_a_notebooks_sentence_is_text() -> None:
    cells = json.loads((ROOT / "notebooks/rrul.ipynb").read_text())["cells"]
    (code,) = (text for cell in cells if "\nMarkdown(" in (text := "".join(cell["source"])))
    example = SimpleNamespace(qdisc=EVIL, seed=1, base_rtt_ms=40.0)
    names = {"Markdown": str, "escape": html.escape, "example": example}
    numbers = {"mean_rtt": 1.0, "induced": 1.0}
    text = eval(f"Markdown({code.partition('Markdown(')[2]}", names, numbers)
    assert text.startswith(html.escape(EVIL))

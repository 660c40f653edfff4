"""Programs as traffic: what the guest is told of them, and which lists are refused."""

import gzip
import hashlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError, MissingTool, TrafficFailure
from qdisclab.emulation.kinds.traffic import outputs
from qdisclab.emulation.machine import vm
from qdisclab.emulation.machine.layer import Layer
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.runs.run import warnings_of
from tests import studyfile, write_executable
from tests.studyfile import Read, Refusal

STUDY = studyfile.text(
    traffic="""
      kind: programs
      length: 10 s
      files: [sender.py]
      packages: [iperf3]
      programs:
        - kind: command
          name: receiver
          node: server
          command: [python3, sender.py, "{server}", "{other}", "{seed}", "{length_s}", 5]
          until: load
        - kind: command
          node: client
          command: [./sender.py, -c]
          after: {udp: 9000, on: server}
          keeps: ["*.csv"]
        - {kind: iperf3, from: client, to: server, options: [-P, 4]}
        - {kind: command, name: last, node: client, command: [ls], after: {program: iperf3}}"""
)


@pytest.fixture(autouse=True)
def sender(study: Path) -> Path:
    return write_executable(study / "sender.py", "#!/usr/bin/python3\n")


def changed(old: str, new: str) -> str:
    assert STUDY.count(old) == 1, old
    return STUDY.replace(old, new)


def traffic(found: Experiment, seed: int = 1) -> dict[str, Any]:
    (run,) = select(found, seed=seed)
    told: dict[str, Any] = job_of(run)["traffic"]
    return told


def test_words_in_braces_are_filled_where_they_are_known(first_of: Read) -> None:
    receiver, unnamed, *_ = traffic(first_of(STUDY), seed=7)["programs"]
    assert receiver["command"] == ["python3", "sender.py", "10.0.4.2", "{other}", "7", "10", "5"]
    assert (receiver["node"], receiver["until"], receiver["after"]) == ("server", "load", None)
    assert (unnamed["name"], unnamed["after"]) == ("sender_py", {"udp": 9000})
    assert (unnamed["node"], unnamed["after_node"]) == ("client", "server")
    assert (unnamed["keeps"], unnamed["statuses"]) == (["*.csv"], [0])


def test_a_port_in_braces_is_one_of_its_node(first_of: Read) -> None:
    text = changed('"{other}"', '"{router_up.r1-delay}"')
    (receiver, *_) = traffic(first_of(text))["programs"]
    assert receiver["command"][3] == "10.0.2.1"
    with pytest.raises(ConfigError, match=r"address 'server\.eth9'; did you mean .server.?"):
        first_of(changed('"{other}"', '"{server.eth9}"'))


def test_words_of_the_traffic_are_taken_in_turn_by_each_of_its_nodes(first_of: Read) -> None:
    text = changed("node: server\n", "node: [server, client]\n")
    text = text.replace('"{other}"', '"{node}", "{load}", "{size}", "{none}"')
    text = text.replace(
        "packages: [iperf3]",
        "words: {load: [light, heavy], size: 500, none: ''}\n      packages: [iperf3]",
    )
    found = first_of(text)
    assert found.traffic.loads_in_turn == 2
    for seed, load in ((1, "light"), (2, "heavy"), (3, "light")):
        first, second, *_ = traffic(found, seed)["programs"]
        assert (first["name"], first["node"]) == ("receiver_server", "server")
        assert (second["name"], second["node"]) == ("receiver_client", "client")
        words = [load, "500", "", str(seed), "10", "5"]
        assert first["command"][2:] == ["10.0.4.2", "server", *words]
        assert second["command"][2:] == ["10.0.4.2", "client", *words]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("[a]", "words: is not a mapping"),
        ("{seed: 1}", "'seed' is not a name for a word"),
        ("{load: []}", "load: is neither a value nor a list of values"),
        ("{load: [[1]]}", "load: is neither a value nor a list of values"),
        ("{server: 1}", "a node is called 'server', which is reserved in commands"),
    ],
)
def test_words_that_cannot_be_are_refused(refusal: Refusal, words: str, what: str) -> None:
    (found,) = refusal(changed("packages: [iperf3]", f"words: {words}"))
    assert what in found


def test_a_client_and_its_server_are_two_programs(first_of: Read) -> None:
    *_, server, client, last = traffic(first_of(STUDY))["programs"]
    assert (server["name"], server["node"]) == ("iperf3_server", "server")
    assert server["until"] == "clients"
    assert server["command"] == ["iperf3", "-s"]
    assert client["command"] == ["iperf3", "-c", "10.0.4.2", "-t", "10", "-J", "-P", "4"]
    assert (client["after"], client["after_node"]) == ({"tcp": 5201}, "server")
    assert (last["after"], last["until"]) == ({"program": "iperf3"}, "end")


@pytest.mark.parametrize("kind", ["iperf", "netperf", "irtt"])
def test_clients_of_a_kind_share_a_server(first_of: Read, kind: str) -> None:
    more = [f"- {{kind: {kind}, name: {name}, from: client, to: server}}" for name in "ab"]
    text = changed(
        "        - {kind: iperf3",
        "\n".join(f"        {row}" for row in more) + "\n        - {kind: iperf3",
    )
    programs = traffic(first_of(text))["programs"]
    names = [program["name"] for program in programs]
    assert names[2:5] == ["a_server", "a", "b"]
    assert programs[3]["after"] == programs[4]["after"]


@pytest.mark.parametrize(
    ("section", "command", "port"),
    [
        ("kind: iperf", "iperf -c 10.0.4.2 -t 10 -y C", {"tcp": 5001}),
        ("kind: netperf", "netperf -H 10.0.4.2 -t TCP_STREAM -l 10", {"tcp": 12865}),
        ("kind: netperf, test: UDP_RR", "netperf -H 10.0.4.2 -t UDP_RR -l 10", {"tcp": 12865}),
        (
            "kind: netperf, cc: bbr",
            "netperf -H 10.0.4.2 -t TCP_STREAM -l 10 -- -K bbr,bbr",
            {"tcp": 12865},
        ),
        ("kind: iperf, cc: vegas", "iperf -c 10.0.4.2 -t 10 -y C -Z vegas", {"tcp": 5001}),
        ("kind: iperf3, cc: lp", "iperf3 -c 10.0.4.2 -t 10 -J -C lp", {"tcp": 5201}),
        ("kind: irtt, interval: 5 ms", "irtt client -o - -i 5000us -d 10s 10.0.4.2", {"udp": 2112}),
        ("kind: ping, interval: 200 ms", "ping -n -D -i 0.2 -c 50 10.0.4.2", None),
        (
            "kind: flent, test: tcp_nup, step: 100 ms",
            "flent tcp_nup -H 10.0.4.2 -l 10 -s 0.1 -D .",
            {"tcp": 12865},
        ),
    ],
)
def test_each_kind_has_its_command(
    first_of: Read, section: str, command: str, port: dict[str, int] | None
) -> None:
    text = changed("{kind: iperf3, from", f"{{{section}, name: iperf3, from")
    found = traffic(first_of(text.replace(", options: [-P, 4]", "")))["programs"]
    client = next(one for one in found if one["name"] == "iperf3")
    assert client["command"] == command.split()
    assert client["after"] == port
    assert any(one["name"] == "iperf3_server" for one in found) == (port is not None)


def test_programs_that_end_start_late_as_the_seed_says(first_of: Read) -> None:
    late = first_of(changed("length: 10 s", "length: 10 s\n      start_jitter: 50 ms"))
    starts = [
        {program["name"]: program["start_s"] for program in traffic(late, seed)["programs"]}
        for seed in (1, 1, 2)
    ]
    assert starts[0] == starts[1]
    assert starts[0]["iperf3"] != starts[2]["iperf3"]
    assert 0 <= starts[0]["iperf3"] < 0.05
    assert starts[0]["iperf3_server"] == 0


def test_pairs_are_pinged_where_the_file_asks_for_it(first_of: Read) -> None:
    assert traffic(first_of(STUDY))["tool"] == "programs"
    job = traffic(first_of(changed("length: 10 s", "length: 10 s\n      idle_pings: true")))
    assert job["tool"] == "idle"
    (pair,) = job["pairs"]
    slack_ms = pair.pop("slack_ms")
    assert pair == {"client": "client", "address": "10.0.4.2", "base_rtt_ms": 50.0}
    bottleneck = 98 * 8 / 10e6 + 98 * 8 / 1e6  # down and up; the six other ports have 1 Gbit/s
    assert slack_ms == pytest.approx(2 + 1e3 * (bottleneck + 6 * 98 * 8 / 1e9), abs=1e-3)


def test_files_are_part_of_what_a_run_is(sender: Path, first_of: Read) -> None:
    run: Run
    (run,) = select(first_of(STUDY))
    digest = hashlib.sha256(sender.read_bytes()).hexdigest()
    told = job_of(run)["traffic"]
    assert told["files"] == [{"path": "sender.py", "mode": 0o755, "sha256": digest}]
    assert told["packages"] == ["iperf3"]
    sender.write_text("another")
    assert job_of(run)["traffic"]["files"] != told["files"]
    sender.write_text("#!/usr/bin/python3\n")
    sender.chmod(0o644)
    assert job_of(run)["traffic"]["files"] == [{**told["files"][0], "mode": 0o644}]


def test_instructions_that_no_seed_decides_are_told_of_the_studys_programs(
    sender: Path, first_of: Read, tmp_path: Path
) -> None:
    def compile_to(path: Path, instruction: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f'void _start(void) {{ asm volatile ("{instruction}" ::: "rax"); }}'
        command = ["gcc", "-static", "-nostdlib", "-x", "c", "-o", path, "-"]
        subprocess.run(command, input=text, text=True, check=True)

    (run,) = select(first_of(STUDY))
    for name in ("layer/usr/bin/iperf3", "root/usr/bin/python3", "root/usr/bin/ls"):
        compile_to(tmp_path / name, "nop")
    machine = vm.Machine(Path("linux"), tmp_path / "root", 1, 256)
    layers = (Layer(tmp_path / "layer", "0" * 16, {}),)
    assert warnings_of(run, replace(machine, layers=layers)) == []
    compile_to(sender, "rdrand %%rax")
    (text,) = warnings_of(run, replace(machine, layers=layers))
    assert text.startswith("sender.py has RDRAND (1x, first at 0x")
    with pytest.raises(MissingTool, match="iperf3: is neither in the guest"):
        warnings_of(run, machine)


def test_what_a_program_gets_is_an_axis(first_of: Read) -> None:
    text = changed("cc: cubic}", "cc: cubic, traffic.programs.2.options: [[-P, 1], [-P, 2]]}")
    runs = select(first_of(text))
    assert [job_of(run)["traffic"]["programs"][3]["command"][-1] for run in runs] == ["1", "2"]
    assert runs[0].id != runs[1].id


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[sender.py]", "[none.py]", "11: {}files[0]: there is no such file; put it at "),
        ("[sender.py]", f"[{'x' * 300}]", "11: {}files[0]: there is no such file; put it at "),
        ("[sender.py]", "[sub]", "11: {}files[0]: there is no such file; put it at "),
        ("[sender.py]", "[../x.py]", "11: {}files[0]: '../x.py' is not below the study's folder; "),
        ("[sender.py]", "[a/../../x]", "11: {}files[0]: 'a/../../x' is not below the study's fold"),
        ("[sender.py]", "[/etc/passwd]", "11: {}files[0]: '/etc/passwd' is not below the study's"),
        ("[sender.py]", "[.]", "11: {}files[0]: '.' is not below the study's folder"),
        ("[sender.py]", "[link.py]", "11: {}files[0]: 'link.py' leads out of the study's folder; "),
        ("[sender.py]", "[folder/hosts]", "11: {}files[0]: 'folder/hosts' leads out of the study'"),
        ("[sender.py]", "[sender.py, sender.py]", "11: {}files[1]: 'sender.py' appears twice; re"),
        ("[sender.py]", "sender.py", "11: {}files: is not a list; write [value, value]"),
        ("[iperf3]", "[a b]", "12: {}packages[0]: 'a b' is not the name of a Debian package; writ"),
        ("[iperf3]", "[jq-]", "12: {}packages[0]: 'jq-' is not the name of a Debian package"),
        ("[iperf3]", "[jq.]", "12: {}packages[0]: 'jq.' is not the name of a Debian package"),
        ("[iperf3]", "[-x]", "12: {}packages[0]: '-x' is not the name of a Debian package"),
        ("name: last", "name: receiver", "25: {}programs[3]: another program is called"),
        ("name: last", "name: iperf3_server", "25: {}programs[3]: another program is called"),
        ("program: iperf3}", "program: iperf}", "25: {}programs[3].after.program: unknown earlier"),
        ("program: iperf3}", "program: last}", "25: {}programs[3].after.program: unknown earlier"),
        ("{program: iperf3}", "{}", "25: {}programs[3].after: waits for nothing, or for several"),
        ("{program: iperf3}", "{tcp: 5, udp: 5}", "25: {}programs[3].after: waits for nothing, or"),
        ("{program: iperf3}", "{tcp: 65536}", "25: {}programs[3].after.tcp: "),
        ("{program: iperf3}", "{tcp: 5, on: srv}", "25: {}programs[3].after.on: unknown node 'srv"),
        ("[ls]", "ls -l", "25: {}programs[3].command: is not a list; write e.g. [ls, -l]"),
        ("[ls]", "[]", "25: {}programs[3].command: is empty; add at least one entry"),
        ("[ls]", "[true]", "25: {}programs[3].command[0]: is not text; write text, in quotes wher"),
        ("[-P, 4]", "-P 4", "24: {}programs[2].options: is not a list; write e.g. [-P, 4]"),
        ("options: [-P, 4]", "option: []", "24: {}programs[2].option: unknown key 'option'; did y"),
        ("kind: iperf3", "kind: iperf4", "24: {}programs[2].kind: unknown kind 'iperf4'; did you "),
        (
            "{kind: iperf3, from: client, to: server, options: [-P, 4]}",
            "{kind: iperf3, from: client, to: server}\n        "
            "- {kind: iperf3, name: more, from: client, to: server}",
            "25: {}programs[3]: iperf3's server on 'server' has another client; give that one ",
        ),
        ("kind: iperf3, from", "from", "24: {}programs[2]: has no kind; add 'kind:'"),
        ("from: client", "from: clint", "24: {}programs[2]: unknown node 'clint'; did you mean 'c"),
        ("until: load", "until: lod", "18: {}programs[0].until: unknown until 'lod'; did you mean"),
        ("until: load", "start: 5", "18: {}programs[0].start: '5': a bare number has no unit; wri"),
        ("until: load", "start: -1 s", "18: {}programs[0].start: '-1 s': is negative"),
        ("until: load", "start: 10 s", "18: {}programs[0].start: '10 s' is not within the load, '"),
        ("until: load", "status: 256", "18: {}programs[0].status: "),
        ("until: load", "environment: {A=B: 1}", "18: {}programs[0].environment.A=B: 'A=B' is not"),
        ('"*.csv"', "../*.csv", "23: {}programs[1].keeps[0]: '../*.csv' is not below the study's"),
        ("length: 10 s", "length: 1 s\n      folder: /", "11: {}folder: is not a key; remove it"),
        ("length: 10 s", "length: 1 s\n      start_jitter: 1 s", "11: {}start_jitter: '1 s' may"),
        ("      length: 10 s\n", "", "8: {}length: is missing; add it"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_refused_at_its_line(
    sender: Path, refusal: Refusal, old: str, new: str, said: str
) -> None:
    (sender.parent / "link.py").symlink_to("/etc/hosts")
    (sender.parent / "folder").symlink_to("/etc")
    (sender.parent / "sub").mkdir()
    (line,) = refusal(changed(old, new))
    assert line.startswith(said.format("experiments.first.traffic."))
    assert "; " in line


def test_idle_pings_need_a_client_and_a_server(refusal: Refusal) -> None:
    text = changed("{kind: iperf3, from: client, to: server, options: [-P, 4]}",
                   "{kind: command, name: iperf3, node: client, command: [ls]}")  # fmt: skip
    (line,) = refusal(text.replace("length: 10 s", "length: 10 s\n      idle_pings: true"))
    assert "idle_pings: no program has a client and a server, between which to ping; " in line


@pytest.mark.parametrize("to", ["nowhere", "switch1"])
@pytest.mark.parametrize("kind", ["iperf", "netperf", "irtt", "ping", "flent, test: x"])
def test_a_client_asks_a_node_with_an_address(refusal: Refusal, kind: str, to: str) -> None:
    text = changed("kind: iperf3, from: client, to: server", f"kind: {kind}, from: aqm, to: {to}")
    for old, new in (("daisy_chain", "dumbbell"), ("client", "aqm"), ("server", "delay")):
        text = text.replace(old, new)
    (line,) = refusal(text)
    assert line.startswith(f"24: experiments.first.traffic.programs[2].to: unknown node '{to}'; ")


@pytest.mark.parametrize("word", ["seed", "length_s"])
def test_no_node_has_the_name_of_a_word(refusal: Refusal, word: str) -> None:
    nodes = f"nodes: {{client: {{}}, {word}: {{}}}}, links: [{{from: client, to: {word}}}]"
    rig = "daisy_chain, base_rtt: 50 ms, edge_rate: 1 Gbit/s"
    text = changed(rig, f"nodes, {nodes}").replace("link: [10/1], qdisc: [codel], ", "")
    (line,) = refusal(text)
    assert line.startswith(f"9: experiments.first.traffic.kind: a node is called '{word}', which")


def test_a_switch_runs_no_programs(refusal: Refusal) -> None:
    rig = "rig: {kind: dumbbell, base_rtt: 50 ms, edge_rate: 1 Gbit/s}"
    text = changed("rig: {kind: daisy_chain, base_rtt: 50 ms, edge_rate: 1 Gbit/s}", rig)
    text = text.replace("node: server", "node: switch1")
    (line,) = refusal(text)
    assert line.startswith("14: experiments.first.traffic.programs[0]: unknown node 'switch1'; ")


@pytest.mark.parametrize(
    ("line", "row", "sample"),
    [
        ('{"time_s": 3, "ms": 5}', True, (15, 5)),
        ('{"time_s": 30.2, "ms": 5}', True, None),  # before the end of step 151, but for rounding
        ('{"time_s": -0.1, "ms": 5}', True, None),
        (f'{{"time_s": 3, "ms": 1{"0" * 400}}}', True, None),
        (f'{{"time_s": 1{"0" * 400}, "ms": 5}}', True, None),
        ('{"time_s": 3, "ms": NaN}', False, None),
        ('{"time_s": 3, "ms": [-Infinity]}', False, None),
        ('{"time_s": 3, "ms": 1e999}', False, None),
        ('{"program": "last", "time_s": 3, "ms": 5}', False, None),
    ],
)
def test_what_a_program_prints_becomes_rows_and_samples(
    first_of: Read, tmp_path: Path, line: str, row: bool, sample: Any
) -> None:
    (run,) = select(first_of(changed("length: 10 s", "length: 30 s")))
    (tmp_path / "programs/sender").mkdir(parents=True)
    (tmp_path / "programs/sender/stdout").write_text(f"a word\n{line}\n")
    outputs.reduce(run, tmp_path)
    rows = gzip.decompress((tmp_path / outputs.ROWS).read_bytes()).decode().splitlines()
    assert rows == ([json.dumps({"program": "sender", **json.loads(line)})] if row else [])
    results = json.loads(gzip.decompress((tmp_path / outputs.DATA).read_bytes()))["results"]
    found = [(at, one) for at, one in enumerate(results.get("sender ms", ())) if one is not None]
    assert found == ([sample] if sample else [])


@pytest.mark.parametrize(
    ("status", "signal", "end_s", "ending"),
    [
        (1, None, 0.5, "status 1"),
        (None, "SIGSEGV", 0.5, "SIGSEGV"),
        (1, None, 10.2, ""),
        (0, None, 1.0, ""),
        (None, "SIGTERM", 1.0, ""),  # all that end by themselves have ended
    ],
)
def test_what_is_to_last_for_the_load_and_fails_before_is_told(
    first_of: Read,
    tmp_path: Path,
    status: int | None,
    signal: str | None,
    end_s: float,
    ending: str,
) -> None:
    (run,) = select(first_of(STUDY), seed=1)
    ended = {"start_s": 0.0, "signal": None, "status": 0, "end_s": 9.0}
    ran = {program["name"]: ended for program in job_of(run)["traffic"]["programs"]}
    ran["receiver"] = {**ended, "status": status, "signal": signal, "end_s": end_s}
    (tmp_path / "programs.json").write_text(json.dumps(ran))
    (tmp_path / "programs/receiver").mkdir(parents=True)
    (tmp_path / "programs/receiver/stderr").write_text("Traceback\nValueError: no trace\n")
    if ending:
        said = f"receiver: ended with {ending} after 0.5 s of the load: ValueError: no trace"
        with pytest.raises(TrafficFailure, match=said):
            run.traffic.record(run, tmp_path, [], {})
    else:
        assert run.traffic.record(run, tmp_path, [], {}) == {"programs": ran}

"""The commands over a real corpus: the demo's, written once. What they print, what they write, how they end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_core.writer.demo import DemoCorpus, write_demo
from palimpsest_tui.cli import main as script

NOW = 1_790_000_000_000
FLAKE, REVIEW, SITES = "0198f2c4-refund-flake", "0198f4aa-rounding-review", "0198f4ab-rounding-sites"
COMPACTED = "0198e1d0-entries-migration"
HOSTILE = "0198f990-[red]hostile[/]"


class Ran:
    """What one command line did."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.raw = out
        self.out = out.decode("utf-8")
        self.err = err.decode("utf-8")

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        assert self.raw.isascii()
        found = json.loads(self.raw)
        assert found["format"] == 1
        return dict(found)


Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoCorpus:
    return write_demo(tmp_path_factory.mktemp("demo") / "sessions", now=NOW)


@pytest.fixture(scope="module")
def index(demo: DemoCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "index.sqlite"
    assert script.run(["index", "--root", str(demo.root), "--index", str(path)]) == 0
    return path


@pytest.fixture
def run(demo: DemoCorpus, index: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    def run_command(*arguments: str) -> Ran:
        capfdbinary.readouterr()
        code = script.run(["--root", str(demo.root), "--index", str(index), *arguments])
        shown = capfdbinary.readouterr()
        return Ran(code, shown.out, shown.err)

    return run_command


def test_ls_lists_every_session_with_its_title_and_state(run: Run, demo: DemoCorpus) -> None:
    ran = run("ls")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert len(lines) == 1 + len(demo.ids)
    assert lines[0].split() == ["ID", "STATE", "ACTIVE", "PROJECT", "EVENTS", "SIZE", "TITLE"]
    by_id = {line.split()[0]: line for line in lines[1:]}
    assert "damaged" in by_id[demo.damaged_id]
    assert "interrupted" in by_id[demo.interrupted_id]


def test_ls_as_json_holds_the_same_sessions(run: Run, demo: DemoCorpus) -> None:
    rows = run("ls", "--json").json["sessions"]
    assert {row["id"] for row in rows} == set(demo.ids)
    assert all(row["events"] for row in rows if row["id"] == FLAKE)


def test_ls_filters_sorts_and_limits(run: Run) -> None:
    everything = run("ls", "--json").json["sessions"]
    project = everything[0]["project"]
    some = run("ls", "--json", "--project", project.upper()).json["sessions"]
    assert {row["id"] for row in some} == {row["id"] for row in everything if row.get("project") == project}
    sizes = [row["size"] for row in run("ls", "--json", "--sort", "size", "-n", "5").json["sessions"]]
    assert sizes == sorted((row["size"] for row in everything), reverse=True)[:5]
    assert run("ls", "--project", "no such place").code == 1


def test_hostile_text_reaches_nobody(run: Run) -> None:
    for arguments in (["ls"], ["show", HOSTILE], ["surface", HOSTILE], ["trace", HOSTILE], ["search", "hostile"]):
        ran = run(*arguments)
        assert all(char.isprintable() or char in "\n\t" for char in ran.out + ran.err), arguments
    assert HOSTILE in run("ls").out


def test_search_finds_the_best_event_of_each_session(run: Run) -> None:
    ran = run("search", "refund")
    assert ran.code == 0
    hits = run("search", "refund", "--json").json["hits"]
    assert hits
    for hit in hits:
        assert f"{hit['header']['id']}#{hit['bestMatch']['seq']}" in ran.out
        assert "refund" in hit["bestMatch"]["snippet"].lower()


def test_search_within_a_session_gives_every_event_and_filters_narrow_it(run: Run) -> None:
    found = run("search", "refund", "--in", FLAKE, "--json").json
    assert found["session"] == FLAKE
    kinds = {hit["type"] for hit in found["hits"]}
    assert len(kinds) > 1
    one = kinds.pop()
    narrowed = run("search", "refund", "--in", FLAKE, "--type", one, "--json").json["hits"]
    assert narrowed
    assert {hit["type"] for hit in narrowed} == {one}
    current = run("search", "refund", "--in", FLAKE, "--is", "current", "--json").json["hits"]
    assert {hit["surface"] for hit in current} <= {"current"}


def test_a_search_may_be_kept_to_a_project_a_parent_or_to_roots(run: Run) -> None:
    hits = run("search", "the", "--project", "LEDGERLINE", "-n", "99", "--json").json["hits"]
    assert {hit["header"]["cwd"] for hit in hits} == {"/home/mira/code/ledgerline"}
    children = run("search", "rounding", "--parent", REVIEW, "--json").json["hits"]
    assert {hit["header"]["parentSession"] for hit in children} == {REVIEW}
    roots = run("search", "rounding", "--roots", "--json").json["hits"]
    assert not any("parentSession" in hit["header"] for hit in roots)
    assert REVIEW in {hit["header"]["id"] for hit in roots}
    assert run("search", "the", "--project", "no such place").code == 1


def test_a_search_is_a_literal_phrase(run: Run) -> None:
    assert run("search", "refund OR invoice").code == 1
    assert run("search", "refund*", "--json").json["hits"]
    nothing = run("search", "no such words anywhere")
    assert (nothing.code, nothing.out) == (1, "")
    assert run("search", " ").code == 2


def test_a_limit_says_that_there_is_more(run: Run) -> None:
    ran = run("search", "the", "-n", "2")
    assert ran.out.count("#") >= 2
    assert "there are more" in ran.err
    assert run("search", "the", "-n", "2", "--json").json["more"] is True


def test_chinese_text_is_found_inside_a_run_of_characters(run: Run) -> None:
    assert run("search", "搜索", "--json").json["hits"]


def test_ids_may_be_shortened_while_they_are_unique(run: Run) -> None:
    assert run("show", "0198f2c4", "--json").json["session"]["id"] == FLAKE
    ambiguous = run("show", "0198f4a")
    assert ambiguous.code == 2
    assert REVIEW in ambiguous.err
    missing = run("show", "nobody")
    assert missing.code == 1
    assert missing.err.count("\n") == 1


@pytest.mark.parametrize("command", ["show", "surface", "trace", "export", "stats", "doctor"])
def test_an_error_is_an_object_on_stdout_too_where_json_was_asked_for(run: Run, command: str) -> None:
    failed = run(command, "nobody", "--json")
    assert failed.code == 1
    assert failed.json["command"] == command
    assert failed.json["error"]["status"] == 1
    assert "nobody" in failed.json["error"]["message"]
    assert failed.json["error"]["message"] in failed.err
    wrong = run(command, "--no-such-option", "--json")
    assert (wrong.code, wrong.json["error"]["status"]) == (2, 2)
    assert run(command, "nobody").out == ""


def test_show_lists_every_event_once(run: Run) -> None:
    events = run("show", FLAKE, "--json").json["events"]
    lines = run("show", FLAKE, "--pieces").out.partition("\n\n")[2].splitlines()
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert len(lines) == len(events)
    letters = {"current": "C", "shadowed": "S", "log-only": "L"}
    for event, line in zip(events, lines, strict=True):
        assert line.split()[0] == str(event["seq"])
        assert f"  {letters[event['surface']]}  " in line


def test_show_folds_streamed_pieces_into_one_line_and_stops_where_it_is_told(run: Run) -> None:
    events = run("show", FLAKE, "--json").json["events"]
    lines = run("show", FLAKE).out.partition("\n\n")[2].splitlines()
    pieces = [line for line in lines if "  chunks " in line]
    others = [line for line in lines if line not in pieces]
    folded = [int(line.split("  chunks ")[1].split()[0].replace(",", "")) for line in pieces]
    assert pieces
    assert min(folded) > 1
    assert sum(folded) + len(others) == len(events)
    firsts = [int(line.split()[0]) for line in lines]
    assert firsts == sorted(firsts)
    assert run("show", FLAKE, "-n", "3").out.partition("\n\n")[2].splitlines() == lines[:3]
    assert len(run("show", FLAKE, "-n", "3", "--json").json["events"]) == 3


def test_show_filters_by_surface_and_type(run: Run) -> None:
    events = run("show", COMPACTED, "--json", "--is", "shadowed", "--type", "tool/result").json["events"]
    assert events
    assert {(event["surface"], event["type"]) for event in events} == {("shadowed", "tool/result")}


def test_an_event_is_shown_in_full_and_its_stored_line_byte_for_byte(run: Run, demo: DemoCorpus) -> None:
    hit = run("search", "refund", "--in", FLAKE, "--json").json["hits"][0]
    name = f"{FLAKE}#{hit['seq']}"
    shown = run("show", name, "--json").json
    assert shown["event"]["seq"] == hit["seq"]
    assert shown["record"]["surface"] == hit["surface"]
    raw = run("show", name, "--raw").raw
    assert json.loads(raw)["type"] == hit["type"]
    plain = subprocess.run(
        [sys.executable, "-c", DECODE, str(stored_log(demo, FLAKE))], capture_output=True, check=True
    ).stdout
    assert raw in plain
    assert name in run("show", name, "-B", "2", "-A", "2").out


DECODE = """
import sys, zstandard
with open(sys.argv[1], "rb") as file:
    data = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
sys.stdout.buffer.write(data)
"""


def stored_log(demo: DemoCorpus, session_id: str) -> Path:
    (path,) = demo.root.glob(f"*/{session_id}/session*.jsonl.zstd")
    return path


def test_an_event_that_is_not_there_is_no_match(run: Run) -> None:
    assert run("show", f"{FLAKE}#99999").code == 1
    assert run("trace", f"{FLAKE}#99999").code == 1
    assert run("surface", f"{FLAKE}@99999").code == 1
    assert run("show", FLAKE, "--raw").code == 2


def test_the_surface_is_what_is_current_and_a_point_is_what_was_then(run: Run) -> None:
    events = run("show", COMPACTED, "--json").json["events"]
    surface = run("surface", COMPACTED, "--json").json
    assert {e["seq"] for e in surface["events"]} == {e["seq"] for e in events if e["surface"] == "current"}
    shadowed = [e["seq"] for e in events if e["surface"] == "shadowed"]
    then = run("surface", f"{COMPACTED}@{shadowed[-1]}", "--json").json
    assert then["capturedThroughSeq"] == shadowed[-1]
    assert shadowed[-1] in {e["seq"] for e in then["events"]}
    assert f"{COMPACTED}#{surface['events'][0]['seq']}" in run("surface", COMPACTED).out


def test_a_trace_shows_three_levels_of_subagents(run: Run) -> None:
    lines = run("trace", REVIEW).out.splitlines()
    assert any(line.startswith("* ") and REVIEW in line for line in lines)
    depth = {line.split()[0] if not line.startswith("*") else REVIEW: len(line) - len(line.lstrip()) for line in lines}
    assert depth[REVIEW] < depth[SITES] < depth["0198f4ac-serializer-walk"] < depth["0198f4ad-worst-case"]
    trace = run("trace", SITES, "--json").json["trace"]
    assert trace["ancestors"][0]["header"]["id"] == REVIEW


def test_the_links_of_an_event_lead_both_ways(run: Run) -> None:
    events = run("show", COMPACTED, "--json").json["events"]
    shadowed = next(event["seq"] for event in events if event["surface"] == "shadowed")
    links = run("trace", f"{COMPACTED}#{shadowed}", "--json").json
    replacer = links["replacementChain"][0]
    back = run("trace", f"{COMPACTED}#{replacer}", "--json").json
    assert shadowed in back["replacedEventSeqs"]
    assert f"{replacer}" in run("trace", f"{COMPACTED}#{shadowed}").out


def test_an_export_is_the_stored_text_of_the_whole_family(run: Run, demo: DemoCorpus, tmp_path: Path) -> None:
    target = tmp_path / "out.zip"
    ran = run("export", REVIEW, "-o", str(target))
    assert (ran.code, ran.out.strip()) == (0, str(target))
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names[0] == "session.jsonl"
        assert f"subagents/{SITES}/session.jsonl" in names
        stored = subprocess.run(
            [sys.executable, "-c", DECODE, str(stored_log(demo, REVIEW))], capture_output=True, check=True
        ).stdout
        assert archive.read("session.jsonl") == stored
    again = run("export", REVIEW, "-o", str(target))
    assert again.code == 4
    assert run("export", REVIEW, "-o", str(target), "--force", "--json").json["archive"]["path"] == str(target)
    alone = run("export", REVIEW, "-o", str(tmp_path), "--no-descendants", "--json").json["archive"]
    assert alone["sessions"] == 1
    assert Path(alone["path"]).parent == tmp_path
    assert sorted(item.name for item in tmp_path.iterdir()) == sorted({"out.zip", Path(alone["path"]).name})


@pytest.mark.parametrize("form,end", [("markdown", "md"), ("html", "html"), ("jsonl", "jsonl")])
def test_a_transcript_is_one_file_with_what_was_said(run: Run, tmp_path: Path, form: str, end: str) -> None:
    ran = run("export", FLAKE, "--format", form, "-o", str(tmp_path), "--redact")
    assert ran.code == 0
    written = Path(ran.out.strip())
    assert written.suffix == f".{end}"
    text = written.read_text(encoding="utf-8")
    assert "find out why before you change anything" in text
    assert "/home/mira" not in text
    told = run("export", FLAKE, "--format", form, "-o", str(tmp_path / "all"), "--all", "--json").json["transcript"]
    assert told["events"] > 100


def test_options_of_transcripts_do_not_go_with_an_archive(run: Run) -> None:
    assert run("export", FLAKE, "--redact").code == 2
    assert run("export", FLAKE, "--all").code == 2


def test_rescue_tells_first_and_writes_when_asked(run: Run, demo: DemoCorpus, tmp_path: Path) -> None:
    out = tmp_path / "rescued"
    told = run("rescue", demo.damaged_id, "--out", str(out))
    assert told.code == 0
    assert not out.exists()
    done = run("rescue", demo.damaged_id, "--out", str(out), "--write", "--json").json
    assert Path(done["path"]).is_file()
    assert done["path"] == told.out.strip()
    assert run("rescue", demo.damaged_id, "--out", str(out), "--write").code == 4


def test_doctor_names_what_is_damaged_and_ends_with_a_data_problem(run: Run, demo: DemoCorpus) -> None:
    ran = run("doctor")
    assert ran.code == 3
    assert demo.damaged_id in ran.out
    assert run("doctor", FLAKE).code == 0
    found = run("doctor", demo.damaged_id, "--json").json
    assert found["problems"] == 1
    assert found["logs"][0]["findings"]


def test_the_index_can_be_thrown_away(run: Run, index: Path) -> None:
    before = run("search", "refund", "--json").json
    ran = run("index", "--rebuild")
    assert ran.code == 0
    assert run("search", "refund", "--json").json == before
    assert run("index", "--json").json["status"]


def test_a_root_that_is_not_there_is_a_fault_of_the_environment(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (["ls"], ["search", "x"], ["show", "x"], ["export", "x"], ["doctor"], ["index"]):
        assert script.run([*arguments, "--root", "/no/such/root"]) == 4
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.count("/no/such/root") == 6


def test_an_empty_root_is_no_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    index = str(tmp_path / "index.sqlite")
    root = tmp_path / "sessions"
    root.mkdir()
    assert script.run(["ls", "--root", str(root), "--index", index]) == 0
    assert script.run(["search", "x", "--root", str(root), "--index", index]) == 1
    assert script.run(["doctor", "--root", str(root), "--index", index]) == 0


def process(demo: DemoCorpus, index: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "palimpsest_tui.cli.main", "--root", str(demo.root), "--index", str(index)]
    return subprocess.run([*command, *arguments], capture_output=True, env={**os.environ, **environment}, check=False)


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_a_locale_without_unicode_changes_nothing(demo: DemoCorpus, index: Path, locale: str) -> None:
    done = process(demo, index, "search", "搜索", LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr
    assert "搜索" in done.stdout.decode("utf-8")


def test_nothing_but_the_answer_is_on_stdout_and_no_colour_anywhere(demo: DemoCorpus, index: Path) -> None:
    done = process(demo, index, "ls", "--json")
    assert json.loads(done.stdout)["command"] == "ls"
    assert done.stderr == b""
    assert b"\x1b" not in process(demo, index, "ls").stdout


def test_demo_writes_a_corpus_for_the_commands_where_there_is_no_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert script.run(["demo"]) == 2
    assert script.run(["demo", "--dir", str(tmp_path), "--json"]) == 0
    written = json.loads(capfd.readouterr().out)
    assert Path(written["root"]) == tmp_path / "sessions"
    assert written["sessions"] > 30
    assert script.run(["demo", "--dir", str(tmp_path)]) == 4


def test_batch_answers_a_job_and_refuses_what_is_none(demo: DemoCorpus, tmp_path: Path) -> None:
    job = {
        "root": str(demo.root),
        "index_path": str(tmp_path / "index.sqlite"),
        "config": {"mode": "tolerant"},
        "requests": [{"id": "a", "op": "readTitle", "args": {"sessionId": FLAKE}}, {"id": "b", "op": "nope"}],
    }
    command = [sys.executable, "-m", "palimpsest_tui.cli.main", "batch"]
    done = subprocess.run(command, input=json.dumps(job).encode(), capture_output=True, check=True)
    first, second = json.loads(done.stdout)
    assert first["value"]["title"]
    assert second["error"]["code"] == "PROTOCOL_UNKNOWN_OP"
    for wrong in (b"", b"[]", b"{", b"\xff", b"{}", b'{"root": 1, "index_path": ":memory:", "requests": []}'):
        done = subprocess.run(command, input=wrong, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert script.run(["completion", shell]) == 0
    assert "_PALIMPSEST_COMPLETE" in capfd.readouterr().out


def test_the_shell_is_offered_ids_that_begin_with_what_was_typed(demo: DemoCorpus, index: Path) -> None:
    words = f"palimpsest --root {demo.root} --index {index} show 0198f4a"
    environment = {"_PALIMPSEST_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "6"}
    command = [sys.executable, "-c", "from palimpsest_tui.cli.main import main; main()"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    offered = {line.removeprefix("plain,") for line in done.stdout.splitlines()}
    assert offered == {name for name in demo.ids if name.startswith("0198f4a")}
    assert done.stderr == ""


def test_the_shell_is_offered_nothing_where_there_is_nothing(tmp_path: Path) -> None:
    words = f"palimpsest show --root {tmp_path / 'missing'} x"
    environment = {"_PALIMPSEST_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "4"}
    command = [sys.executable, "-c", "from palimpsest_tui.cli.main import main; main()"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize(
    "command", [("show", "#-1"), ("show", "#"), ("surface", "@abc"), ("surface", "#65"), ("trace", "@65")]
)
def test_a_wrong_event_behind_a_right_id_is_told_apart_from_a_wrong_id(run: Run, command: tuple[str, str]) -> None:
    ran = run(command[0], FLAKE + command[1])
    assert ran.code == 2
    assert "ID#SEQ" in ran.err
    assert "no session" not in ran.err


def test_an_existing_file_names_the_option_that_overwrites_it(run: Run, tmp_path: Path) -> None:
    target = str(tmp_path / "one.zip")
    assert run("export", FLAKE, "-o", target).code == 0
    again = run("export", FLAKE, "-o", target)
    assert again.code == 4
    assert "--force" in again.err
    assert run("export", FLAKE, "-o", target, "--force").code == 0


def test_standard_output_is_no_place_for_an_export(run: Run) -> None:
    assert run("export", FLAKE, "-o", "-").code == 2
    assert not Path("-").exists()


def test_a_word_that_is_no_command_leads_to_show_and_search(run: Run) -> None:
    ran = run("0198f4aa")
    assert ran.code == 2
    assert "palimpsest show 0198f4aa" in ran.err


def test_a_type_that_no_event_has_is_no_match_and_said_so(run: Run) -> None:
    for arguments in (("search", "refund", "--type", "nope"), ("show", FLAKE, "--type", "nope")):
        ran = run(*arguments)
        assert ran.code == 1
        assert "nope" in ran.err
    assert run("show", FLAKE, "--type", "nope", "--json").code == 1
    assert run("show", FLAKE, "--is", "shadowed", "--type", "session/start").code == 1


def test_log_is_short_for_log_only(run: Run) -> None:
    short, full = (run("show", FLAKE, "--is", word) for word in ("log", "log-only"))
    assert (short.code, short.out) == (0, full.out)


def test_filters_that_leave_nothing_to_list_are_no_match_on_an_empty_root_too(run: Run, tmp_path: Path) -> None:
    assert run("ls", "--since", "2030-01-01").code == 1
    assert script.run(["ls", "--since", "2030-01-01", "--root", str(tmp_path), "--index", ":memory:"]) == 1


def test_an_id_that_begins_several_names_some_and_counts_the_rest(run: Run) -> None:
    ran = run("show", "0198")
    assert ran.code == 2
    assert " more. (" in ran.err
    assert ".." not in ran.err

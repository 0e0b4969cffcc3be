"""Transcripts: who said what, nothing foreign acting up, secrets out when asked."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.export.errors import ExportError, ExportErrorCode
from palimpsest_core.export.markdown import prose
from palimpsest_core.export.redact import Redactor
from palimpsest_core.export.transcript import Form, TranscriptResult, transcript_name, write_transcript
from palimpsest_core.formats.catalog import Catalog
from palimpsest_core.model.config import Config
from palimpsest_core.storage.attachments import attachment_store
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.writer.demo import DemoCorpus, write_demo
from palimpsest_core.writer.store import JsonlStore

CONFIG = Config()
HEX = "b5d54c39e66671c9731b9f471e585d8262cd4f54963f0c93082d8dcf334d4c78"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoCorpus:
    return write_demo(tmp_path_factory.mktemp("demo") / "sessions", now=1_786_000_000_000)


@pytest.fixture(scope="module")
def files(demo: DemoCorpus) -> dict[str, LogFile]:
    return {entry.id: entry.primary for entry in Catalog.scan(demo.root, CONFIG).sessions}


def message(words: str, source: dict[str, Any] | None = None, name: str = "m") -> dict[str, Any]:
    content = [{"type": "text", "text": words}]
    return {"id": name, "role": "user", "source": source or {"kind": "user"}, "content": content}


def log_of(root: Path, *events: tuple[str, Any, dict[str, Any]]) -> LogFile:
    store = JsonlStore(root)
    header = {"id": "a", "createdAt": 1_700_000_000_000, "cwd": "/home/ana/proj"}
    store.create(header)
    rows = [
        {"type": kind, "seq": seq, "time": 5, "data": data, **marks} for seq, (kind, data, marks) in enumerate(events)
    ]
    store.append("a", rows)
    return LogFile.at(store.locate(header))


def told(file: LogFile, target: Path, form: Form = Form.MARKDOWN, **options: Any) -> tuple[str, TranscriptResult]:
    result = write_transcript(file, target, form, config=CONFIG, **options)
    return target.read_text(encoding="utf-8"), result


APPEND = {"surfaceOp": "append"}


def test_a_compaction_is_told_as_one_and_what_it_replaced_only_when_all_is_asked_for(tmp_path: Path) -> None:
    summary = message("what happened so far", {"kind": "plugin", "plugin": "compact", "compactionId": "c"}, "s")
    log = log_of(
        tmp_path / "sessions",
        ("user/message", message("the first request"), APPEND),
        ("user/message", summary, {"surfaceOp": {"op": "replace", "start": 0, "end": 0}, "sourceEventSeqs": [0]}),
        ("user/message", message("the second request", name="n"), APPEND),
    )
    current, _ = told(log, tmp_path / "a.md")
    assert "the first request" not in current.split("\n## ", 1)[1]
    assert current.index("## Summary of compacted history") < current.index("what happened so far")
    assert current.count("## User") == 1
    everything, _ = told(log, tmp_path / "b.md", everything=True)
    assert "shadowed" in everything
    assert everything.index("the first request") < everything.index("what happened so far")


def test_events_without_a_speaker_and_streams_take_a_line_each(
    demo: DemoCorpus, files: dict[str, LogFile], tmp_path: Path
) -> None:
    text, result = told(files["0198f900-regex-question"], tmp_path / "a.md", everything=True)
    assert re.search(r"\n\*\\#9 stream\* 23 streamed pieces, 9 to 31\n", text)
    assert result.events == 35


def test_a_transcript_of_an_interrupted_log_ends_with_what_closes_it(
    demo: DemoCorpus, files: dict[str, LogFile], tmp_path: Path
) -> None:
    text, _ = told(files[demo.interrupted_id], tmp_path / "a.md")
    assert "made up to close the log" in text
    assert "Its outcome is unknown." in text


def test_the_inherited_part_of_a_fork_ends_with_a_line(files: dict[str, LogFile], tmp_path: Path) -> None:
    for form in (Form.MARKDOWN, Form.HTML):
        text, _ = told(files["0198f51b-rounding-alternative"], tmp_path / f"a.{form}", form)
        before, after = text.split("Up to here inherited from the parent session.")
        assert "Before the VAT change ships" in before
        assert "tenths of a cent" in after


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("everything", [False, True])
def test_every_log_of_every_generation_can_be_told(
    files: dict[str, LogFile], tmp_path: Path, form: Form, everything: bool
) -> None:
    for session_id, file in files.items():
        text, result = told(file, tmp_path / transcript_name(session_id, form), form, everything=everything)
        assert result.bytes == len(text.encode())
        assert "\x1b" not in text
        assert "\u202e" not in text or form is Form.JSONL


def test_html_is_one_file_that_loads_and_runs_nothing(
    demo: DemoCorpus, files: dict[str, LogFile], tmp_path: Path
) -> None:
    hostile, _ = told(files["0198f990-[red]hostile[/]"], tmp_path / "a.html", Form.HTML)
    assert "<script" not in hostile
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in hostile
    assert "default-src 'none'" in hostile
    assert not re.search(r'(?:src|href)="(?!data:|#)', hostile)
    store = attachment_store(demo.root)
    pictured, _ = told(files["0198dc41-flame-graph"], tmp_path / "b.html", Form.HTML, attachments=store)
    assert pictured.count('src="data:image/png;base64,iVBOR') == 2


def test_json_lines_hold_the_events_with_their_surface(files: dict[str, LogFile], tmp_path: Path) -> None:
    file = files["0198e1d0-entries-migration"]
    text, result = told(file, tmp_path / "a.jsonl", Form.JSONL, everything=True)
    header, *events = [json.loads(line) for line in text.splitlines()]
    assert header["id"] == "0198e1d0-entries-migration"
    assert [event["seq"] for event in events] == list(range(result.events))
    assert {event["surface"] for event in events} == {"current", "shadowed", "log-only"}


def test_foreign_markdown_cannot_break_out_of_its_place() -> None:
    assert prose("# big\n## bigger") == "#### big\n##### bigger"
    assert prose("a <b> `<code>` ``x ` <y>`` <c>") == "a &lt;b> `<code>` ``x ` <y>`` &lt;c>"
    assert prose("```py\nprint('<b>')") == "```py\nprint('<b>')\n```"
    assert prose("~~~~\n~~~\n# in code") == "~~~~\n~~~\n# in code\n~~~~"
    assert prose("![x](http://tracker/)") == "!\\[x](http://tracker/)"


def test_an_existing_file_is_kept_and_a_cancelled_one_is_not(files: dict[str, LogFile], tmp_path: Path) -> None:
    file = files["0198f2c4-refund-flake"]
    target = tmp_path / "a.md"
    target.write_text("mine")
    with pytest.raises(ExportError) as caught:
        told(file, target)
    assert caught.value.code is ExportErrorCode.TARGET_EXISTS
    token = CancelToken()
    with pytest.raises(SessionQueryError) as stopped:
        told(file, tmp_path / "b.md", cancel=token, progress=lambda _: token.set())
    assert stopped.value.code is ErrorCode.ABORTED
    assert os.listdir(tmp_path) == ["a.md"]


SECRETS = {
    "cloud-key": "AKIA" + "Q7B5D54C39E66671",
    "code-host-token": "ghp" + "_" + HEX[:36],
    "model-key": "sk" + "-" + HEX[:48],
    "chat-token": "xoxb" + "-123456789012-123456789012-" + HEX[:24],
    "payment-key": "sk" + "_live_" + HEX[:24],
    "service-key": "AIza" + "Sy" + HEX[:33],
    "web-token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + HEX[:43],
    "private-key": "-----BEGIN " + "RSA PRIVATE KEY-----\n" + HEX + "\n-----END " + "RSA PRIVATE KEY-----",
    "registry-token": "npm" + "_" + HEX[:36],
}
HARMLESS = [
    HEX[:40],
    "sha256:" + HEX,
    "3f2c1a4e-8d7b-4c6a-9e5f-0a1b2c3d4e5f",
    "def login(password: string, token: str)",
    "max_tokens=4096, the secret: it is simple",
    "API_KEY=$KEY PASSWORD=<yours>",
    "the bearer of good news",
]


@pytest.mark.parametrize("kind", list(SECRETS))
def test_each_kind_of_secret_is_replaced_alone_in_text_and_in_json(kind: str) -> None:
    secret = SECRETS[kind]
    for around in (f"before {secret} after", json.dumps({"value": secret}), f"'{secret}'"):
        redactor = Redactor(home=False)
        clean = redactor.text(around)
        assert HEX[:20] not in clean
        assert f"[{kind} 1]" in clean
        assert redactor.counts == {kind: 1}


@pytest.mark.parametrize(
    "text,left",
    [
        ("https://ana:hunter2horse@example.test/x", "https://ana:[password-in-url 1]@example.test/x"),
        ("DB_PASSWORD=correct-horse", "DB_PASSWORD=[env-value 1]"),
        ('export API_KEY="abcd1234"', 'export API_KEY="[env-value 1]"'),
        ('{"password": "correct horse"}', '{"password": "correct horse"}'),
        ('{"client_secret": "s3cr3t-value"}', '{"client_secret": "[quoted-secret 1]"}'),
        ('{\\"token\\": \\"abcdef123\\"}', '{\\"token\\": \\"[quoted-secret 1]\\"}'),
        ("Authorization: Bearer " + HEX[:30], "Authorization: Bearer [bearer-token 1]"),
    ],
)
def test_secrets_that_their_surroundings_tell(text: str, left: str) -> None:
    assert Redactor().text(text) == left


@pytest.mark.parametrize("text", HARMLESS)
def test_look_alikes_stay(text: str) -> None:
    redactor = Redactor()
    assert redactor.text(text) == text
    assert redactor.counts == {}


def test_equal_secrets_get_equal_stand_ins_and_are_found_alone_once_known() -> None:
    redactor = Redactor()
    texts = ["PASSWORD=correct-horse-battery", "it was correct-horse-battery all along", "TOKEN=other-value"]
    redactor.learn(texts)
    assert [redactor.text(text) for text in texts] == [
        "PASSWORD=[env-value 1]",
        "it was [env-value 1] all along",
        "TOKEN=[env-value 2]",
    ]
    assert redactor.counts == {"env-value": 3}


def test_names_of_home_directories_go_consistently() -> None:
    redactor = Redactor(secrets=False)
    assert redactor.text("/home/ana/x /Users/bob C:\\Users\\ana\\y /home/ana") == (
        "/home/[home-directory 1]/x /Users/[home-directory 2] C:\\Users\\[home-directory 1]\\y /home/[home-directory 1]"
    )


@pytest.mark.parametrize("form", list(Form))
def test_a_redacted_transcript_holds_no_secret_anywhere_and_says_what_was_replaced(tmp_path: Path, form: Form) -> None:
    call = {"type": "tool-call", "id": "c", "name": "http", "arguments": json.dumps({"key": SECRETS["model-key"]})}
    source = {"kind": "model", "provider": "p", "model": "m"}
    asked = {"id": "q", "role": "assistant", "source": source, "content": [call]}
    title = {"title": "Key " + SECRETS["cloud-key"], "messageSeqs": [], "source": {"kind": "user"}}
    log = log_of(
        tmp_path / "sessions",
        ("user/message", message("\n".join([*SECRETS.values(), *HARMLESS])), APPEND),
        ("assistant/message", {"turn": 1, "step": 1, "message": asked}, APPEND),
        ("session/title", title, {}),
    )
    before = Path(log.path).read_bytes()
    text, result = told(log, tmp_path / "a.out", form, redact_secrets=True, redact_home=True, everything=True)
    for secret in SECRETS.values():
        assert secret.split("\n")[-1] not in text
    assert "AKIAQ7" not in text
    assert "/home/ana" not in text
    assert HEX[:40] in text
    assert result.redacted["model-key"] == 2
    assert set(SECRETS) < set(result.redacted)
    assert Path(log.path).read_bytes() == before

"""A small root in which nearly every log has something the matter."""

from __future__ import annotations

from pathlib import Path

from logmaking import header, prompt, row, text_of, write


def make_root(root: Path) -> Path:
    """A sound log, a gap, two writers, a newer format beside an older one, a plug-in's event, an empty file.

    All are plain text, so that sizes and places are the same with every version of the compressor.
    """

    def store(session_id: str, *rows: object, version: int = 0) -> None:
        content = text_of([header(version, session_id), *rows])
        write(root, content, version=version, session_id=session_id, plain=True)

    sound = [prompt(0, "hello"), row(1, "turn/end")]
    store("sound", *sound)
    store("gap", *sound, row(5), row(6, "turn/end"))
    first = [prompt(seq, f"first {seq}") for seq in range(5)]
    second = [prompt(seq, f"second {seq}") for seq in range(3, 8)]
    store("two", *first, *second, row(8, "turn/end"))
    for version in (2, 9):
        store("beside", *sound, version=version)
    store("plug", prompt(0, "hi"), row(1, "acme/route"), row(2, "turn/end"))
    write(root, b"", session_id="empty", plain=True)
    left = root / "--srv-a--" / "sound" / "session.jsonl.zstd.0123456789ab.tmp"
    left.write_bytes(b"half")
    return root

"""What every form of a transcript shares: facts, cleaned entries, and how moments are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.jsjson import js_json
from palimpsest_core.base.printable import printable
from palimpsest_core.export.redact import Redactor
from palimpsest_core.export.story import Entry, Facts, Part, Story
from palimpsest_core.formats.jsjson import BadJson, loads
from palimpsest_core.log.shapes import strings_of
from palimpsest_core.storage.attachments import BadObject, object_path, object_pieces

_PICTURES = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)
_LARGEST_MOMENT = 253_402_300_799_999


@dataclass(frozen=True)
class Page:
    """A story about to be written. `redactor` is None when nothing is replaced."""

    story: Story
    everything: bool
    redactor: Redactor | None
    cancel: CancelToken | None
    attachments: Path | None = None

    @property
    def facts(self) -> Facts:
        """The facts, title cleaned."""
        facts = self.story.facts
        return facts._replace(title=self.clean(facts.title))

    def learn(self) -> None:
        """Let the redactor see everything once, so that it knows a secret also where it stands alone."""
        if self.redactor is not None:
            self.redactor.learn(self._texts())

    def _texts(self) -> Iterator[str]:
        yield self.story.facts.title
        for event in self.story.events(everything=self.everything, cancel=self.cancel):
            yield from strings_of(event.data)

    def image(self, attachment_id: str) -> tuple[str, bytes] | None:
        """Media type and content of an image of the attachment store; None when it is not there or not sound."""
        path = object_path(self.attachments, attachment_id) if self.attachments is not None else None
        if path is None:
            return None
        try:
            content = b"".join(object_pieces(path, attachment_id, -1, self.cancel))
        except (OSError, BadObject):
            return None
        found = next((kind for start, kind in _PICTURES if content.startswith(start)), None)
        return (found, content) if found is not None else None

    def clean(self, text: str) -> str:
        """Text without what is to be replaced."""
        return self.redactor.text(text) if self.redactor is not None else text

    def entries(self) -> Iterator[Entry]:
        """The entries, cleaned."""
        for entry in self.story.entries(everything=self.everything, cancel=self.cancel):
            if self.redactor is None:
                yield entry
            else:
                parts = [Part(p.kind, self.clean(p.text), self.clean(p.title)) for p in entry.parts]
                yield entry._replace(parts=parts, speaker=self.clean(entry.speaker), note=self.clean(entry.note))

    def table(self) -> list[tuple[str, str]]:
        """Names and values for the top of the page."""
        facts = self.story.facts
        header = facts.header
        rows = [("Session", header.id), ("Folder", header.cwd or ""), ("Created", moment(header.created_at))]
        if facts.last_time is not None:
            rows.append(("Last event", moment(facts.last_time)))
        rows.append(("Parent", header.parent_session or ""))
        rows.append(("Events", f"{facts.events}, {facts.current} on the current surface"))
        rows.append(("Shown", "every event in log order" if self.everything else "the current surface in model order"))
        rows.append(("Format", f"v{header.version}"))
        return [(name, self.clean(value)) for name, value in rows if value]

    @staticmethod
    def arguments(text: str) -> str:
        """The arguments of a call: one argument a line where they are an object, else as they are."""
        try:
            value = loads(text.encode("utf-8", "surrogatepass"))
        except BadJson:
            return printable(text)
        if not isinstance(value, dict):
            return printable(text)
        lines = []
        for key, item in value.items():
            said = item if isinstance(item, str) else js_json(item)
            lines.append(f"{key}: {said}" if "\n" not in said else f"{key}:\n{said}")
        return printable("\n".join(lines))


def moment(time: int) -> str:
    """Epoch milliseconds in UTC; a number that is no moment is given as it is."""
    if not 0 <= time <= _LARGEST_MOMENT:
        return f"{time} ms"
    return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

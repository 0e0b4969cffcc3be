"""Texts for an index that stores none: read from the logs themselves."""

from __future__ import annotations

from collections.abc import Iterator

from palimpsest_core.formats.reader import LogReader
from palimpsest_core.log.loose import LooseText
from palimpsest_core.log.text import registry_for, semantic_text
from palimpsest_core.log.withheld import withheld_text
from palimpsest_core.model.config import Config
from palimpsest_core.model.search import WITHHELD_FROM
from palimpsest_core.search.indextext import safe_text
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.sync.extract import End, Part, extract


class LogTexts:
    """A `TextSource` over logs as they are now. A log that is gone or was rewritten gives empty texts."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._registry = registry_for(config.extractors)

    def text(self, path: str, seq: int, start: int, length: int) -> str:
        """The text of one document, found by the place of its stored row.

        Text that stands across several rows (streamed pieces that never became a message) is given as far as its first
        row has it.
        """
        if start < 0:
            return ""
        try:
            with LogReader(LogFile.at(path), config=self._config) as reader:
                events = reader.events_at(start, length, seq)
        except OSError:
            return ""
        for event in events:
            if event.seq == seq:
                text = semantic_text(event, self._registry)
                if not text and self._registry.loose is not None:
                    loose = LooseText(self._registry)
                    for piece in events:
                        loose.push(piece)
                    text = loose.take_changes().get(seq, "")
                return safe_text(text)
        if seq >= WITHHELD_FROM:
            return safe_text(self._withheld(path, start, length))
        return ""

    def _withheld(self, path: str, start: int, length: int) -> str:
        try:
            with LogReader(LogFile.at(path), config=self._config) as reader:
                return withheld_text(reader.line_at(start, length), self._registry)
        except OSError:
            return ""

    def texts(self, path: str) -> Iterator[tuple[int, str]]:
        """Every document of a log, by ascending seq within each portion that is read."""
        try:
            file = LogFile.at(path)
        except OSError:
            return
        for piece in extract("", file, None, config=self._config, registry=self._registry):
            if isinstance(piece, (Part, End)):
                for document in piece.changes.documents:
                    yield document.seq, safe_text(document.text)
            if isinstance(piece, End):
                for document in piece.closing:
                    yield document.seq, safe_text(document.text)

"""Snippets for an index that stores no text: the text of one document, read from its log (performance: index size)."""

from __future__ import annotations

from palimpsest_core.formats.reader import LogReader
from palimpsest_core.log.loose import LooseText
from palimpsest_core.log.text import registry_for, semantic_text
from palimpsest_core.model.config import Config
from palimpsest_core.search.fts5.pages import TextSource
from palimpsest_core.search.indextext import safe_text
from palimpsest_core.storage.layout import LogFile


def text_from_log(config: Config) -> TextSource:
    """A text source over logs as they are now. A log that is gone or was rewritten gives an empty text.

    A document is found by the place of its stored row; text that stands across several rows (streamed pieces that never
    became a message) is given as far as its first row has it.
    """
    registry = registry_for(config.extractors)

    def read(path: str, seq: int, start: int, length: int) -> str:
        if start < 0:
            return ""
        try:
            with LogReader(LogFile.at(path), config=config) as reader:
                events = reader.events_at(start, length, seq)
        except OSError:
            return ""
        for event in events:
            if event.seq == seq:
                text = semantic_text(event, registry)
                if not text and registry.loose is not None:
                    loose = LooseText(registry)
                    for piece in events:
                        loose.push(piece)
                    text = loose.take_changes().get(seq, "")
                return safe_text(text)
        return ""

    return read

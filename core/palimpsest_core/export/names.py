"""Names inside an archive: safe everywhere, and never two alike (export contract)."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[^A-Za-z0-9_-]")
_KINDS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}


def safe(text: str) -> str:
    """`text` with every character outside `A-Z a-z 0-9 _ -` made an underscore."""
    return _UNSAFE.sub("_", text)


def archive_name(session_id: str) -> str:
    """The file name of a session's archive."""
    return f"dsh-session-{safe(session_id)}.zip"


def media_name(attachment_id: str, media_type: str) -> str:
    """The name of an image's entry; a kind that is not known gets `bin`."""
    return f"media/{safe(attachment_id)}.{_KINDS.get(media_type, 'bin')}"


class Taken:
    """Gives each thing a name that nothing else has, not even on a disk that ignores letter case."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, before: str, stem: str, after: str) -> str:
        """`before + stem + after`, with `-2`, `-3`, ... behind the stem when that is taken."""
        name, number = before + stem + after, 1
        while name.casefold() in self._taken:
            number += 1
            name = f"{before}{stem}-{number}{after}"
        self._taken.add(name.casefold())
        return name

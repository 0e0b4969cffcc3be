"""Which attachments of one log are not in the store beside its root: looked for when somebody asks about that log.

Neither the list of sessions nor the index does: a log may refer to thousands of images, and they come and go without
any change of the log.
"""

from __future__ import annotations

from pathlib import Path

from palimpsest_core.base.cancel import CancelToken, watched
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.log.attached import AttachmentFinder, Reference
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.query.durable import unreadable_file
from palimpsest_core.storage.attachments import is_stored
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.writer.rawtext import FrameEnd, open_log, stored_text

MOST_TOLD = 20
"""So many missing attachments of a log are told one by one; the last finding counts the others."""


def missing_attachments(file: LogFile, store: Path, config: Config, cancel: CancelToken | None = None) -> list[Finding]:
    """A finding for each image and file that the readable text of a log refers to and `store` does not hold.

    Reads the log through, and asks the file system once for each attachment. Raises `PERSISTENCE_FAILED` where the log
    or the store cannot be read, `ABORTED`.
    """
    finder = AttachmentFinder(config.row_max_bytes, ("image", "file"))
    try:
        with open_log(file, config) as log:
            for piece in stored_text(log, log.size_limit, config.window_max_bytes, cancel):
                if not isinstance(piece, FrameEnd):
                    finder.feed(piece)
        finder.finish()
    except OSError as error:
        raise unreadable_file(file, error) from error
    try:
        missing = [
            reference
            for reference in watched(list(finder.found.values()), cancel)
            if not is_stored(store, reference.attachment_id, file=reference.kind == "file")
        ]
    except OSError as error:
        reason = error.strerror or str(error)
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED, f"The attachment store {store} cannot be read: {reason}."
        ) from error
    told = [_finding(reference, file.path) for reference in missing[:MOST_TOLD]]
    if len(missing) > MOST_TOLD:
        others = f"{len(missing) - MOST_TOLD:,} more attachments are not in the attachment store either."
        told.append(Finding(FindingCode.MISSING_ATTACHMENT, others, file.path, detail="attachment"))
    return told


def _finding(reference: Reference, path: str) -> Finding:
    called = f' "{reference.name}"' if reference.name else ""
    message = f"The {reference.kind}{called} ({reference.attachment_id}) is not in the attachment store."
    seq = reference.seq if reference.seq >= 0 else None
    return Finding(FindingCode.MISSING_ATTACHMENT, message, path, seq=seq, detail="attachment")

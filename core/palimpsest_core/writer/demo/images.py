"""A small real picture, drawn in code, and its place in the attachment store."""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path
from typing import Any


def draw_png(width: int = 160, height: int = 96) -> bytes:
    """A PNG of a toy flame graph: warm bars on white, the widest on the right."""
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        level = (height - 1 - y) // 12
        for x in range(width):
            bar = (x * 7 // width + level * 3) % 7
            wide = x > width * 0.62 and level < 6
            on = wide or (x * (level + 3) // 17) % 4 != level % 4
            color = (214, 73 + 6 * level, 51) if wide else (250 - 12 * bar, 176 - 9 * level, 84)
            rows += bytes(color) if on and level < 7 else b"\xff\xff\xff"
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    out = b"\x89PNG\r\n\x1a\n"
    for tag, data in chunks:
        out += struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))
    return out


def store_image(attachments: Path, content: bytes, name: str, width: int = 160, height: int = 96) -> dict[str, Any]:
    """Put the bytes into the store (`v1/objects/<aa>/<sha256>`) and return the reference that a log holds."""
    digest = hashlib.sha256(content).hexdigest()
    folder = attachments / "v1" / "objects" / digest[:2]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / digest).write_bytes(content)
    return {
        "attachmentId": f"sha256:{digest}",
        "mediaType": "image/png",
        "bytes": len(content),
        "width": width,
        "height": height,
        "name": name,
    }

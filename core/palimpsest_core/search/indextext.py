"""What a text becomes before it is indexed (engine contract, sections 5 and 8): safe characters, CJK set apart."""

from __future__ import annotations

import re

UNICODE61 = "unicode61"
UNICODE61_CJK = "unicode61-cjk"

MARK_START = "\ufdd0"
MARK_END = "\ufdd1"
"""The two highlight markers; text that holds them is shown and indexed with U+FFFD in their place."""

_UNSAFE = re.compile("[\0\ufdd0\ufdd1\ud800-\udfff]")

# Han, Kana, Hangul and Bopomofo letters. Radicals and the kana marks are separators in unicode61 already.
_CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c"
    "\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_CJK_CHAR = re.compile(f"[{_CJK}]")
_GAP = "\u200b"


def safe_text(text: str) -> str:
    """`text` with NUL, the two markers and lone surrogates as U+FFFD; its length in code points stays the same."""
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    return _UNSAFE.sub("\ufffd", text)


def spaced(text: str) -> str:
    """`text` with U+200B on both sides of every CJK character, so that unicode61 makes each a token of its own."""
    if text.isascii():
        return text
    return _CJK_CHAR.sub(lambda match: _GAP + match.group() + _GAP, text)


def unspaced_offset(spaced_text: str, offset: int) -> int:
    """The place in the original text of the token character that stands at `offset` of `spaced_text`."""
    inserted = 2 * len(_CJK_CHAR.findall(spaced_text, 0, offset))
    return offset - inserted - (1 if _CJK_CHAR.match(spaced_text, offset) else 0)


def indexed_text(text: str, tokenizer: str) -> str:
    """What the index is given for a safe text (or for a query) under this tokenizer setting."""
    return spaced(text) if tokenizer == UNICODE61_CJK else text

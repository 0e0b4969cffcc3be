"""Takes secrets out of text that leaves the machine: equal secrets get equal stand-ins, and each kind is counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

_SECRETS: tuple[tuple[str, str], ...] = (
    # Each pattern's group `s` is the secret; what stands around it stays.
    (
        "private-key",
        r"(?P<s>-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:(?!-----BEGIN )[\s\S])*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:\s|\\[nr]|[A-Za-z0-9+/=])*))",
    ),
    ("web-token", r"\b(?P<s>eyJ[\w-]{6,}\.eyJ[\w-]{4,}\.[\w-]{6,})"),
    ("cloud-key", r"\b(?P<s>(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16})\b"),
    ("code-host-token", r"\b(?P<s>gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"),
    ("payment-key", r"\b(?P<s>(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9]{16,})"),
    ("model-key", r"\b(?P<s>sk-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,})"),
    ("chat-token", r"\b(?P<s>xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})"),
    ("service-key", r"\b(?P<s>AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,})"),
    (
        "registry-token",
        r"\b(?P<s>npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|dop_v1_[a-f0-9]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{20,})",
    ),
    ("password-in-url", r"\b[a-z][a-z0-9+.-]*://[^\s/:@\"'\\]*:(?P<s>[^\s/@\"'\\]+)@"),
    ("bearer-token", r"(?i:\b(?:bearer|basic|token)[ \t]+)(?P<s>(?=[^\s\"']*[0-9])[\w.~+/=-]{16,})"),
    (
        "env-value",
        r"\b[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)[A-Z0-9_]*"
        r"=(?:\\?[\"'])?(?P<s>[^\s\"'\\,;&<>(){}\[\]$]{4,})",
    ),
    (
        "quoted-secret",
        r"(?i:password|passwd|passphrase|secret|token|credentials?|api[_-]?key|access[_-]?key|private[_-]?key)"
        r"(?:\\?[\"'])?\s*[:=]\s*\\?[\"'](?P<s>[^\s\"'\\]{6,})\\?[\"']",
    ),
)
_HOME = re.compile(
    r"(?P<before>(?:/home/|/Users/|(?:\b[A-Za-z]:)?\\{1,2}Users\\{1,2}))(?P<s>[^\s/\\:*?\"'<>|,;)\]}`]+)"
)
_ALONE = 8
_SHARED = frozenset(("Shared", "Public", "linuxbrew"))
_HARMLESS = re.compile(r"(?:true|false|null|none|undefined|\*+|x{3,}|\.{3,}|<.*|\[.*)", re.IGNORECASE)


class Redactor:
    """Replaces secrets (`secrets`) and the names of home directories (`home`) in texts.

    A stand-in looks like `[code-host-token 2]`: the kind, and a number for each distinct value in the order of its
    first appearance. `counts` tells how many places of which kind were replaced.
    """

    def __init__(self, *, secrets: bool = True, home: bool = True) -> None:
        self.counts: dict[str, int] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}
        self._patterns = [(kind, re.compile(pattern)) for kind, pattern in _SECRETS] if secrets else []
        self._home = home
        self._known: re.Pattern[str] | None = None
        self._kinds: dict[str, str] = {}

    def text(self, text: str) -> str:
        """`text` without what is to stay here."""
        for kind, pattern in self._patterns:
            text = pattern.sub(self._replacing(kind), text)
        if self._known is not None:
            text = self._known.sub(self._again, text)
        return _HOME.sub(self._replacing("home-directory"), text) if self._home else text

    def learn(self, texts: Iterable[str]) -> None:
        """Look at texts beforehand, so that a secret is found where it stands alone too. Counts nothing."""
        for text in texts:
            for kind, pattern in self._patterns:
                text = pattern.sub(self._replacing(kind), text)
        self.counts.clear()
        self._kinds = {secret: kind for kind, secret in self._names if len(secret) >= _ALONE}
        longest_first = sorted(self._kinds, key=len, reverse=True)
        self._known = re.compile("|".join([re.escape(secret) for secret in longest_first])) if longest_first else None

    def _again(self, match: re.Match[str]) -> str:
        secret = match.group()
        kind = self._kinds[secret]
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return self._stand_in(kind, secret)

    def value(self, value: Any) -> Any:
        """A JSON value with every text in it redacted, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list) else value

    def _replacing(self, kind: str) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            secret = match.group("s")
            if secret in _SHARED or _HARMLESS.fullmatch(secret):
                return match.group()
            self.counts[kind] = self.counts.get(kind, 0) + 1
            start, end = match.span("s")
            shift = match.start()
            whole = match.group()
            return whole[: start - shift] + self._stand_in(kind, secret) + whole[end - shift :]

        return replace

    def _stand_in(self, kind: str, secret: str) -> str:
        name = self._names.get((kind, secret))
        if name is None:
            number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
            name = self._names[kind, secret] = f"[{kind} {number}]"
        return name

"""The themes: dark, light, high contrast, and the terminal's own sixteen colours."""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

DARK = Theme(
    name="palimpsest-dark",
    primary="#7aa2c8",
    secondary="#8f9bb3",
    accent="#d8a657",
    warning="#d8a657",
    error="#e06c75",
    success="#8fb573",
    foreground="#d5d8de",
    background="#16181d",
    surface="#16181d",
    panel="#21252d",
    dark=True,
    variables={
        "dim": "#7f8896",
        "block-cursor-background": "#34536f",
        "block-cursor-foreground": "#f4f6f9",
        "block-cursor-blurred-background": "#272c35",
        "block-cursor-text-style": "none",
        "border": "#7aa2c8",
        "border-blurred": "#3b424e",
        "input-selection-background": "#7aa2c8 35%",
    },
)
LIGHT = Theme(
    name="palimpsest-light",
    primary="#2f5d8a",
    secondary="#5c6675",
    accent="#8a5a00",
    warning="#8a5a00",
    error="#b3261e",
    success="#37702f",
    foreground="#22262c",
    background="#fbfaf7",
    surface="#fbfaf7",
    panel="#ecebe6",
    dark=False,
    variables={
        "dim": "#737985",
        "block-cursor-background": "#2f5d8a",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-blurred-background": "#e3e6ea",
        "block-cursor-text-style": "none",
        "border": "#2f5d8a",
        "border-blurred": "#c4c6c9",
    },
)
CONTRAST = Theme(
    name="palimpsest-contrast",
    primary="#ffff00",
    secondary="#ffffff",
    accent="#00ffff",
    warning="#ffff00",
    error="#ff8080",
    success="#80ff80",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#000000",
    dark=True,
    text_alpha=1.0,
    variables={
        "dim": "#cfcfcf",
        "block-cursor-background": "#ffff00",
        "block-cursor-foreground": "#000000",
        "block-cursor-blurred-background": "#404040",
        "block-cursor-text-style": "bold",
        "border": "#ffff00",
        "border-blurred": "#c0c0c0",
        "text-muted": "#e0e0e0",
    },
)
TERMINAL = Theme(
    name="palimpsest-ansi",
    ansi=True,
    primary="ansi_blue",
    secondary="ansi_cyan",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    accent="ansi_yellow",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={
        **BUILTIN_THEMES["ansi-dark"].variables,
        "dim": "ansi_bright_black",
        "block-cursor-blurred-background": "ansi_default",
        "block-cursor-background": "ansi_blue",
        "block-cursor-foreground": "ansi_bright_white",
        "border": "ansi_blue",
        "border-blurred": "ansi_bright_black",
    },
)
"""Only the sixteen colours of the terminal, on its own background."""
THEMES: tuple[Theme, ...] = (DARK, LIGHT, CONTRAST, TERMINAL)
NAMES: tuple[str, ...] = tuple(theme.name for theme in THEMES)
"""The themes that can be chosen."""
DEFAULTS: dict[str, str] = {"dim": "#888888"}
"""Our own colour names for themes that know nothing of them."""

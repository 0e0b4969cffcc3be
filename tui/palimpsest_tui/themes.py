"""The themes: dark, light, high contrast, and the terminal's own sixteen colours."""

from __future__ import annotations

from textual.theme import Theme

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
        "block-cursor-background": "#ffff00",
        "block-cursor-foreground": "#000000",
        "block-cursor-blurred-background": "#404040",
        "block-cursor-text-style": "bold",
        "border": "#ffff00",
        "border-blurred": "#c0c0c0",
        "text-muted": "#e0e0e0",
    },
)
THEMES: tuple[Theme, ...] = (DARK, LIGHT, CONTRAST)
NAMES: tuple[str, ...] = (DARK.name, LIGHT.name, CONTRAST.name, "ansi-dark", "ansi-light")
"""The themes that can be chosen; the last two use the terminal's own colours."""

"""Whether the machine runs on its battery, where the system tells (Linux)."""

from __future__ import annotations

import os

SUPPLIES = "/sys/class/power_supply"
_BATTERY = "Battery"
_DISCHARGING = "Discharging"


def on_battery(supplies: str = SUPPLIES) -> bool:
    """Whether a battery of the machine itself is being emptied and nothing else feeds it. False where nobody knows.

    `supplies`: the folder in which the system describes its power supplies.
    """
    try:
        names = os.listdir(supplies)
    except OSError:
        return False
    discharging = False
    for name in names:
        folder = os.path.join(supplies, name)
        if _word(folder, "scope") == "Device":
            continue  # a mouse or a headset
        if _word(folder, "type") == _BATTERY:
            discharging = discharging or _word(folder, "status") == _DISCHARGING
        elif _word(folder, "online") == "1":
            return False
    return discharging


def _word(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="ascii", errors="replace") as file:
            return file.read(100).strip()
    except OSError:
        return ""

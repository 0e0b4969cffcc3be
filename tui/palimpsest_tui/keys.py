"""Every key of the app in one table: its id, its keys, what it does and where it works.

One verb has one key in every pane. Each entry can be remapped in the settings file under its id. Nothing sits on
ctrl+i, ctrl+m, ctrl+h or ctrl+[ because a terminal cannot tell these from tab, enter, backspace and escape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from textual.binding import Binding, BindingType
from textual.keys import _character_to_key as character_to_key
from textual.keys import format_key


class Where(StrEnum):
    """Which part of the app a key belongs to."""

    LIST = "every list"
    MAIN = "the main screen"
    SEARCH = "the search bar"
    EXPORT = "the export window"
    HEALTH = "the health screen"
    RESCUE = "the rescue window"
    DIALOG = "every window"


class Key(NamedTuple):
    """One line of the table. `action` is what Textual runs; empty means the command of the same id."""

    id: str
    keys: str
    where: Where
    title: str
    tooltip: str
    action: str = ""


_L, _M, _S, _E, _D = Where.LIST, Where.MAIN, Where.SEARCH, Where.EXPORT, Where.DIALOG
_H, _R = Where.HEALTH, Where.RESCUE

KEYS: tuple[Key, ...] = (
    Key("list.down", "j,down", _L, "Next row", "Move to the next row", "move(1)"),
    Key("list.up", "k,up", _L, "Previous row", "Move to the previous row", "move(-1)"),
    Key("list.top", "g,home", _L, "First row", "Go to the first row", "go_top"),
    Key("list.bottom", "G,end", _L, "Last row", "Go to the last row", "go_bottom"),
    Key("list.half_down", "ctrl+d", _L, "Half a page down", "Move half a page down", "page(0.5)"),
    Key("list.half_up", "ctrl+u", _L, "Half a page up", "Move half a page up", "page(-0.5)"),
    Key("list.page_down", "space,pagedown", _L, "Page down", "Move a page down", "page(1.0)"),
    Key("list.page_up", "b,pageup", _L, "Page up", "Move a page up", "page(-1.0)"),
    Key("list.choose", "enter", _L, "Go in", "Open the row: the next pane, a folded run, a link", "choose"),
    Key("nav.in", "l,right", _M, "In, unfold", "Unfold the row, or go one pane in"),
    Key("nav.out", "h,left", _M, "Out, fold", "Fold the row, or go one pane out"),
    Key("nav.escape", "escape", _M, "Out", "Go out one level; never quits"),
    Key("turn.next", "}", _M, "Next turn", "Go to the start of the next turn"),
    Key("turn.previous", "{", _M, "Previous turn", "Go to the start of this turn or of the one before"),
    Key("prompt.next", "J", _M, "Next prompt", "Go to the next prompt of the person"),
    Key("prompt.previous", "K", _M, "Previous prompt", "Go to the previous prompt of the person"),
    Key("boundary.next", "]", _M, "Next boundary",
        "Go to the next boundary: compaction, shortened result, fork cut or resume"),
    Key("boundary.previous", "[", _M, "Previous boundary",
        "Go to the boundary before: compaction, shortened result, fork cut or resume"),
    Key("replacement.go", "%", _M, "Replacement ⇄ shadowed", "Go between an event and what replaced it"),
    Key("history.back", "<", _M, "Back", "Go back to where you were before the last jump"),
    Key("history.forward", ">", _M, "Forward", "Go forward again"),
    Key("pane.sessions", "1", _M, "Sessions", "Focus the list of sessions"),
    Key("pane.timeline", "2", _M, "Timeline", "Focus the timeline"),
    Key("pane.inspector", "3", _M, "Inspector", "Focus the inspector"),
    Key("pane.lineage", "4", _M, "Lineage", "Focus the lineage"),
    Key("pane.next", "tab", _M, "Next pane", "Focus the next pane"),
    Key("pane.previous", "shift+tab", _M, "Previous pane", "Focus the pane before"),
    Key("search.focus", "/", _M, "Search", "Type in the search bar"),
    Key("hit.next", "n", _M, "Next hit", "Go to the next match, then on into the next session"),
    Key("hit.previous", "N", _M, "Previous hit", "Go to the match before"),
    Key("error.next", "!", _M, "Next error", "Go to the next event that tells of an error"),
    Key("filter.menu", "f", _M, "Filter", "Choose a filter from a menu"),
    Key("view.next", "v", _M, "View", "Next view of this pane: events shown, grouping of sessions, raw or pretty"),
    Key("inspector.tab", "x", _M, "Inspector tab", "Show the next tab of the inspector: text, raw, trace"),
    Key("inspector.wrap", "w", _M, "Wrap", "Wrap long lines, or let them run"),
    Key("mark.set", "m", _M, "Mark", "Mark this event, or take its mark away"),
    Key("mark.list", "'", _M, "Marks", "List the marked events"),
    Key("copy.text", "y", _M, "Copy text", "Copy the text of the event, the title of the session"),
    Key("copy.reference", "Y", _M, "Copy reference", "Copy ID#SEQ"),
    Key("export.now", "e", _M, "Export", "Export the session and its descendants at once"),
    Key("export.options", "E", _M, "Export with options", "Choose what goes into the export and where it goes"),
    Key("resume.show", "r", _M, "Resume", "Show the command that resumes this session"),
    Key("open.pager", "o", _M, "Open", "Read the event in the pager, or in an editor"),
    Key("follow.toggle", "F", _M, "Follow", "Stay at the end while the log grows"),
    Key("rescan", "R", _M, "Rescan", "Look through the root again"),
    Key("index.pause", "P", _M, "Pause indexing", "Hold the indexer up, or let it go on (also on battery)"),
    Key("sessions.sort", "s", _M, "Sort", "Sort sessions by activity, creation, size or title"),
    Key("inspector.toggle", "i", _M, "Inspector on or off", "Show or hide the inspector"),
    Key("lineage.toggle", "L", _M, "Lineage on or off", "Show or hide the lineage"),
    Key("pane.grow", "+", _M, "Larger pane", "Give the focused pane more room"),
    Key("pane.shrink", "_", _M, "Smaller pane", "Give the focused pane less room"),
    Key("health.show", "H", _M, "Health", "Every log that is damaged, foreign or diverging, and how to save it"),
    Key("generation.next", "V", _M, "Other file", "Open another format of this session, where there are several"),
    Key("palette", ":,ctrl+p", _M, "Commands", "Find any command by its name"),
    Key("help", "?", _M, "Keys", "Show the keys that work here"),
    Key("quit", "q", _M, "Quit", "Leave the app"),
    Key("search.leave", "escape", _S, "Leave", "Go back to the rows; the words stay", "leave"),
    Key("search.complete", "tab", _S, "Complete", "Complete the filter word", "complete"),
    Key("search.open", "enter", _S, "Open", "Open the first hit", "open"),
    Key("search.down", "down", _S, "To the hits", "Go to the list of hits; without any, to the next newer search",
        "newer"),
    Key("search.up", "up", _S, "Older search", "Take the next older search", "older"),
    Key("search.widen", "ctrl+t", _S, "Widen", "Search in the next wider scope", "widen"),
    Key("search.clear", "ctrl+l", _S, "Clear", "Clear the search", "clear"),
    Key("export.start", "enter", _E, "Export", "Start the export, or try again", "start"),
    Key("export.cancel", "ctrl+x", _E, "Cancel", "Stop the export and remove the partial file", "cancel"),
    Key("export.copy", "c", _E, "Copy path", "Copy the path of the archive", "copy_path"),
    Key("export.folder", "o", _E, "Open folder", "Open the folder of the archive", "open_folder"),
    Key("export.hide", "escape", _E, "Hide", "Hide the window; a running export goes on", "hide"),
    Key("health.rescue", "r", _H, "Rescue", "Show what can be saved of the log, then write it to a new root", "rescue"),
    Key("health.copy", "y", _H, "Copy", "Copy what is said of the log", "copy"),
    Key("health.look", "R", _H, "Look again", "Look through the root again", "look"),
    Key("rescue.go", "enter", _R, "Show, then write", "Show what would be written; then write it", "go"),
    Key("dialog.close", "escape,q", _D, "Close", "Close the window", "close"),
)  # fmt: skip

_WAY_OUT = ("nav.escape", "pane.", "search.focus", "palette", "help", "health.show", "quit")

HINTS: dict[str, tuple[tuple[str, str], ...]] = {
    "sessions": (
        ("list.choose", "Open"), ("search.focus", "Find"), ("filter.menu", "Filter"), ("pane.lineage", "Lineage"),
        ("export.now", "Export"), ("sessions.sort", "Sort"), ("view.next", "Group"), ("copy.text", "Copy"),
        ("resume.show", "Resume"),
    ),
    "hits": (
        ("list.choose", "Open"), ("nav.escape", "Sessions"), ("search.focus", "Find"), ("hit.next", "Hit"),
        ("filter.menu", "Filter"), ("pane.lineage", "Lineage"), ("export.now", "Export"),
    ),
    "timeline": (
        ("list.choose", "Read"), ("nav.escape", "Back"), ("search.focus", "Find"), ("turn.previous", "Turn"),
        ("boundary.previous", "Boundary"), ("view.next", "View"), ("export.now", "Export"), ("copy.text", "Copy"),
        ("filter.menu", "Filter"),
    ),
    "inspector": (
        ("nav.escape", "Back"), ("inspector.tab", "Tab"), ("inspector.wrap", "Wrap"), ("copy.text", "Copy"),
        ("open.pager", "Pager"), ("search.focus", "Find"), ("turn.previous", "Turn"), ("export.now", "Export"),
    ),
    "lineage": (
        ("list.choose", "Go there"), ("history.back", "Back"), ("nav.escape", "Timeline"), ("search.focus", "Find"),
        ("export.now", "Export"), ("pane.sessions", "Sessions"),
    ),
    "search": (
        ("search.open", "Open"), ("search.down", "Hits"), ("search.complete", "Complete"), ("search.widen", "Wider"),
        ("search.clear", "Clear"), ("search.leave", "Leave"),
    ),
}  # fmt: skip
"""The key line at the bottom where the focus is, from the left: keys that work there, and what they do there in a word.

What does not fit is left out from the right. In the search bar letters are typed, so `?` is not offered.
"""
PAIRED = {"turn.previous": "turn.next", "boundary.previous": "boundary.next", "hit.next": "hit.previous"}
"""Two keys for the two ways of one verb: the key line shows them together."""
BY_ID: dict[str, Key] = {key.id: key for key in KEYS}
FORBIDDEN = frozenset({"ctrl+i", "ctrl+m", "ctrl+h", "ctrl+left_square_bracket", "ctrl+["})
_TOGETHER = {
    Where.LIST: (Where.LIST, Where.MAIN, Where.DIALOG),
    Where.MAIN: (Where.LIST, Where.MAIN),
    Where.SEARCH: (Where.SEARCH,),
    Where.EXPORT: (Where.EXPORT,),
    Where.HEALTH: (Where.HEALTH, Where.DIALOG, Where.LIST),
    Where.RESCUE: (Where.RESCUE, Where.DIALOG),
    Where.DIALOG: (Where.DIALOG, Where.LIST, Where.HEALTH, Where.RESCUE),
}


def bindings(where: Where) -> list[BindingType]:
    """Textual's bindings of one part of the app, each with its id (so that it can be remapped) and its tooltip."""
    return [
        Binding(
            key.keys,
            key.action or f"command('{key.id}')",
            key.title,
            show=False,
            tooltip=key.tooltip,
            id=key.id,
        )
        for key in KEYS
        if key.where is where
    ]


def way_out() -> frozenset[str]:
    """The actions that lead away from a hit that is still to come: out, to another pane, to another search."""
    return frozenset(
        {"quit", "leave", "clear", *(f"command('{key.id}')" for key in KEYS if key.id.startswith(_WAY_OUT))}
    )


def spelled(keys: str) -> list[str]:
    """The keys of a comma-separated list in Textual's long spelling (`question_mark` for `?`)."""
    return [character_to_key(part) if len(part) == 1 else part for part in (p.strip() for p in keys.split(",")) if part]


def shown(key: Key, keymap: Mapping[str, str]) -> str:
    """How the help writes the keys of an entry, with the person's own mapping: `j ↓`."""
    parts = spelled(keymap.get(key.id, key.keys))
    return " ".join(_display(part) for part in parts)


def first_shown(key: Key, keymap: Mapping[str, str]) -> str:
    """The first key of an entry as the key line writes it."""
    parts = spelled(keymap.get(key.id, key.keys))
    return _display(parts[0]) if parts else ""


def hint_keys(key_id: str, keymap: Mapping[str, str]) -> str:
    """The key of a hint, both keys of a pair: `{}`; with a space between them where one is not a sign: `{ t`."""
    ids = (key_id, PAIRED[key_id]) if key_id in PAIRED else (key_id,)
    keys = [first_shown(BY_ID[part], keymap) for part in ids]
    signs = all(len(key) == 1 and not key.isalnum() for key in keys)
    return ("" if signs else "/" if key_id == "hit.next" else " ").join(keys)


def _display(part: str) -> str:
    return {"escape": "esc", "enter": "enter", "pagedown": "pgdn", "pageup": "pgup"}.get(part, format_key(part))


class KeymapReport(NamedTuple):
    """The mapping that can be used and what was wrong with the one asked for (one sentence each)."""

    keymap: dict[str, str]
    problems: list[str]


def check_keymap(wanted: Mapping[str, str]) -> KeymapReport:
    """Take over the person's keys from the settings file.

    An unknown id, a key a terminal cannot send apart and a key that two commands of one place would share are reported;
    a clashing or impossible entry keeps its default, everything else is used.
    """
    keymap: dict[str, str] = {}
    problems: list[str] = []
    for key_id, keys in wanted.items():
        if key_id not in BY_ID:
            problems.append(f"There is no command {key_id} to put a key on.")
            continue
        parts = spelled(keys)
        impossible = [part for part in parts if part in FORBIDDEN]
        if impossible or not parts:
            problems.append(f"{key_id}: a terminal cannot tell {keys or 'nothing'} apart from another key.")
            continue
        keymap[key_id] = ",".join(parts)
    for key_id in list(keymap):
        for other in _clashes(key_id, keymap):
            problems.append(f"{key_id} and {other} would share the key {keymap[key_id]}; {key_id} keeps its default.")
            del keymap[key_id]
            break
    return KeymapReport(keymap, problems)


def _clashes(key_id: str, keymap: Mapping[str, str]) -> Iterable[str]:
    entry = BY_ID[key_id]
    mine = set(spelled(keymap[key_id]))
    for other in KEYS:
        if other.id == key_id or other.where not in _TOGETHER[entry.where]:
            continue
        if mine & set(spelled(keymap.get(other.id, other.keys))):
            yield other.id

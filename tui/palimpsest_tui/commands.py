"""Every command once: its key table entry and what it does. Keys, palette and help all take it from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from palimpsest_tui.keys import BY_ID, KEYS, Where
from palimpsest_tui.widgets.timeline_views import View

if TYPE_CHECKING:
    from palimpsest_tui.flows.desk import Desk


class Command(NamedTuple):
    """One thing a person can do. `id` is the binding's id; a command without key has an id of its own."""

    id: str
    title: str
    tooltip: str
    run: Callable[[Desk], object]


def _command(key_id: str, run: Callable[[Desk], object]) -> Command:
    key = BY_ID[key_id]
    return Command(key_id, key.title, key.tooltip, run)


def _view(view: View) -> Command:
    return Command(
        f"view.{view.value}",
        f"View: {view.value}",
        f"Show {'all events' if view is View.ALL else view.value} in the timeline",
        lambda desk: desk.opening.set_view(view),
    )


_WITH_KEYS: tuple[Command, ...] = (
    _command("nav.in", lambda desk: desk.panes.go_in()),
    _command("nav.out", lambda desk: desk.panes.go_out()),
    _command("nav.escape", lambda desk: desk.escape()),
    _command("turn.next", lambda desk: desk.walking.turn(1)),
    _command("turn.previous", lambda desk: desk.walking.turn(-1)),
    _command("prompt.next", lambda desk: desk.walking.prompt(1)),
    _command("prompt.previous", lambda desk: desk.walking.prompt(-1)),
    _command("boundary.next", lambda desk: desk.walking.boundary(1)),
    _command("boundary.previous", lambda desk: desk.walking.boundary(-1)),
    _command("replacement.go", lambda desk: desk.walking.replacement()),
    _command("history.back", lambda desk: desk.opening.back()),
    _command("history.forward", lambda desk: desk.opening.forward()),
    _command("pane.sessions", lambda desk: desk.panes.enter("sessions")),
    _command("pane.timeline", lambda desk: desk.panes.enter("timeline")),
    _command("pane.inspector", lambda desk: desk.panes.enter("inspector")),
    _command("pane.lineage", lambda desk: desk.panes.enter("lineage")),
    _command("pane.next", lambda desk: desk.panes.cycle(1)),
    _command("pane.previous", lambda desk: desk.panes.cycle(-1)),
    _command("search.focus", lambda desk: desk.finding.focus()),
    _command("hit.next", lambda desk: desk.going.go_hit(1)),
    _command("hit.previous", lambda desk: desk.going.go_hit(-1)),
    _command("error.next", lambda desk: desk.walking.error()),
    _command("filter.menu", lambda desk: desk.filtering.menu()),
    _command("view.next", lambda desk: desk.next_view()),
    _command("inspector.tab", lambda desk: desk.inspecting.next_tab()),
    _command("inspector.wrap", lambda desk: desk.inspecting.toggle_wrap()),
    _command("mark.set", lambda desk: desk.marking.toggle()),
    _command("mark.list", lambda desk: desk.marking.list()),
    _command("copy.text", lambda desk: desk.copying.text()),
    _command("copy.reference", lambda desk: desk.copying.reference()),
    _command("export.now", lambda desk: desk.exporting.now()),
    _command("export.options", lambda desk: desk.exporting.options()),
    _command("resume.show", lambda desk: desk.copying.resume()),
    _command("open.pager", lambda desk: desk.copying.open()),
    _command("follow.toggle", lambda desk: desk.living.toggle_follow()),
    _command("rescan", lambda desk: desk.listing.rescan()),
    _command("index.pause", lambda desk: desk.living.toggle_pause()),
    _command("sessions.sort", lambda desk: desk.listing.next_sort()),
    _command("inspector.toggle", lambda desk: desk.panes.toggle_inspector()),
    _command("lineage.toggle", lambda desk: desk.panes.toggle_lineage()),
    _command("pane.grow", lambda desk: desk.panes.resize(1)),
    _command("pane.shrink", lambda desk: desk.panes.resize(-1)),
    _command("health.show", lambda desk: desk.ailing.show()),
    _command("generation.next", lambda desk: desk.generations.next()),
    _command("palette", lambda desk: desk.screen.app.action_command_palette()),
    _command("help", lambda desk: desk.help()),
    _command("quit", lambda desk: desk.screen.app.exit()),
)
_WITHOUT_KEYS: tuple[Command, ...] = (
    *(_view(view) for view in View),
    Command(
        "sessions.grouping",
        "Group sessions",
        "Flat, by project, or as a tree",
        lambda desk: desk.listing.next_grouping(),
    ),
    Command(
        "search.clear_all",
        "Clear the search",
        "Take the words and filters away",
        lambda desk: desk.search_bar.set_text(""),
    ),
    Command(
        "raw.view",
        "Raw: laid out or as stored",
        "Change how raw JSON is shown",
        lambda desk: desk.inspecting.next_view(),
    ),
    Command(
        "damage.go",
        "Go to the damage",
        "The row at which the readable part of this log ends",
        lambda desk: desk.beyond.go(),
    ),
    Command(
        "generation.list",
        "Files of this session",
        "Choose among the formats that lie in its folder",
        lambda desk: desk.generations.choose(),
    ),
    Command(
        "settings.open",
        "Settings file",
        "Say where the settings file is, and open it in the editor",
        lambda desk: desk.copying.settings_file(),
    ),
    Command(
        "theme.next",
        "Next theme",
        "Dark, light, high contrast, the terminal's own colours",
        lambda desk: desk.next_theme(),
    ),
)

COMMANDS: dict[str, Command] = {command.id: command for command in (*_WITH_KEYS, *_WITHOUT_KEYS)}


def list_commands() -> list[Command]:
    """The motions of lists, for the palette and the help; they run on the focused pane."""
    return [Command(key.id, key.title, key.tooltip, _on_list(key.action)) for key in KEYS if key.where is Where.LIST]


def _on_list(action: str) -> Callable[[Desk], object]:
    return lambda desk: desk.screen.run_list_action(action)

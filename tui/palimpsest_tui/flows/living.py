"""What happens while a person looks: the index fills, logs grow, sessions come and go."""

from __future__ import annotations

import os
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from textual.timer import Timer

from palimpsest_core import BOUNDARY, printable_line
from palimpsest_tui.jobs.asking import sentence
from palimpsest_tui.jobs.indexing import Orders, run_indexer
from palimpsest_tui.jobs.opening import grow_log
from palimpsest_tui.jobs.watching import watch_log, watch_root
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.timeline_views import View

if TYPE_CHECKING:
    from palimpsest_core import Growth, OpenLog
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.jobs.indexing import Report
    from palimpsest_tui.jobs.opening import Grown

_LIST_SOON_S = 0.3
_LIST_REST_S = 2.0
"""Changes of the root are gathered: the list is read again soon after the first one, then not again for this long."""
_SEARCH_REST_S = 1.0
"""While the index fills, a search is repeated at most this often."""
_STALLED_LOOKS = 15
"""How often the list is read again while another process that keeps the index seems to get no further."""
_MEMORY = ":memory:"


class Living:
    """Starts the indexer and the watchers, and brings what they tell onto the screen."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._orders = Orders()
        self._paused = False
        self._index_told = ""
        self._list_timer: Timer | None = None
        self._in_memory = False
        self._unread = 0
        self._listed_at = 0.0
        self._searched_at = 0.0
        self._building = False
        self._elsewhere = False
        """Whether another process keeps the index; ours waits to take its place."""
        self._seen: tuple[int, int] | None = None
        self._stalled = 0
        self._left: int | None = None
        self.following = False
        self.gone = False

    # Starting and stopping ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start everything that runs in the background."""
        root = self._desk.engine.root
        if root is None:
            return
        self._in_memory = str(self._desk.engine.index) == _MEMORY
        if self._in_memory:
            self._refresh_here()
            self._watch_root()
        else:
            self._building, self._left = True, None
            self._index("starting")
            work = partial(run_indexer, self._desk.engine, self._orders)
            self._desk.jobs.ask_parts("index", work, self._reported, self._indexer_ended, self._indexer_failed)

    def stop(self) -> None:
        """Nothing to do: every worker has a token, and the jobs set them all."""

    def opened(self, log: OpenLog) -> None:
        """Another log is open: watch it in place of the one before."""
        self.gone = False
        self._desk.jobs.ask_parts("watch log", partial(watch_log, log), self._log_changed, _nothing)

    # The index ---------------------------------------------------------------------------------------------------

    def _refresh_here(self) -> None:
        """An index in memory can be filled by this process only."""
        self._building, self._left = True, None
        self._index("indexing")
        refresh = self._desk.engine.refresh
        self._desk.jobs.ask("index", refresh, self._refreshed_here, self._indexer_failed)

    def _refreshed_here(self, refresh: object) -> None:
        del refresh
        self._building = False
        self._index("100%")
        self._index_changed()

    def _reported(self, report: Report) -> None:
        if report.event in ("started", "progress", "refreshed", "current"):
            self._elsewhere = False
        if report.event == "progress":
            self._building, self._left = True, (report.logs_total or 0) - (report.logs_done or 0)
            self._index(_progress(report))
            if self._left:
                self._search_more()
        elif report.event == "waiting":
            self._building, self._elsewhere = False, True
            self._watch_root()
            self.sessions_changed()
        elif report.event == "current":
            self._building = False
            self._index("100%")
            self._index_changed()
        elif report.event == "refreshed":
            if self._unread:
                self._desk.say(f"{numbers.plural(self._unread, 'log')} cannot be read; the list says why.", bad=True)
                self._unread = 0
            self._building = False
            self._index("100%")
            self._index_changed()
        elif report.event == "paused":
            self._index("paused" if self._paused else f"paused {report.message}")
        elif report.event == "failed":
            self._unread += 1
        elif report.event in ("notice", "error") and report.message:
            self._desk.say(printable_line(f"Index: {report.message}"), bad=report.event == "error")

    def toggle_pause(self) -> None:
        """Hold the indexer up, or let it go on."""
        if not self._orders.pause(not self._paused):
            self._desk.say("No indexer of this app is at work.", bad=True)
            return
        self._paused = not self._paused
        if self._paused:
            before = self._index_told
            self._index("paused")
            self._index_told = before
        else:
            self._index(self._index_told)
            self._orders.refresh()
        self._desk.say("Indexing is paused; P goes on." if self._paused else "Indexing goes on.")

    def _indexer_ended(self, status: int) -> None:
        self._building = self._paused = False
        self._index("stopped" if status == 0 else f"stopped ({status})")
        self._desk.say("The indexer stopped; R starts it again.", bad=True)
        self._watch_root()

    def _indexer_failed(self, error: Exception) -> None:
        self._building = False
        self._index("none")
        self._watch_root()
        self._desk.say(f"Index: {sentence(error)}", bad=True)

    def _index(self, text: str) -> None:
        self._index_told = text
        self._desk.telling.index_text = f"idx {text}"
        self._desk.telling.where()

    def sessions_changed(self) -> None:
        """The list was read again. Where another process keeps the index, the list is all that tells how far it is."""
        if not self._elsewhere:
            return
        indexed = self.indexed()
        told = "" if indexed is None else "{} of {}, ".format(*map(numbers.exact, indexed))
        self._index(f"{told}kept by another process")
        self._stalled = self._stalled + 1 if indexed == self._seen else 0
        self._seen = indexed
        if indexed is not None and self._stalled < _STALLED_LOOKS:
            self._list_soon()

    def _index_changed(self) -> None:
        """The index holds more than before: titles and counts for the list, hits for the search."""
        self._list_soon()

    def _search_more(self) -> None:
        """The index holds a little more: what is searched for may be in it."""
        if monotonic() - self._searched_at >= _SEARCH_REST_S:
            self._searched_at = monotonic()
            self._desk.finding.index_grew()

    def indexed(self) -> tuple[int, int] | None:
        """How many of how many readable logs the index holds while it is being filled; None once it holds all."""
        if not self._building and not self._elsewhere:
            return None
        known = [session for session in self._desk.listing.sessions if session.header is not None]
        if self._elsewhere or self._left is None:
            left = sum(not session.indexed for session in known)
        else:
            left = min(self._left, len(known))
        return (len(known) - left, len(known)) if left or not known else None

    def reindex(self) -> None:
        """Look through the root again."""
        if self._in_memory:
            self._refresh_here()
        elif not self._orders.refresh() and not self._desk.jobs.running("index"):
            self.start()

    def describe_index(self) -> str:
        """Where the index is and how big, for the first-run notice."""
        if self._in_memory:
            return "Index: kept in memory."
        path = self._desk.engine.index_path
        size = os.path.getsize(path) if os.path.exists(path) else 0
        return printable_line(f"Index: {path} ({numbers.size(size)} now; it can be deleted).")

    # The root ----------------------------------------------------------------------------------------------------

    def _watch_root(self) -> None:
        """Watch the root here: only where no indexer of ours does it."""
        root = self._desk.engine.root
        if root is not None and not self._desk.jobs.running("watch root"):
            self._desk.jobs.ask_parts("watch root", partial(watch_root, str(root)), self._root_changed, _nothing)

    def _root_changed(self, folders: frozenset[str]) -> None:
        del folders
        if self._in_memory:
            self._refresh_here()
        else:
            self._list_soon()

    def _list_soon(self) -> None:
        """Read the list again, seldom enough that it costs a tenth of a core at most, however long it takes."""
        if self._list_timer is None:
            rest = max(_LIST_REST_S, 10 * self._desk.listing.took_s)
            wait = max(_LIST_SOON_S, rest - (monotonic() - self._listed_at))
            self._list_timer = self._desk.screen.set_timer(wait, self._list_now)

    def _list_now(self) -> None:
        self._list_timer = None
        self._listed_at = monotonic()
        self._desk.listing.load()
        self._desk.finding.index_grew()

    # The open log ------------------------------------------------------------------------------------------------

    def _log_changed(self, told: None) -> None:
        del told
        log = self._desk.opening.log
        if log is not None and log.complete and not self._desk.jobs.running("open"):
            self._desk.jobs.ask("grow", partial(grow_log, log), self._grown)

    def _grown(self, grown: Grown) -> None:
        log, growth = grown
        if log is not self._desk.opening.log:
            return
        if growth.gone:
            if not self.gone:
                self.gone = True
                self._desk.say("The log was removed; what is shown stays.", bad=True)
            return
        self.gone = False
        if growth.replaced_file or growth.truncated:
            self._desk.say("The log was written anew; it is read again.")
            self._desk.opening.reopen()
            return
        if growth.count or growth.changed:
            self._show_growth(log, growth)

    def _show_growth(self, log: OpenLog, growth: Growth) -> None:
        """Draw what the growth changed, and nothing else."""
        desk = self._desk
        desk.opening.grew()
        last = desk.timeline.row_count() - 1
        wider = len(str(len(log))) != len(str(growth.first_new))
        desk.timeline.forget([*growth.changed, *range(growth.first_new, min(len(log), growth.first_new + 200))])
        if growth.changed and desk.opening.view not in (View.ALL, View.CONVERSATION, View.ERRORS):
            desk.opening.rearrange()  # rows leave the view, or come into it
        else:
            desk.opening.appended(growth.first_new)
        if growth.changed or wider:
            desk.timeline.redraw()
        else:
            desk.timeline.redraw_rows(range(last, desk.timeline.row_count()))
        if self.following:
            desk.timeline.go(desk.timeline.row_count() - 1)
        if log.rows_withheld:
            desk.beyond.read(log)
        if log.table.find_flag(BOUNDARY, growth.first_new) is not None:
            desk.kinship.show()
        desk.telling.status()
        desk.finding.log_changed()
        shown = desk.timeline.event_index
        if shown is not None and (shown >= growth.first_new or shown in growth.changed):
            desk.inspecting.show()

    def cursor_moved(self) -> None:
        """The person moved: following ends when they leave the end."""
        if self.following and self._desk.timeline.cursor < self._desk.timeline.row_count() - 1:
            self.following = False
            self._desk.telling.where()

    def toggle_follow(self) -> None:
        """Stay at the end while the log grows, or stop that."""
        self.following = not self.following
        if self.following:
            self._desk.timeline.action_go_bottom()
        self._desk.telling.where()
        self._desk.say("Following the end of the log." if self.following else "Not following any more.")


def _nothing(value: object) -> None:
    del value


def _progress(report: Report) -> str:
    """Sessions, bytes, rate and time left, shortly."""
    done, total = report.bytes_done or 0, report.bytes_total or 0
    share = f"{done / total:.0%}" if total else "…"
    parts = [share]
    if report.logs_total:
        parts.append(f"{report.logs_done or 0}/{report.logs_total} logs")
    rate = report.bytes_per_second or 0
    if rate:
        parts.append(f"{numbers.size(rate)}/s")
        if total > done:
            parts.append(f"{numbers.duration((total - done) / rate)} left")
    return " ".join(parts)

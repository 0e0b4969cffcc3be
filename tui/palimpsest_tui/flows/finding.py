"""Searching: typing searches, hits take the place of the sessions, `n` and `N` go from match to match and on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cache, partial
from typing import TYPE_CHECKING

from textual.timer import Timer

from palimpsest_core import ErrorCode, SessionQueryError, printable_line
from palimpsest_tui.flows.scopes import Scopes
from palimpsest_tui.flows.tallying import bar_facts
from palimpsest_tui.jobs.asking import sentence
from palimpsest_tui.jobs.searching import Ask, matches_in, matches_without_header, scan_logs, search_index
from palimpsest_tui.jobs.seeking import Seeker
from palimpsest_tui.searching.resolve import Resolved, Scope, resolve
from palimpsest_tui.searching.vocabulary import vocabulary
from palimpsest_tui.searching.words import SearchText, read_words, with_word
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.cells import Matcher
from palimpsest_tui.widgets.session_list import Found

if TYPE_CHECKING:
    from palimpsest_core import OpenLog
    from palimpsest_core.model.search import SessionHit
    from palimpsest_core.model.session import SessionSummary
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.jobs.searching import Hits

_DEBOUNCE_S = 0.05
_HISTORY = 100
_NOTHING = SearchText("", False, ())


class Finding:
    """Keeps what is searched for and what was found."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.search = _NOTHING
        self.resolved = Resolved(None, [], {})
        self.matcher = Matcher("")
        self.scopes = Scopes(desk)
        self.seeker = Seeker(desk.engine)
        self.hits: Hits | None = None
        self._ask: Ask | None = None
        self._timer: Timer | None = None
        self.matches: tuple[OpenLog, list[int]] | None = None
        """The open log and the numbers of its events that match, ascending; None before they are found."""
        self._match_indexes: frozenset[int] = frozenset()
        self._go_on: int = 0
        self._past_at = -1
        self._searching = False
        self._again = False
        self._early = False
        self._grew = False
        self.not_held: OpenLog | None = None
        """The open log where the index does not hold it."""
        self._left_text = ""
        self._tell_scope = False
        self.counts: dict[Scope, int] = {}
        """How many events match in each scope, as far as one answer tells."""

    @property
    def has_phrase(self) -> bool:
        """Whether hits are shown in place of the sessions."""
        return bool(self.search.phrase)

    def has_found(self, phrase: str) -> bool:
        """Whether the whole answer to a phrase is shown."""
        return not self._searching and self._ask is not None and self._ask.phrase == phrase and self.hits is not None

    # Typing ------------------------------------------------------------------------------------------------------

    def changed(self, text: str) -> None:
        """The text of the search bar changed."""
        search = read_words(text)
        self.search = search
        self.resolved = resolve(search, self._desk.listing.sessions, numbers.now_ms())
        if self.resolved.tool and not search.phrase:
            self.search = search._replace(phrase=self.resolved.tool)  # the tool's own name is what is looked for
        self._desk.search_bar.show_chips(search, self.resolved.problems)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._desk.screen.set_timer(_DEBOUNCE_S, self._run)

    def sessions_changed(self) -> None:
        """The sessions were listed again: filter words may match others now, and completion knows new values."""
        self._desk.search_bar.input.values = cache(partial(vocabulary, self._desk.listing.sessions))
        if self.search.chips:
            self.resolved = resolve(self.search, self._desk.listing.sessions, numbers.now_ms())
            self._desk.search_bar.show_chips(self.search, self.resolved.problems)
        if self._searching or self.hits is not None:
            self._show_hits(keep=True)
        self.facts()

    def index_grew(self) -> None:
        """The index has new sessions or events: ask again; what is shown stays until the whole answer is there.

        A scan of all logs is repeated only when it came too early, and only once the index is complete.
        """
        if not self.has_phrase or self._timer is not None:
            return
        if self.search.literal and not (self._early and self._desk.living.indexed() is None):
            return
        if self._desk.jobs.running("search"):
            self._grew = True
        else:
            self._run()

    def rerun(self) -> None:
        """Ask the same again, such as in another scope."""
        self._run()

    def _run(self) -> None:
        self._timer = None
        desk = self._desk
        if self.search.export_to is not None:
            self.facts()
            return
        if not self.search.phrase:
            desk.jobs.take_back("search")
            self._searching = False
            self.hits = None
            self._ask = None
            self.matcher = Matcher("")
            self._forget_matches()
            desk.listing.show()
            self.facts()
            desk.telling.status()
            return
        wanted = self.scopes.sessions(self.resolved.sessions(desk.listing.sessions))
        restricted = self.resolved.test is not None or self.scopes.scope is not Scope.ALL
        ids = [session.id for session in wanted] if restricted else None
        phrase = self.search.phrase
        ask = Ask(
            phrase, self.search.literal, ids, [*self.resolved.event_filters, *self.scopes.events()], self.resolved.tools
        )
        if ask != self._ask:
            self._forget_matches()
        self._again = ask == self._ask and self.hits is not None and self.hits.done
        self._early = desk.living.indexed() is not None
        self._grew = False
        self._ask = ask
        self.matcher = Matcher(phrase, literal=ask.literal)
        self._searching = True
        if ask.literal:
            scan = partial(scan_logs, self.seeker, ask, desk.listing.by_id, len(wanted))
            desk.jobs.ask_parts("search", scan, self._found, self._found, self._not_found)
        else:
            skipped = sum(session.header is None for session in wanted)
            work = partial(search_index, self.seeker, ask, len(wanted) - skipped, skipped)
            desk.jobs.ask_parts("search", work, self._found, self._found, self._not_found)
        self.facts()

    def _found(self, hits: Hits) -> None:
        if self._again and not hits.done:
            return  # what is shown already is more than a part of the same again
        first = not self._again and (self.hits is None or self.hits.done)
        self.hits = hits
        if hits.done:
            self._searching = False
            self._count()
            if self._tell_scope:
                self._tell_scope = False
                self._desk.say(f"Scope: {self.scopes.scope.value}. {self._told_hits(hits)}.")
        if self.scopes.scope not in (Scope.EVENT, Scope.SESSION):
            self._desk.panes.reveal_hits()
        self._show_hits(keep=not first)
        self.facts()
        if hits.done and self._go_on:
            self._next_session(self._go_on)
        if hits.done:
            self.log_opened()
            if self._grew:
                self._run()

    def _count(self) -> None:
        """Count what lies in the narrower scopes: they are those of the session that is open now."""
        whole = self.hits is not None and self.hits.done and not self.hits.more
        self.counts = self.scopes.counted(self.hits) if self.hits is not None and whole else {}

    @staticmethod
    def _told_hits(hits: Hits) -> str:
        more = "at least " if hits.more else ""
        matches = sum(hit.matches or 1 for hit in hits.hits)
        return f"{more}{numbers.plural(matches, 'hit')} in {numbers.plural(len(hits.hits), 'session')}"

    def _show_hits(self, *, keep: bool) -> None:
        if self.hits is None or not self.has_phrase:
            return
        found = [self._with_session(hit) for hit in self.hits.hits]
        if not found:
            self._desk.session_list.set_empty(*self._nothing_found())
        self._desk.session_list.show_hits(found, self.matcher, keep=keep)
        self._desk.screen.show_keys()
        self._desk.telling.status()
        more = "+" if self.hits.more else ""
        self._desk.panes.title("sessions", f"1 Hits  {numbers.plural(len(found), 'session')}{more}")

    def _with_session(self, hit: SessionHit) -> Found:
        return Found(hit, self._desk.listing.by_id.get(hit.header.id), len(hit.shared_with or ()))

    def tell_carriers(self, hit: SessionHit) -> None:
        """Name the forks whose inherited part holds a hit too; it is listed once, where it was born."""
        if hit.shared_with:
            # By their ids: a fork mostly has its parent's title too.
            self._desk.say(f"Forks carry this event too: {', '.join(hit.shared_with)}")

    def _nothing_found(self) -> list[str]:
        if self._searching and not self._again:
            return ["Searching…"]
        indexed = self._desk.living.indexed()
        if indexed is None:
            lines = [f"Nothing found in {self.scopes.scope.value}."]
        else:
            done, total = map(numbers.exact, indexed)
            lines = [f"Nothing found yet: {done} of {total} logs are indexed; the search goes on as they come."]
        if self.scopes.scope is not Scope.ALL:
            lines.append("ctrl+t in the search bar searches a wider scope.")
        if self._desk.opening.log is not None and self._desk.opening.log.header is None:
            lines.append("The open file is no session, so it is not listed here; n goes through its matches.")
        if self.search.chips:
            lines.append("The filter words narrow the search; ctrl+l clears everything.")
        lines.append("esc: back to the sessions.")
        if not self.search.literal:
            lines.append(f"={printable_line(self.search.phrase)} scans the logs for these very characters.")
        return lines

    def _not_found(self, error: Exception) -> None:
        self._searching = False
        if isinstance(error, SessionQueryError) and error.code is ErrorCode.STALE_CURSOR:
            self._run()
            return
        self._desk.say(f"Search: {sentence(error)}", bad=True)
        self.facts()

    def facts(self) -> None:
        """Say in the bar where was searched, by what, and where `n` stands."""
        self._desk.search_bar.show_facts(bar_facts(self._desk, self))

    # Matches of the open log -------------------------------------------------------------------------------------

    def log_opened(self) -> None:
        """A log is open, or the search changed: find its matching events."""
        self._count()
        log = self._desk.opening.log
        if log is None or self._ask is None or (self.matches is not None and self.matches[0] is log):
            return
        if log.header is not None:
            work = partial(matches_in, self.seeker, log.session_id, self._ask)
        elif log.complete:
            work = partial(matches_without_header, log, self._ask, self._desk.engine.config.tokenizer)
        else:
            return  # once it is read
        self._desk.jobs.ask("matches", work, partial(self._matched, log), self._not_matched)

    def _not_matched(self, error: Exception) -> None:
        if isinstance(error, SessionQueryError) and error.code is ErrorCode.SESSION_NOT_FOUND:
            self.not_held = self._desk.opening.log  # no fault: it is asked again when the index has more
            self.facts()
            return
        self._desk.say(f"Search in this session: {sentence(error)}", bad=True)

    def _matched(self, log: OpenLog, seqs: list[int]) -> None:
        if log is not self._desk.opening.log:
            return
        self.matches = (log, seqs)
        self.not_held = None
        self._match_indexes = frozenset(index for seq in seqs if (index := log.index_of_seq(seq)) is not None)
        self._desk.marking.show()
        self._desk.inspecting.show()
        self.facts()
        if self._go_on and seqs:
            self._desk.opening.go_seq(seqs[0] if self._go_on > 0 else seqs[-1])
        self._go_on = 0

    def matches_in(self, log: OpenLog) -> frozenset[int]:
        """The indexes of the events of a log that match."""
        return self._match_indexes if self.matches is not None and self.matches[0] is log else frozenset()

    def _forget_matches(self) -> None:
        self._desk.jobs.take_back("matches")
        self.matches = None
        self._match_indexes = frozenset()
        self._desk.marking.show()

    def log_changed(self) -> None:
        """The open log grew or was read anew: its matches are found again once the index has it."""
        self.matches = None
        self.log_opened()

    def go_hit(self, step: int) -> None:
        """The next or previous match, on into the next session after the last one."""
        log = self._desk.opening.log
        if not self.has_phrase:
            self._desk.say("Nothing is searched for: / starts a search.")
            return
        if self.scopes.scope is Scope.EVENT and self.hits is not None and self.hits.hits:
            if not self._desk.inspector.go_match(step):
                self._desk.say("There is no further match in this event; / then ctrl+t searches the session.")
            return
        if log is not None and self.matches is not None and self.matches[0] is log and self.matches[1]:
            seqs = self.matches[1]
            index = self._desk.timeline.event_index
            here = log.number_at(index) if index is not None and index < len(log) else -1
            place = bisect_right(seqs, here) if step > 0 else bisect_left(seqs, here) - 1
            if 0 <= place < len(seqs):
                self._desk.panes.enter("timeline")
                self._desk.opening.go_seq(seqs[place], remember=True)
                self.facts()
                return
        self._next_session(step)

    def _next_session(self, step: int) -> None:
        """Open the next session that has hits, at its first match (at its last one when going back)."""
        self._go_on = 0
        hits = self.hits.hits if self.hits is not None else []
        if not hits:
            self._desk.say("Nothing was found.")
            return
        log = self._desk.opening.log
        ids = [hit.header.id for hit in hits]
        at = ids.index(log.session_id) if log is not None and log.session_id in ids else -1 if step > 0 else len(ids)
        if not 0 <= at + step < len(ids):
            self._desk.say(f"That was the {'last' if step > 0 else 'first'} hit.")
            return
        hit = hits[at + step]
        self._go_on = step
        self._desk.opening.open(hit.header.id, None)
        self._desk.session_list.go(at + step, tell=False)

    # The keys of the bar -----------------------------------------------------------------------------------------

    def asked(self, what: str) -> None:
        """A key of the search bar."""
        if what == "open":
            self._open_first()
        elif what == "leave":
            self._desk.panes.enter(self._desk.panes.level)
        elif what == "older":
            self._past(1)
        elif what == "newer":
            if self.has_phrase and self.hits is not None and self.hits.hits:
                self._desk.panes.enter("sessions")
            else:
                self._past(-1)
        elif what == "widen":
            self.scopes.widen()
            self._desk.say(f"Scope: {self.scopes.scope.value}.")
            self._tell_scope = self.has_phrase
            self.rerun()

    def _open_first(self) -> None:
        desk = self._desk
        self._remember()
        if self.search.export_to is not None:
            target = self.search.export_to
            desk.search_bar.set_text("")
            desk.exporting.command(target)
            return
        if self.has_phrase:
            if self.hits is not None and self.hits.hits:
                hit = self.hits.hits[min(desk.session_list.cursor, len(self.hits.hits) - 1)]
                desk.opening.open(hit.header.id, hit.best_match.seq)
                self.tell_carriers(hit)
            else:
                desk.panes.enter("sessions")
        else:
            desk.panes.enter("sessions")

    def _remember(self) -> None:
        text = self._desk.search_bar.text.strip()
        searches = self._desk.state.searches
        if text and (not searches or searches[0] != text):
            self._desk.state.searches = [text, *(old for old in searches if old != text)][:_HISTORY]
        self._past_at = -1

    def _past(self, step: int) -> None:
        searches = self._desk.state.searches
        at = self._past_at + step
        if at < -1 or at >= len(searches):
            return
        self._past_at = at
        self._desk.search_bar.set_text("" if at < 0 else searches[at])

    def focus(self) -> None:
        """Start typing: what is there is selected, so that other words replace it and cursor keys keep it for editing.

        A search that `esc` left comes back like this too.
        The process that searches starts while the first word is typed.
        """
        self._desk.jobs.ask("warm", self.seeker.warm, _nothing)
        if self._left_text and not self._desk.search_bar.text:
            self._desk.search_bar.set_text(self._left_text)
        self._left_text = ""
        self._desk.search_bar.type_anew()

    def leave_hits(self) -> bool:
        """From the hits back to the list of sessions, the cursor on the hit's session. False when none are shown."""
        if not self.has_phrase or not self._desk.search_bar.text:
            return False
        self._remember()
        self._left_text = self._desk.search_bar.text
        self._desk.listing.come_back()
        self._desk.search_bar.set_text("")
        return True

    def add_word(self, kind: str, value: str, *, negated: bool = False) -> None:
        """Put a filter word into the bar."""
        self._desk.search_bar.set_text(with_word(self._desk.search_bar.text, kind, value, negated=negated))

    def known(self, session_id: str) -> SessionSummary | None:
        """What the list knows of a session."""
        return self._desk.listing.by_id.get(session_id)


def _nothing(value: None) -> None:
    del value

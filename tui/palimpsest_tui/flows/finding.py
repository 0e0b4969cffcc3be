"""Searching: typing searches, hits take the place of the sessions, the matches of the open log are found."""

from __future__ import annotations

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
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.jobs.searching import Hits

_DEBOUNCE_S = 0.05
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
        self._read = ""
        self._answered = False
        self._narrowing = False
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

    @property
    def in_event(self) -> bool:
        """Whether only the event under the cursor is searched."""
        return self.scopes.scope is Scope.EVENT

    def has_found(self, phrase: str) -> bool:
        """Whether the whole answer to a phrase is shown."""
        return not self._searching and self._ask is not None and self._ask.phrase == phrase and self.hits is not None

    # Typing ------------------------------------------------------------------------------------------------------

    @property
    def awaited(self) -> bool:
        """Whether the rows of the text now in the bar are still to come: those that are shown are of an earlier one."""
        if self._timer is not None or self._read != self._desk.search_bar.text:
            return True
        if self.has_phrase:
            return not self._answered
        return self._narrowing and self._desk.jobs.running("arrange")

    def changed(self) -> bool:
        """Read the text of the search bar. False when it is known: a key behind its last letter asked for it before."""
        text = self._desk.search_bar.text
        if text == self._read:
            return False
        self._read = text
        self._desk.going.drop()
        search = read_words(text)
        self.search = search
        self.resolved = resolve(search, self._desk.listing.sessions, numbers.now_ms())
        if self.resolved.tool and not search.phrase:
            self.search = search._replace(phrase=self.resolved.tool)  # the tool's own name is what is looked for
        self._desk.search_bar.show_chips(search, self.resolved.problems)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._desk.screen.set_timer(_DEBOUNCE_S, self._run)
        return True

    def hurry(self) -> None:
        """Search for the text in the bar now, however short ago it was typed; a search that failed is tried again."""
        self.changed()
        if self._timer is not None:
            self._timer.stop()
            self._run()
        elif self.has_phrase and not self._answered and not self._searching:
            self._run()

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

    def widen(self) -> None:
        """Ask the same in the next wider scope."""
        self.scopes.widen()
        self._desk.say(f"Scope: {self.scopes.scope.value}.")
        self._tell_scope = self.has_phrase
        self.rerun()

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
            self._answered = False
            self._narrowing = True
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
        self._narrowing = False
        if ask != self._ask:
            self._answered = False
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
        first = not self._answered
        self.hits = hits
        self._answered = self._answered or hits.done or bool(hits.hits)
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
        if self._answered and not self._desk.jobs.running("matches"):
            self.log_opened()
        if hits.done and self._grew:
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
            self._desk.session_list.set_empty(*self.nothing_found())
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

    def nothing_found(self) -> list[str]:
        """Why no hits are shown; the first line says it in short."""
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
        self._desk.going.drop()
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
        self._desk.going.matched(seqs)

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
        self._desk.going.remember()
        self._left_text = self._desk.search_bar.text
        self._desk.listing.come_back()
        self._desk.search_bar.set_text("")
        return True

    def add_word(self, kind: str, value: str, *, negated: bool = False) -> None:
        """Put a filter word into the bar."""
        self._desk.search_bar.set_text(with_word(self._desk.search_bar.text, kind, value, negated=negated))


def _nothing(value: None) -> None:
    del value

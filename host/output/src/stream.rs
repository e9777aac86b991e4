//! [`Stream`]: text shown as it arrives, with the same masks for every way of cutting it into chunks.
//!
//! Nothing is shown that the redactors have not released. What they still need is kept, at most 64 KiB; what they
//! released is remembered with its spans until it is shown, because they will not see it again with what came before.

use std::sync::Arc;

use hermes_model::context::Context;
use hermes_model::report::{PolicyReport, Withheld};

use crate::cut;
use crate::exact::ExactValues;
use crate::mask::{self, Region};
use crate::normalise::{Mode, Normalised, Normaliser};
use crate::policy::{Policy, Span, Window};
use crate::reveal::scan::{Eyes, Found, Place};
use crate::reveal::{clip, notice};
use crate::visible::{self, Visible};

#[cfg(test)]
mod tests;

/// The most new text a redactor is handed at once, in bytes (design: 64 KiB).
pub const FRESH_MAX: usize = 64 * 1024;
/// The most text kept for the next window, in bytes (design: 64 KiB).
pub const KEPT_MAX: usize = 64 * 1024;
/// The rule of the mask that stands for text no redactor would release, beyond the [`KEPT_MAX`] that can wait.
pub const RULE_UNFINISHED: &str = "unfinished";

/// What one call shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Text to be shown after that of the step before.
    pub text: Visible,
    /// Why something was not shown, if a redactor had no answer. The text says so once for failures in a row.
    pub withheld: Option<Withheld>,
}

/// Captured text on its way to someone who watches.
///
/// It is held here as it came, so this type has no `Debug`.
pub struct Stream {
    context: Context,
    exact: Arc<ExactValues>,
    normaliser: Normaliser,
    /// Text that is needed or not shown yet, and the overwritten lines nobody looked at yet.
    window: Normalised,
    /// Text before this has been shown, or masked.
    shown: usize,
    /// Text before this has been in a window.
    seen: usize,
    front_cut: bool,
    /// Places that are known to be secret and not wholly behind us.
    places: Vec<Place>,
    /// The rule of the mask that ends exactly at `shown`, if one does: what goes on with it needs no other mask.
    open_mask: Option<String>,
    after_failure: AfterFailure,
    /// Whether what was shown last ended a line.
    at_line_start: bool,
    report: PolicyReport,
}

/// What is left of a failure.
#[derive(Default)]
struct AfterFailure {
    /// Whether the last window had no answer.
    failing: bool,
    /// How much of the rest of a line was skipped, while it is: nobody can tell what it is the rest of.
    skipped: Option<usize>,
    /// The end of what was withheld, for values of which only the end comes after it. Never shown.
    ghost: String,
}

impl Stream {
    /// A stream at its beginning.
    pub fn new(context: Context, exact: Arc<ExactValues>) -> Self {
        Self {
            context,
            exact,
            normaliser: Normaliser::new(Mode::Stream),
            window: Normalised::default(),
            shown: 0,
            seen: 0,
            front_cut: false,
            places: Vec::new(),
            open_mask: None,
            after_failure: AfterFailure::default(),
            at_line_start: true,
            report: PolicyReport::default(),
        }
    }

    /// Takes what arrived and returns what may be shown now.
    pub fn push(&mut self, policy: &dyn Policy, bytes: &[u8]) -> Step {
        let mut out = Out::default();
        for piece in bytes.chunks(FRESH_MAX) {
            self.normaliser.push(piece, &mut self.window);
            self.advance(policy, false, &mut out);
        }
        self.step(policy, out)
    }

    /// Says that nothing follows, and returns the rest.
    pub fn finish(&mut self, policy: &dyn Policy) -> Step {
        let mut out = Out::default();
        self.normaliser.finish(&mut self.window);
        self.advance(policy, true, &mut out);
        self.step(policy, out)
    }

    /// Says that `bytes` that arrived are not handed on, because nobody could keep up: a line stands for them and for what
    /// was held back, and the text goes on with the next whole line. Half a token is nothing anybody could recognise.
    pub fn skip(&mut self, policy: &dyn Policy, bytes: u64) -> Step {
        let mut out = Out::default();
        let held = (self.window.text.len() - self.shown) as u64;
        if !self.at_line_start {
            out.text.push('\n');
        }
        out.text.push_str(&cut::skipped_line(bytes.saturating_add(held)));
        self.at_line_start = true;
        self.normaliser = Normaliser::new(Mode::Stream);
        self.withhold(self.window.text.len());
        self.after_failure.skipped = Some(0);
        self.step(policy, out)
    }

    /// What the policy did so far. `withheld` is the last failure there was.
    pub fn report(&self) -> PolicyReport {
        self.report.clone()
    }

    fn step(&mut self, policy: &dyn Policy, out: Out) -> Step {
        self.report.generation = policy.generation();
        self.report.warnings = policy.warnings();
        if out.withheld.is_some() {
            self.report.withheld.clone_from(&out.withheld);
        }
        Step { text: visible::seal(out.text), withheld: out.withheld }
    }

    /// Has every new byte looked at, and shows what may be shown.
    fn advance(&mut self, policy: &dyn Policy, last: bool, out: &mut Out) {
        let exact = Arc::clone(&self.exact);
        if let Err(withheld) = self.look_at_frames(policy) {
            self.fail(self.window.text.len(), withheld, out);
        }
        loop {
            if self.after_failure.skipped.is_some() {
                self.skip_line();
            }
            let len = self.window.text.len();
            if self.seen == len && !(last && self.shown < len) {
                return;
            }
            let end = self.window.text.floor_char_boundary(self.seen + FRESH_MAX);
            let last = last && end == len;
            let text = &self.window.text[..end];
            let window = Window { text, fresh_from: self.seen, front_cut: self.front_cut, last };
            match (Eyes { policy, context: &self.context, exact: &exact }).ask(&window) {
                Ok(found) => self.show(end, found, last, out),
                Err(withheld) => self.fail(end, withheld, out),
            }
        }
    }

    /// Looks at the lines that were overwritten, each for itself: what comes together depends on the chunks.
    fn look_at_frames(&mut self, policy: &dyn Policy) -> Result<(), Withheld> {
        let eyes = Eyes { policy, context: &self.context, exact: &self.exact };
        for frames in self.window.frames.drain(..) {
            self.places.extend(eyes.look_at_frames(std::slice::from_ref(&frames), true)?.places);
        }
        Ok(())
    }

    /// Shows what may be shown of the window that ends at `end`, and keeps what is needed.
    fn show(&mut self, end: usize, found: Found, last: bool, out: &mut Out) {
        let Found { spans, show_until, need_from } = found;
        let (known, open_from) = self.known(end, last);
        let regions = self.regions(end, spans, show_until, known);
        let border = show_until.min(open_from).max(self.shown);

        let held = if last { None } else { self.unfinished_region(&regions, border) };
        let until = held.filter(|from| end - from <= KEPT_MAX).unwrap_or(border);
        self.emit(until, &regions, out);
        if !last && end - self.shown > KEPT_MAX {
            // Nobody released it, and it cannot wait any longer.
            let until = self.window.text.ceil_char_boundary(end - KEPT_MAX);
            let rule = RULE_UNFINISHED.to_owned();
            self.emit(until, &[Region { start: self.shown, end: until, rule }], out);
        }
        self.remember(end, &regions);
        self.seen = end;
        self.after_failure.failing = false;
        self.keep(end, need_from.min(self.shown), need_from);
    }

    /// The values the host knows, and where one may be beginning.
    fn known(&self, end: usize, last: bool) -> (Vec<Span>, usize) {
        if self.exact.is_empty() {
            return (Vec::new(), end);
        }
        let text = &self.window.text[..end];
        let ghost = &self.after_failure.ghost;
        let (mut spans, open_from) = if ghost.is_empty() {
            (self.exact.find(text), self.exact.open_from(text))
        } else {
            let joined = [ghost, text].concat();
            (self.exact.find(&joined), self.exact.open_from(&joined))
        };
        spans.retain(|span| span.end > ghost.len());
        for span in &mut spans {
            span.start = span.start.saturating_sub(ghost.len());
            span.end -= ghost.len();
        }
        let open_from = text.floor_char_boundary(open_from.saturating_sub(ghost.len()));
        (spans, if last { end } else { open_from })
    }

    /// All that is certain about the window: spans of redactors as far as they released the text, known values, and what
    /// was found before.
    fn regions(&self, end: usize, spans: Vec<Span>, show_until: usize, known: Vec<Span>) -> Vec<Region> {
        let text = &self.window.text[..end];
        let mut regions = mask::unite(text, spans);
        clip(&mut regions, show_until);
        if known.is_empty() && self.places.is_empty() {
            return regions;
        }
        let mut spans = known;
        spans.extend(regions.into_iter().map(|r| Span { start: r.start, end: r.end, rule: r.rule }));
        spans.extend(self.places.iter().filter_map(|place| place.span(self.window.from, end)));
        mask::unite(text, spans)
    }

    /// Where a region begins that reaches the border and may go on beyond it: its mask waits until it is known whole, so
    /// that it is one mask with one name. A mask already begun does not wait.
    fn unfinished_region(&self, regions: &[Region], border: usize) -> Option<usize> {
        let region = regions.iter().find(|region| region.start < border && border <= region.end)?;
        let start = region.start.max(self.shown);
        (start > self.shown || !self.goes_on(region)).then_some(start)
    }

    /// Whether a region that begins at or before what was shown is the rest of the mask shown last.
    fn goes_on(&self, region: &Region) -> bool {
        self.open_mask.as_ref().is_some_and(|rule| region.start < self.shown || *rule == region.rule)
    }

    /// Shows text up to `until`, with its masks.
    fn emit(&mut self, until: usize, regions: &[Region], out: &mut Out) {
        for region in regions {
            if region.start >= until {
                break;
            }
            if region.end <= self.shown {
                continue;
            }
            self.emit_plain(region.start, out);
            if !self.goes_on(region) {
                mask::push_mask(&mut out.text, &region.rule);
                mask::count(&mut self.report.redactions, &region.rule);
                self.open_mask = Some(region.rule.clone());
            }
            let stop = region.end.min(until);
            mask::push_newlines(&mut out.text, &self.window.text[self.shown..stop]);
            self.shown = stop;
        }
        self.emit_plain(until, out);
        if let Some(byte) = out.text.as_bytes().last() {
            self.at_line_start = *byte == b'\n';
        }
    }

    fn emit_plain(&mut self, until: usize, out: &mut Out) {
        if until > self.shown {
            out.text.push_str(&self.window.text[self.shown..until]);
            self.shown = until;
            self.open_mask = None;
        }
    }

    /// Remembers what is not wholly shown yet.
    fn remember(&mut self, end: usize, regions: &[Region]) {
        let from = self.window.from;
        self.places.retain(|place| place.at.end > from + end as u64);
        let pending = regions.iter().filter(|region| region.end > self.shown);
        self.places.extend(pending.map(|region| Place {
            at: from + region.start as u64..from + region.end as u64,
            rule: region.rule.clone(),
        }));
    }

    /// Lets go of text before `from`, or of more if that is too much to keep.
    fn keep(&mut self, end: usize, from: usize, need_from: usize) {
        let from = from.max(self.window.text.ceil_char_boundary(end.saturating_sub(KEPT_MAX)));
        self.front_cut = from > need_from || self.front_cut && from == 0;
        if from > 0 {
            self.after_failure.ghost.clear();
        }
        self.forget(from);
    }

    fn forget(&mut self, from: usize) {
        self.window.text.drain(..from);
        self.window.from += from as u64;
        self.shown = self.shown.saturating_sub(from);
        self.seen = self.seen.saturating_sub(from);
    }

    /// Withholds the window that ends at `end`, for good, and begins again after it.
    fn fail(&mut self, end: usize, withheld: Withheld, out: &mut Out) {
        if !self.after_failure.failing {
            if !self.at_line_start {
                out.text.push('\n');
            }
            out.text.push_str(&notice(&withheld));
            out.text.push('\n');
            self.at_line_start = true;
        }
        out.withheld = Some(withheld);
        let whole_lines = end == 0 || self.window.text.as_bytes()[end - 1] == b'\n';
        self.after_failure.failing = true;
        self.after_failure.skipped = if whole_lines { None } else { Some(0) };
        self.withhold(end);
    }

    /// Goes on leaving out the line of which the beginning was withheld. One that does not end within [`KEPT_MAX`] is
    /// left at a space.
    fn skip_line(&mut self) {
        let bytes = self.window.text.as_bytes();
        let skipped = self.after_failure.skipped.unwrap_or_default();
        let long = skipped.saturating_add(bytes.len()) > KEPT_MAX;
        let end = memchr::memchr(b'\n', bytes).or_else(|| {
            let from = KEPT_MAX.saturating_sub(skipped).min(bytes.len());
            if long { memchr::memchr2(b' ', b'\t', &bytes[from..]).map(|at| from + at) } else { None }
        });
        self.after_failure.skipped = if end.is_some() { None } else { Some(skipped.saturating_add(bytes.len())) };
        self.withhold(end.map_or(bytes.len(), |end| end + 1));
    }

    /// Drops text that is never shown, but for what the values the host knows need.
    fn withhold(&mut self, end: usize) {
        let ghost = &mut self.after_failure.ghost;
        ghost.push_str(&self.window.text[..end]);
        let start = ghost.ceil_char_boundary(ghost.len().saturating_sub(self.exact.longest()));
        ghost.drain(..start);
        let dropped = self.window.from + end as u64;
        self.places.retain(|place| place.at.end > dropped);
        self.forget(end);
        self.shown = 0;
        self.seen = 0;
        self.front_cut = true;
        self.open_mask = None;
    }
}

/// What a call shows so far.
#[derive(Default)]
struct Out {
    text: String,
    withheld: Option<Withheld>,
}

//! Output shown as it arrives: chunks of a command go through a stream of the policy into a sink.

use std::io;

use hermes_model::report::{PolicyReport, Withheld};
use hermes_output::stream::Step;
use hermes_output::visible::Visible;
use hermes_process::running::tap::Chunk;
use tokio::sync::mpsc;

use crate::view::Desk;

/// How much that has arrived is looked at in one call of the redactors (64 KiB: the largest window of a stream).
const WINDOW: usize = 64 * 1024;

/// How following an output ended.
pub(crate) struct Followed {
    /// Why nothing more was shown from some point on.
    pub(crate) withheld: Option<Withheld>,
    /// What the policy did.
    pub(crate) report: PolicyReport,
    /// Whether what was shown last ended a line.
    pub(crate) at_line_start: bool,
    /// Whether everything arrived.
    end: io::Result<()>,
}

impl Followed {
    /// The end of a reader that broke down.
    pub(crate) fn broken() -> Self {
        Self {
            withheld: None,
            report: PolicyReport::default(),
            at_line_start: true,
            end: Err(io::Error::other("the reader of the output broke down")),
        }
    }

    /// Whether it ended before its time.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.end.is_err()
    }

    /// Why it ended before its time, unless whoever read it just went away.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.end.as_ref().err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
    }
}

/// Shows chunks until there are no more, or the sink takes no more. Blocks.
pub(crate) fn follow(
    desk: &Desk,
    mut chunks: mpsc::Receiver<Chunk>,
    mut sink: impl FnMut(&Visible) -> io::Result<()>,
) -> Followed {
    let next = || {
        let mut chunk = bytes_of(chunks.blocking_recv()?);
        // Many small writes of the command are one window.
        while chunk.len() < WINDOW {
            let Ok(more) = chunks.try_recv() else { break };
            chunk.extend(bytes_of(more));
        }
        Some(Ok(chunk))
    };
    let shown = show(desk, std::iter::from_fn(next), &mut sink);
    // The command waits for whoever reads: nobody does any more.
    drop(chunks);
    shown
}

/// A steady reader is never told of a gap.
fn bytes_of(chunk: Chunk) -> Vec<u8> {
    match chunk {
        Chunk::Bytes(bytes) => bytes,
        Chunk::Skipped(_) => Vec::new(),
    }
}

/// Shows bytes as they come, each part as soon as it is decided. An error of their source ends it like the sink's own.
pub(crate) fn show(
    desk: &Desk,
    parts: impl IntoIterator<Item = io::Result<Vec<u8>>>,
    sink: &mut impl FnMut(&Visible) -> io::Result<()>,
) -> Followed {
    let mut stream = desk.stream();
    let (mut withheld, mut at_line_start) = (None, true);
    let mut shown = |step: Step| {
        withheld = withheld.take().or(step.withheld);
        if let Some(last) = step.text.as_str().chars().next_back() {
            at_line_start = last == '\n';
        }
        sink(&step.text)
    };
    let end = parts
        .into_iter()
        .try_for_each(|part| part.and_then(|bytes| shown(stream.push(desk.policy(), &bytes))))
        .and_then(|()| shown(stream.finish(desk.policy())));
    Followed { withheld, report: stream.report(), at_line_start, end }
}

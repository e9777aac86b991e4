//! What stops a task. Each message names the command or file and the way on.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a task did not end well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    /// A program is not there and cannot be installed from here.
    #[error("'{program}' is not installed: {remedy}")]
    NoProgram {
        /// The program.
        program: String,
        /// How to get it.
        remedy: String,
    },
    /// A program could not be started.
    #[error("cannot start '{program}'")]
    Start {
        /// The program.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A command ended badly. What it said stands above.
    #[error("`{command}` ended with {status}; what it said stands above")]
    Command {
        /// The command line.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// A program answered something that cannot be understood.
    #[error("`{command}` gave an answer that cannot be read: {reason}")]
    Answer {
        /// The command line.
        command: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file or folder refused.
    #[error("cannot {doing} '{path}'")]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The book and its folder disagree.
    #[error("the book is not whole: {0}")]
    Book(String),
    /// Plugins were not kept.
    #[error("'{archive}' is not written: {reason}", archive = archive.display())]
    Frozen {
        /// The archive.
        archive: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The demonstration showed something else than it must.
    #[error("the demo failed: {0}")]
    Demo(String),
}

impl TaskError {
    /// For `map_err` after a file operation.
    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { doing, path, source }
    }
}

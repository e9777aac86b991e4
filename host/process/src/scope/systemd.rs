//! The seam to systemd's programs: [`Systemd`], and what really runs them.
//!
//! What they print may hold a command line, so nothing here shows it: it is only searched.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use hermes_model::status::Status;

use crate::environment::Environment;
use crate::host::Host;
use crate::spawn::spawn;
use crate::spec::{CommandSpec, Program};

/// How much of an answer is kept beside its beginning: messages are a line or two.
const ANSWER_BYTES: usize = 4096;

/// One call of a program of systemd.
#[derive(Clone)]
pub struct Call {
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment.
    pub environment: Environment,
    /// How long it may take. Then it is killed.
    pub limit: Duration,
}

/// What came of a call.
#[derive(Clone)]
pub enum Answer {
    /// It ended with this code (128+n for a signal).
    Ended(i32, Printed),
    /// It took too long.
    TimedOut,
    /// It did not run, or nobody saw its end; says why.
    Lost(String),
}

/// What a program printed. Captured text: it can be searched and not shown.
#[derive(Clone, Default)]
pub struct Printed(Vec<u8>);

impl Printed {
    /// What was printed.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Whether it holds this text.
    pub fn says(&self, text: &str) -> bool {
        text.is_empty() || self.0.windows(text.len()).any(|part| part == text.as_bytes())
    }
}

/// Runs the programs of systemd.
pub trait Systemd: Send + Sync {
    /// Runs one to its end, or to the end of its time.
    fn run(&self, call: Call) -> impl Future<Output = Answer> + Send;
}

/// The programs themselves, started and ended like any command of this host.
pub struct Programs {
    host: Host,
}

impl Programs {
    /// Runs them with this host.
    pub fn new(host: Host) -> Self {
        Self { host }
    }
}

impl Systemd for Programs {
    async fn run(&self, call: Call) -> Answer {
        let program = Program::Exec { program: call.program.into(), args: call.args };
        let mut spec = CommandSpec::new(program);
        spec.environment = call.environment;
        spec.timeout = Some(call.limit);
        // Nothing of it is worth waiting for once its time is up.
        spec.term_grace = Duration::ZERO;
        spec.ring_bytes = ANSWER_BYTES;
        let process = match spawn(&self.host, spec).await {
            Ok(process) => process,
            Err(error) => return Answer::Lost(error.to_string()),
        };
        let ended = process.wait().await;
        match (&ended.status, ended.status.exit_code()) {
            (Status::TimedOut, _) => Answer::TimedOut,
            (_, Some(code)) => Answer::Ended(code, Printed::new(ended.output().parts().head)),
            (_, None) => Answer::Lost("nobody saw its end".to_owned()),
        }
    }
}

//! The exit codes of hermes itself. `run` passes on the command's own; these are the rest, after the conventions of
//! `timeout(1)`, `env(1)` and POSIX shells.

/// Done.
pub const OK: i32 = 0;
/// Refused or failed; the message says which and what next. Also: a check found something not well.
pub const FAILED: i32 = 1;
/// Wrong usage.
pub const USAGE: i32 = 2;
/// The command's time ran out.
pub const TIMED_OUT: i32 = 124;
/// hermes itself failed before or while it ran the command.
pub const HERMES_FAILED: i32 = 125;
/// The program was found and could not be started.
pub const NOT_RUNNABLE: i32 = 126;
/// The program was not found.
pub const NOT_FOUND: i32 = 127;
/// Added to a signal's number.
pub const SIGNAL_BASE: i32 = 128;
/// Ended by Ctrl-C (128 + SIGINT).
pub const INTERRUPTED: i32 = 130;

//! The tiny program: the supervisor and nothing else.

use std::os::fd::AsFd;
use std::process::ExitCode;

fn main() -> ExitCode {
    hermes_supervisor::role::run(std::io::stdin().as_fd())
}

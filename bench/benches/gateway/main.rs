//! MCP servers behind hermes: what a call costs more than without, long results, and what idle servers and many sessions
//! take; each beside the same server asked directly.
//!
//! `cargo bench -p hermes-bench --bench gateway -- [--quick] [PART]...`

mod agent;
mod calls;
mod crowd;
mod house;
mod lanes;
mod large;
mod server;

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::process::ExitCode;

use hermes_bench::parts::{self, Size};

/// The first argument by which this program is told to be an MCP server.
const SERVER_ROLE: &str = "__server";
/// The same for the process that ends what a host started, as in a real host.
const SUPERVISOR_ROLE: &CStr = c"__supervisor";

const PARTS: [&str; 4] = ["calls", "large", "idle", "sessions"];

async fn measure(part: String, size: Size) {
    match part.as_str() {
        "calls" => calls::measure(size).await,
        "large" => large::measure(size).await,
        "idle" => crowd::measure_idle(size).await,
        _ => crowd::measure_sessions(size).await,
    }
}

fn main() -> ExitCode {
    match std::env::args().nth(1) {
        Some(role) if role == SERVER_ROLE => {
            server::serve();
            ExitCode::SUCCESS
        }
        Some(role) if role.as_bytes() == SUPERVISOR_ROLE.to_bytes() => {
            hermes_supervisor::role::run(std::io::stdin().as_fd())
        }
        _ => {
            parts::run(&PARTS, measure);
            ExitCode::SUCCESS
        }
    }
}

//! A server of others behind the server of Streamable HTTP, line by line: nothing of the protocol is lost on the way.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use hermes_mcp::http::server::{HttpOptions, HttpServer};
use hermes_mcp::http::streams::Streams;
use tokio::process::Command;
use tokio::task::JoinSet;

/// Where `cargo xtask test` installs the programs of others: a test is `target/PROFILE/deps/NAME-HASH`.
fn installed(path: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(3).unwrap().join("peers").join(path);
    assert!(path.exists(), "{} is not there: run `cargo xtask test`, which installs it", path.display());
    path
}

fn node() -> PathBuf {
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    installed(&format!("node_modules/node-linux-{machine}/bin/node"))
}

#[tokio::test]
async fn every_scenario_of_the_official_suite_passes_through_it() {
    // Scripts find their packages beside themselves.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/fixture.mjs");
    let script = installed("node_modules").with_file_name(format!("fixture-{}.mjs", std::process::id()));
    std::fs::copy(source, &script).unwrap();
    let server = HttpServer::bind(HttpOptions::new("127.0.0.1:0".parse().unwrap(), None)).await.unwrap();
    let url = server.url();
    let file = script.clone();
    let children = Arc::new(Mutex::new(JoinSet::new()));
    let running = Arc::clone(&children);
    let connect = move |_| {
        let mut command = Command::new(node());
        command.arg(&file).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        running.lock().unwrap().spawn(async move { child.wait().await });
        Streams::new(output, input)
    };
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(connect, async { drop(ended.await) }));
    let mut suite = Command::new(node());
    suite.arg(installed("node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    let ran = suite.args(["server", "--suite", "all", "--url", &url]).output().await.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    end.send(()).unwrap();
    serving.await.unwrap();
    // Each of them ends with its input.
    let mut children = std::mem::take(&mut *children.lock().unwrap());
    while let Some(ended) = children.join_next().await {
        assert!(ended.unwrap().unwrap().success());
    }
    std::fs::remove_file(script).unwrap();
    let passed = said.lines().filter(|line| line.starts_with('✓')).count();
    let known = said.lines().filter(|line| line.starts_with("=== Running scenario: ")).count();
    assert!(ran.status.success() && passed == known && known >= 30, "{passed} of {known}: {said}");
    assert!(!said.contains("WARNING"), "{said}");
}

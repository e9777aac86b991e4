//! How fast a long result comes through.

use hermes_bench::parts::Size;
use hermes_bench::{quantile, say, speed};
use serde_json::json;

use crate::agent::text;
use crate::house::REPLY_BYTES;
use crate::lanes::{Lane, Way};

const WAYS: [Way; 6] =
    [Way::Direct, Way::Copied, Way::GatewayWhole, Way::GatewayRedacting, Way::Wrap, Way::WrapRedacting];

/// How long the text is, in bytes.
const LENGTH: usize = 5_000_000;

pub(crate) async fn measure(size: Size) {
    let rounds = size.pick(20, 2);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut lanes = Lane::open_all(&WAYS, folder.path()).await;
    let measuring = tokio::task::spawn_blocking(move || {
        let arguments = json!({"bytes": LENGTH}).to_string();
        let mut all = vec![Vec::with_capacity(rounds); lanes.len()];
        let mut bytes = vec![0; lanes.len()];
        // The first round is not counted: there the server makes the text.
        for round in 0..=rounds {
            for ((lane, times), bytes) in lanes.iter_mut().zip(&mut all).zip(&mut bytes) {
                let answer = lane.agent.call(&lane.tool("large"), &arguments);
                let shown = text(&answer.result).len();
                let whole = lane.way != Way::GatewayRedacting;
                // A cut text says how much was left out, in a few words more.
                let fits = if whole { shown >= LENGTH } else { shown <= 2 * REPLY_BYTES };
                assert!(fits, "{shown} bytes of text {}", lane.way.words());
                *bytes = answer.bytes;
                if round > 0 {
                    times.push(answer.after);
                }
            }
        }
        let medians: Vec<_> = all.iter_mut().map(|times| quantile(times, 0.5)).collect();
        for ((lane, median), bytes) in lanes.iter().zip(&medians).zip(bytes) {
            say(
                &format!("a result of 5 MB {}", lane.way.words()),
                &format!("{:.0} MB/s", speed(LENGTH, *median)),
                &format!(
                    "{:.1} ms, {:.1} times directly; {:.1} MB arrive",
                    median.as_secs_f64() * 1e3,
                    median.as_secs_f64() / medians[0].as_secs_f64(),
                    bytes as f64 / 1e6
                ),
            );
        }
        lanes
    });
    for lane in measuring.await.expect("every call is answered") {
        lane.end().await;
    }
}

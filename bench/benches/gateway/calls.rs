//! What one call takes on each way, and how much more that is than directly.

use std::time::Duration;

use hermes_bench::parts::Size;
use hermes_bench::{ordinary_log, quantile, say};
use serde_json::json;

use crate::agent::text;
use crate::lanes::{Lane, Way};

const WAYS: [Way; 6] = [Way::Direct, Way::Copied, Way::Gateway, Way::GatewayRedacting, Way::Wrap, Way::WrapRedacting];

/// How long the text of a call is, and that of its result: a short one, and one like a small file.
const LENGTHS: [(&str, usize); 2] = [("100 B", 100), ("10 KiB", 10 * 1024)];

/// The times of each lane's calls. They take turns, so that a busy moment meets all of them.
fn times(lanes: &mut [Lane], rounds: usize, length: usize) -> Vec<Vec<Duration>> {
    let said = &ordinary_log(length)[..length];
    let arguments = json!({"text": said}).to_string();
    let mut times = vec![Vec::with_capacity(rounds); lanes.len()];
    for _ in 0..rounds {
        for (lane, times) in lanes.iter_mut().zip(&mut times) {
            let answer = lane.agent.call(&lane.tool("echo"), &arguments);
            assert_eq!(text(&answer.result), said, "it is the answer to this call");
            times.push(answer.after);
        }
    }
    times
}

fn micros(time: Duration) -> String {
    format!("{:.0} us", time.as_secs_f64() * 1e6)
}

pub(crate) async fn measure(size: Size) {
    let rounds = size.pick(1000, 10);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut lanes = Lane::open_all(&WAYS, folder.path()).await;
    let measuring = tokio::task::spawn_blocking(move || {
        for (words, length) in LENGTHS {
            times(&mut lanes, size.pick(50, 1), length);
            let mut all = times(&mut lanes, rounds, length);
            for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
                let direct = quantile(&mut all[0], share);
                for (lane, times) in lanes.iter().zip(&mut all) {
                    let time = quantile(times, share);
                    let more = match lane.way {
                        Way::Direct => String::new(),
                        _ => format!("{} more than directly", micros(time.saturating_sub(direct))),
                    };
                    say(&format!("a call of {words} {}, {name}", lane.way.words()), &micros(time), &more);
                }
            }
        }
        lanes
    });
    for lane in measuring.await.expect("every call is answered") {
        lane.end().await;
    }
}

//! How long it takes from the exit of a command to an event that somebody can claim.

use std::time::{Duration, Instant};

use hermes_bench::parts::Size;
use hermes_bench::{machine, quantile, say};
use hermes_process::registry::asks::Input;
use hermes_process::registry::handle::{Registry, Who};
use hermes_process::registry::request::Request;
use hermes_process::spec::{CommandSpec, Stdin};
use tokio::task::JoinHandle;

use crate::exec;
use crate::house::House;

/// How long events are held so that those that come together are told together (the registry's own figure).
const TOGETHER: Duration = Duration::from_millis(100);

/// Longer than any command of this measurement runs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command that was just told to end, and when it does: it runs until then, however long its start is held up.
async fn about_to_end(registry: &Registry, notify: bool) -> (String, JoinHandle<Instant>) {
    let spec = CommandSpec { stdin: Stdin::Pipe, ..exec(&["cat"]) };
    let run = registry.start_in_background(Request { notify, ..Request::new(spec) }).await.expect("it starts");
    let gone = machine::end_of(run.pid.expect("a process of this host"));
    let id = run.id.to_string();
    registry.send(&Who::Anybody, &id, Input::End).await.expect("it reads");
    (id, gone)
}

pub(crate) async fn measure(size: Size) {
    let rounds = size.pick(200, 3);
    let house = House::new();
    let registry = house.open();
    let (mut waited, mut claimed) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    for _ in 0..rounds {
        let (_, gone) = about_to_end(&registry, true).await;
        let events = registry.events(&Who::Anybody, 10, PATIENCE, false).await.expect("the ledger answers");
        let told = Instant::now();
        assert_eq!(events.len(), 1, "one event for one end");
        let claims: Vec<_> = events.into_iter().map(|(claim, _)| claim).collect();
        registry.acknowledge(&claims).await.expect("the ledger answers");
        claimed.push(told - gone.await.expect("the watch ends"));
    }
    for _ in 0..rounds {
        let (id, gone) = about_to_end(&registry, false).await;
        registry.wait(&Who::Anybody, &id, PATIENCE, std::future::pending()).await.expect("it is known");
        waited.push(Instant::now() - gone.await.expect("the watch ends"));
    }
    registry.shut_down().await;
    for (what, times, held) in
        [("the wait for it returns", &mut waited, false), ("its event can be claimed", &mut claimed, true)]
    {
        for (name, share) in [("median", 0.5), ("p99", 0.99)] {
            let time = quantile(times, share);
            let apart = if held {
                format!(
                    "{:.1} ms beside the 100 ms in which events are collected",
                    time.saturating_sub(TOGETHER).as_secs_f64() * 1e3
                )
            } else {
                String::new()
            };
            say(&format!("from an exit until {what}, {name}"), &format!("{:.1} ms", time.as_secs_f64() * 1e3), &apart);
        }
    }
}

//! What a host holds for each idle server and for each session, and how many sessions share the servers.

use std::time::{Duration, Instant};

use hermes_bench::parts::Size;
use hermes_bench::{machine, ordinary_log, quantile, say};
use serde_json::json;

use crate::agent::Agent;
use crate::house::{House, REPLY_BYTES, nothing};

/// How many servers the sessions share.
const SHARED: usize = 3;
/// How long a condition may take to hold before the measurement is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many tools of hermes itself an agent is offered.
const OWN_TOOLS: usize = 2;
/// How many tools each server has.
const TOOLS: usize = 10;

/// Says who an agent is and asks for all tools.
async fn begin(mut agent: Agent, servers: usize) -> Agent {
    let beginning = tokio::task::spawn_blocking(move || {
        agent.begin();
        let mut tools = 0;
        let mut params = "{}".to_owned();
        loop {
            let page = agent.ask("tools/list", &params).result;
            tools += page["tools"].as_array().map_or(0, Vec::len);
            match page.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}).to_string(),
                None => break,
            }
        }
        assert_eq!(tools, OWN_TOOLS + servers * TOOLS, "every tool is offered");
        agent
    });
    beginning.await.expect("the host answers")
}

/// A host that has been used once: threads, tables and the pages of the database are there before anything is counted.
async fn warm() {
    let mut house = House::open(nothing(), 1, REPLY_BYTES).await;
    drop(begin(house.agent("first"), 1).await);
    house.end().await;
}

/// A host with this many servers and an agent that came, listed the tools and left; by how many bytes and descriptors this
/// process grew.
async fn host_of(servers: usize) -> (House, usize, usize) {
    let (resident, descriptors) = (machine::resident(), machine::descriptors());
    let mut house = House::open(nothing(), servers, REPLY_BYTES).await;
    drop(begin(house.agent("bench"), servers).await);
    house.agents_left().await;
    (house, machine::resident().saturating_sub(resident), machine::descriptors().saturating_sub(descriptors))
}

pub(crate) async fn measure_idle(size: Size) {
    let count = size.pick(20, 2);
    warm().await;
    let (first, _, _) = host_of(0).await;
    let (empty, own, own_descriptors) = host_of(0).await;
    let (house, all, descriptors) = host_of(count).await;
    let open = descriptors.saturating_sub(own_descriptors);
    say(
        &format!("{count} idle servers of {TOOLS} tools: memory of the host for each"),
        &machine::kib(all.saturating_sub(own) / count),
        &format!("beside {} for a host without servers", machine::kib(own)),
    );
    say(&format!("{count} idle servers: descriptors for each"), &format!("{:.1}", open as f64 / count as f64), "");
    say(
        &format!("{count} servers: starting all of them, with the host"),
        &format!("{:.0} ms", house.ready_after.as_secs_f64() * 1e3),
        &format!(
            "until the last one is ready; {:.0} ms for a host without servers",
            empty.ready_after.as_secs_f64() * 1e3
        ),
    );
    for house in [house, empty, first] {
        house.end().await;
    }
}

/// All agents call at the same time, this often each, a server after the other.
async fn rush(agents: Vec<Agent>, calls: usize) -> (Vec<Agent>, Vec<Duration>, Duration) {
    let arguments = json!({"text": &ordinary_log(100)[..100]}).to_string();
    let began = Instant::now();
    let calling: Vec<_> = agents
        .into_iter()
        .map(|mut agent| {
            let arguments = arguments.clone();
            std::thread::spawn(move || {
                let tools: Vec<String> = (0..SHARED).map(|n| format!("s{n}__echo")).collect();
                let call = |n: usize| agent.call(&tools[n % SHARED], &arguments).after;
                let times: Vec<Duration> = (0..calls).map(call).collect();
                (agent, times)
            })
        })
        .collect();
    let joining = tokio::task::spawn_blocking(move || {
        calling
            .into_iter()
            .map(|calling| calling.join().expect("every call is answered"))
            .unzip::<_, _, Vec<_>, Vec<_>>()
    });
    let (agents, times) = joining.await.expect("no thread breaks down");
    (agents, times.concat(), began.elapsed())
}

/// Returns when no process of an earlier host is left.
async fn gone() {
    let began = Instant::now();
    while machine::descendants() > 0 {
        assert!(began.elapsed() < PATIENCE, "nothing of a host that ended is left");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) async fn measure_sessions(size: Size) {
    let count = size.pick(50, 3);
    let calls = size.pick(200, 3);
    warm().await;
    gone().await;
    let mut house = House::open(nothing(), SHARED, REPLY_BYTES).await;
    let mut agents = vec![begin(house.agent("first"), SHARED).await];
    let alone = machine::descendants();
    let resident = machine::resident();
    for n in 1..=count {
        let agent = house.agent(&format!("agent-{n}"));
        agents.push(begin(agent, SHARED).await);
    }
    let grown = machine::resident().saturating_sub(resident);
    let processes = machine::descendants();
    assert_eq!(processes, alone, "no session has a process of its own");
    agents.remove(0);
    say(
        &format!("{count} sessions on {SHARED} servers: processes beside the host"),
        &processes.to_string(),
        &format!("{SHARED} servers and who ends them; {} servers where each starts its own", count * SHARED),
    );
    say(
        &format!("{count} sessions on {SHARED} servers: memory of the host for each"),
        &machine::kib(grown / count),
        "with the agent's end",
    );
    let (agents, mut times, all) = rush(agents, calls).await;
    say(
        &format!("{count} agents that call at the same time, together"),
        &format!("{:.0} calls/s", times.len() as f64 / all.as_secs_f64()),
        &format!(
            "p50 {:.1} ms, p99 {:.1} ms",
            quantile(&mut times, 0.5).as_secs_f64() * 1e3,
            quantile(&mut times, 0.99).as_secs_f64() * 1e3
        ),
    );
    drop(agents);
    house.end().await;
}

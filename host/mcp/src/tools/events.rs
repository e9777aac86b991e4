//! Events on their way to a client: taken, acknowledged, given back.
//!
//! It must never lose an event: what does not reach the client is given back.

use std::sync::Arc;
use std::time::Duration;

use hermes_ledger::event::{Claim, Settled};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::arguments::Given;
use super::document;
use super::trouble::Trouble;
use crate::session::Session;

/// How many events one call takes where nobody says how many.
const EVENTS: u64 = 20;
/// How many one call takes at most: with completions of the usual 2000 bytes, far less than a message may hold.
const EVENTS_MAX: u64 = 100;
/// The longest wait of one call; an agent asks again.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(30);
/// How soon to look again after somebody else took the events that were waited for.
const AGAIN: Duration = Duration::from_millis(50);

/// Takes events. What the last call of this session took is acknowledged by it, but where `ack` says which are.
pub(super) async fn take(
    session: &Arc<Session>,
    given: &Given,
    cancelled: &CancellationToken,
) -> Result<Value, Trouble> {
    let who = session.who(given)?;
    let registry = &session.offer.registry;
    let max = usize::try_from(given.positive("max")?.unwrap_or(EVENTS).min(EVENTS_MAX)).unwrap_or(1);
    let wait = wait(given)?;
    let skip_observed = given.flag("skip_observed")?;
    let named = given.raw("ack").map(claims).transpose()?;
    session.acknowledge(named.as_deref()).await?;
    let deadline = Instant::now() + wait;
    let taken = loop {
        // Taking none of them waits for some, and may be given up without harm.
        tokio::select! {
            biased;
            () = cancelled.cancelled() => return Err(Trouble::cancelled()),
            waited = registry.events(&who, 0, deadline.saturating_duration_since(Instant::now()), false) => waited?,
        };
        let taken = registry.events(&who, max, Duration::ZERO, skip_observed).await?;
        if !taken.is_empty() || Instant::now() >= deadline {
            break taken;
        }
        tokio::time::sleep(AGAIN).await;
    };
    let claims: Vec<Claim> = taken.iter().map(|(claim, _)| *claim).collect();
    if cancelled.is_cancelled() || !session.hold(&claims) {
        session.give_back(&claims).await;
        return Err(Trouble::cancelled());
    }
    let mut events = Vec::with_capacity(taken.len());
    for (claim, event) in taken {
        let mut shown = document(event)?;
        shown["claim"] = json!({"seq": claim.seq, "token": claim.token});
        events.push(shown);
    }
    Ok(json!({"events": events, "pending": registry.pending(&who).await?}))
}

/// Acknowledges events by their claims.
pub(super) async fn acknowledge(session: &Session, given: &Given) -> Result<Value, Trouble> {
    let named = given.raw("ack").map(claims).transpose()?.unwrap_or_default();
    if named.is_empty() {
        return Err(Trouble::arguments("process: 'ack' needs 'ack', a list of the claims of events"));
    }
    let Settled { done, stale, .. } = session.acknowledge(Some(&named)).await?;
    Ok(json!({"acknowledged": done.len(), "stale": stale.len()}))
}

/// How long a call may wait for something to come.
pub(super) fn wait(given: &Given) -> Result<Duration, Trouble> {
    let wait = Duration::from_millis(given.number("wait_ms")?.unwrap_or(0));
    if wait > WAIT_MAX {
        let max = WAIT_MAX.as_millis();
        return Err(Trouble::arguments(format!("process: 'wait_ms' must be at most {max}: ask again after that")));
    }
    Ok(wait)
}

fn claims(value: &Value) -> Result<Vec<Claim>, Trouble> {
    let claim = |item: &Value| {
        let (seq, token) = (item.get("seq")?.as_u64()?, item.get("token")?.as_u64()?);
        Some(Claim { seq, token })
    };
    let list = value.as_array().and_then(|list| list.iter().map(claim).collect());
    list.ok_or_else(|| {
        Trouble::arguments(
            "process: 'ack' must be a list of claims as events carry them, as in [{\"seq\": 1, \"token\": 2}]",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read_as_events_carry_them_and_anything_else_is_refused() {
        assert_eq!(claims(&json!([{"seq": 1, "token": 2}])).unwrap(), [Claim { seq: 1, token: 2 }]);
        assert_eq!(claims(&json!([])).unwrap(), []);
        for bad in [json!(true), json!([1]), json!([{"seq": 1}]), json!([{"seq": -1, "token": 2}]), json!({"seq": 1})] {
            assert!(claims(&bad).is_err(), "{bad}");
        }
    }
}

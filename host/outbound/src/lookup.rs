//! Looking a name up, once, within a time.
//!
//! The system's resolver cannot be interrupted, so it runs on a thread of its own that is left behind when it takes too
//! long. There must never be more than [`UNDER_WAY_MAX`] of these.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::error::SendError;
use crate::target::literal;

/// The most look-ups under way in this process: a resolver that does not answer must not fill it with threads.
const UNDER_WAY_MAX: usize = 16;
/// The most addresses of one name that are kept, as the HTTP client does.
const ADDRESSES_MAX: usize = 16;

static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// All addresses of a host.
pub(crate) fn addresses(host: &str, port: u16, within: Duration) -> Result<Vec<SocketAddr>, SendError> {
    if let Some(address) = literal(host) {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let name = host.to_owned();
    resolved(host, within, move || {
        (name.as_str(), port).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
    })
    .map(|found| found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}

/// Runs `ask` on a thread and waits for it.
fn resolved(
    host: &str,
    within: Duration,
    ask: impl FnOnce() -> std::io::Result<Vec<IpAddr>> + Send + 'static,
) -> Result<Vec<IpAddr>, SendError> {
    let failed = |how| SendError::Failed { host: host.to_owned(), how };
    if UNDER_WAY.fetch_add(1, Ordering::AcqRel) >= UNDER_WAY_MAX {
        UNDER_WAY.fetch_sub(1, Ordering::AcqRel);
        return Err(failed("too many names are being looked up already"));
    }
    let (answer, answers) = mpsc::sync_channel(1);
    let started = std::thread::Builder::new().name("lookup".to_owned()).spawn(move || {
        let found = ask();
        UNDER_WAY.fetch_sub(1, Ordering::AcqRel);
        // Nobody may be waiting any more.
        let _ = answer.send(found);
    });
    if started.is_err() {
        UNDER_WAY.fetch_sub(1, Ordering::AcqRel);
        return Err(failed("no thread could be started for looking its name up"));
    }
    match answers.recv_timeout(within) {
        Ok(Ok(found)) if !found.is_empty() && found.len() <= ADDRESSES_MAX => Ok(found),
        Ok(Ok(found)) if found.len() > ADDRESSES_MAX => Ok(found.into_iter().take(ADDRESSES_MAX).collect()),
        Ok(_) | Err(RecvTimeoutError::Disconnected) => Err(SendError::Lookup(host.to_owned())),
        Err(RecvTimeoutError::Timeout) => Err(SendError::TimedOut(host.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_not_looked_up_and_a_name_without_one_is_said_so() {
        let one = addresses("[::1]", 7, Duration::ZERO).unwrap();
        assert_eq!(one, ["[::1]:7".parse().unwrap()]);
        let error = resolved("nowhere", Duration::from_secs(60), || Ok(Vec::new())).unwrap_err();
        assert_eq!(error, SendError::Lookup("nowhere".into()));
        let error = resolved("nowhere", Duration::from_secs(60), || Err(std::io::Error::other("no"))).unwrap_err();
        assert_eq!(error, SendError::Lookup("nowhere".into()));
    }

    #[test]
    fn a_resolver_that_does_not_answer_costs_the_time_it_was_given() {
        let (let_go, held) = mpsc::channel::<()>();
        let error = resolved("slow", Duration::from_millis(20), move || {
            let _ = held.recv();
            Ok(Vec::new())
        });
        assert_eq!(error, Err(SendError::TimedOut("slow".into())));
        drop(let_go);
    }
}

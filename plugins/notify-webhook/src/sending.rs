//! Sending one request until it arrives, it is refused, or its time is over.
//!
//! Only what may go away by itself is tried again: no answer, a server's own error, too many requests.

use hermes_plugin_sdk::outside::{HttpError, Request, Response};

/// The wait before the second try; each further one is twice as long.
pub const FIRST_WAIT_MS: u64 = 250;
/// The longest wait that is not asked for by the server.
pub const LONGEST_WAIT_MS: u64 = 4000;
/// Less than this is not worth a try.
const WORTH_MS: u64 = 50;

/// The network and the clock.
pub trait Outside {
    /// Sends a request.
    ///
    /// # Errors
    /// See [`HttpError`].
    fn send(&mut self, request: &Request) -> Result<Response, HttpError>;

    /// Milliseconds since some moment.
    fn now_ms(&mut self) -> u64;

    /// Waits; says for how many milliseconds.
    fn sleep(&mut self, ms: u32) -> u32;
}

/// How often and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tries {
    /// Tries at most.
    pub most: u32,
    /// Milliseconds for all of them.
    pub budget_ms: u64,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It arrived.
    Sent,
    /// It did not.
    Failed(Why),
}

/// Why a message did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The server refuses it, with this status.
    Refused(u16),
    /// The server had an error of its own, with this status, to the end.
    Unwell(u16),
    /// The host is not granted, or has an address that may not be reached.
    Denied,
    /// The URL or a header cannot be sent.
    Invalid,
    /// There was no answer.
    NoAnswer,
}

impl Why {
    /// In words, without anything that may be a secret.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Refused(status) => format!("the server answered {status}"),
            Self::Unwell(status) => format!("the server answered {status} to the last try"),
            Self::Denied => "its host is not granted; `hermes plugins show notify-webhook` lists what is".to_owned(),
            Self::Invalid => "the url or a header of its settings cannot be sent".to_owned(),
            Self::NoAnswer => "the server did not answer".to_owned(),
        }
    }
}

/// Sends a request; says what became of it, and how often it was tried.
pub fn send(outside: &mut impl Outside, mut request: Request, tries: Tries) -> (Outcome, u32) {
    let ends = outside.now_ms().saturating_add(tries.budget_ms);
    let mut made = 0;
    loop {
        let left = ends.saturating_sub(outside.now_ms());
        request.timeout_ms = u32::try_from(left).unwrap_or(u32::MAX);
        made += 1;
        let (why, asked) = match judge(outside.send(&request)) {
            Judged::Sent => return (Outcome::Sent, made),
            Judged::Final(why) => return (Outcome::Failed(why), made),
            Judged::Again(why, asked) => (why, asked),
        };
        let own = FIRST_WAIT_MS.saturating_mul(1 << (made - 1).min(20)).min(LONGEST_WAIT_MS);
        let wait = asked.unwrap_or(own);
        let left = ends.saturating_sub(outside.now_ms());
        if made >= tries.most || wait.saturating_add(WORTH_MS) > left {
            return (Outcome::Failed(why), made);
        }
        let wait = u32::try_from(wait).unwrap_or(u32::MAX);
        // Cut short, the call itself is about to end.
        if outside.sleep(wait) < wait {
            return (Outcome::Failed(why), made);
        }
    }
}

enum Judged {
    Sent,
    Final(Why),
    /// Why it failed, and the wait the server asks for, in milliseconds.
    Again(Why, Option<u64>),
}

fn judge(answer: Result<Response, HttpError>) -> Judged {
    match answer {
        Ok(response) => match response.status {
            200..=299 => Judged::Sent,
            status @ (429 | 500..=599) => Judged::Again(Why::Unwell(status), retry_after(&response)),
            status => Judged::Final(Why::Refused(status)),
        },
        // The answer is too long to be read, so it is one: what it says of the message is not known.
        Err(HttpError::TooLarge(_)) => Judged::Sent,
        Err(HttpError::Denied(_)) => Judged::Final(Why::Denied),
        Err(HttpError::Invalid(_)) => Judged::Final(Why::Invalid),
        Err(HttpError::TimedOut | HttpError::Failed(_)) => Judged::Again(Why::NoAnswer, None),
    }
}

/// The wait a server asks for, in milliseconds: seconds only (RFC 9110 § 10.2.3 also knows dates, which a short budget
/// never reaches).
fn retry_after(response: &Response) -> Option<u64> {
    let value = response.headers.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| value.trim())?;
    value.parse::<u64>().ok().map(|seconds| seconds.saturating_mul(1000))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A network with one answer after the other, the last again and again; each takes so long.
    struct Fake {
        answers: Vec<Result<Response, HttpError>>,
        takes_ms: u64,
        now: u64,
        waits: Vec<u32>,
        timeouts: Vec<u32>,
    }

    impl Outside for Fake {
        fn send(&mut self, request: &Request) -> Result<Response, HttpError> {
            self.now += self.takes_ms.min(u64::from(request.timeout_ms));
            self.timeouts.push(request.timeout_ms);
            if self.answers.len() > 1 { self.answers.remove(0) } else { self.answers[0].clone() }
        }

        fn now_ms(&mut self) -> u64 {
            self.now
        }

        fn sleep(&mut self, ms: u32) -> u32 {
            self.waits.push(ms);
            self.now += u64::from(ms);
            ms
        }
    }

    fn status(status: u16) -> Result<Response, HttpError> {
        Ok(Response { status, ..Response::default() })
    }

    fn sent(answers: Vec<Result<Response, HttpError>>) -> (Outcome, u32, Vec<u32>) {
        let mut fake = Fake { answers, takes_ms: 10, now: 7, waits: Vec::new(), timeouts: Vec::new() };
        let (outcome, made) = send(&mut fake, Request::default(), Tries { most: 5, budget_ms: 8000 });
        (outcome, made, fake.waits)
    }

    #[test]
    fn what_may_go_away_is_tried_again_after_growing_waits() {
        let failed = || Err(HttpError::Failed("refused".into()));
        let (outcome, made, waits) = sent(vec![status(503), failed(), Err(HttpError::TimedOut), status(200)]);
        assert_eq!((outcome, made, waits.as_slice()), (Outcome::Sent, 4, &[250, 500, 1000][..]));
        let (outcome, made, _) = sent(vec![status(500)]);
        assert_eq!((outcome, made), (Outcome::Failed(Why::Unwell(500)), 5));
    }

    #[test]
    fn what_does_not_go_away_is_tried_once() {
        for (answer, why) in [
            (status(400), Why::Refused(400)),
            (status(302), Why::Refused(302)),
            (Err(HttpError::Denied("h".into())), Why::Denied),
            (Err(HttpError::Invalid("h".into())), Why::Invalid),
        ] {
            assert_eq!(sent(vec![answer]), (Outcome::Failed(why), 1, Vec::new()));
        }
    }

    #[test]
    fn a_server_that_asks_for_a_wait_gets_it_within_the_budget() {
        let busy = |seconds: &str| {
            let headers = vec![("retry-after".to_owned(), seconds.to_owned())];
            Ok(Response { status: 429, headers, ..Response::default() })
        };
        assert_eq!(sent(vec![busy("2"), status(200)]), (Outcome::Sent, 2, vec![2000]));
        assert_eq!(sent(vec![busy("60"), status(200)]), (Outcome::Failed(Why::Unwell(429)), 1, Vec::new()));
        assert_eq!(sent(vec![busy("soon"), status(200)]).2, [250]);
    }

    proptest! {
        #[test]
        fn the_budget_is_never_exceeded(
            most in 1u32..20,
            budget_ms in 0u64..20_000,
            takes_ms in 0u64..5000,
            statuses in proptest::collection::vec(prop_oneof![Just(503u16), Just(429), Just(500)], 1..20),
        ) {
            let answers = statuses.into_iter().map(status).collect();
            let mut fake = Fake { answers, takes_ms, now: 0, waits: Vec::new(), timeouts: Vec::new() };
            let (_, made) = send(&mut fake, Request::default(), Tries { most, budget_ms });
            prop_assert!(fake.now <= budget_ms);
            prop_assert!(made <= most);
            prop_assert!(fake.timeouts.iter().all(|timeout| u64::from(*timeout) <= budget_ms));
        }
    }
}

//! Obeys the text of an event: keeps and reads values, asks hosts, waits; and says what came of it.

use hermes_plugin_sdk::outside::{self, Request};
use hermes_plugin_sdk::{Event, Failure, NoSettings, Notify, Plugin, Verdict};

struct UsesGrants;

impl Plugin for UsesGrants {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Notify for UsesGrants {
    fn decide(&mut self, event: &Event) -> Result<Verdict, Failure> {
        let words: Vec<&str> = event.text.split_whitespace().collect();
        Ok(match words.as_slice() {
            ["PUT", key, value] => said(outside::put(key, value.as_bytes())),
            ["PUT-BYTES", key, bytes] => said(outside::put(key, &vec![b'x'; bytes.parse().unwrap_or_default()])),
            ["REMOVE", key] => said(outside::remove(key)),
            ["GET", key] => said(outside::get(key).map(|found| {
                found.map_or_else(|| "nothing".to_owned(), |value| String::from_utf8_lossy(&value).into_owned())
            })),
            ["ASK", url] => {
                let method = "GET".to_owned();
                let request = Request { method, url: (*url).to_owned(), timeout_ms: 60_000, ..Request::default() };
                said(outside::send(&request).map(|response| response.status))
            }
            ["SLEEP", ms] => said(Ok::<_, ()>(outside::sleep(ms.parse().unwrap_or_default()))),
            _ => Verdict::Deliver,
        })
    }
}

/// What came of it, in the words of the SDK.
fn said(what: Result<impl std::fmt::Debug, impl std::fmt::Debug>) -> Verdict {
    Verdict::Rewrite(format!("{what:?}"))
}

hermes_plugin_sdk::export!(UsesGrants: notify, name = "uses-grants", version = "1.0.0");

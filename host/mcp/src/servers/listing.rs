//! What a server offers: its lists, all pages of them, and again when it says that they changed.
//!
//! It must never follow a list for ever, and never let one list that fails hide another.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use super::link::{Link, LinkError, Patience};
use super::raw::Raw;

/// How many pages of one list are read: with the usual 50 to 1000 elements a page far more than any server has.
const PAGES_MAX: usize = 50;
/// How many elements of one list are kept: more than any agent can be told of.
const ELEMENTS_MAX: usize = 10_000;
/// How long it is waited after a list changed: servers that add ten tools say so ten times.
pub(super) const DEBOUNCE: Duration = Duration::from_millis(100);

/// A list of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum List {
    /// Its tools.
    Tools,
    /// Its prompts.
    Prompts,
    /// Its resources.
    Resources,
    /// Its templates of resources.
    Templates,
}

impl List {
    /// All of them, the most important one first.
    pub(super) const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// The method that asks for it.
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// What an element is known by.
    fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    fn field(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// Whether a server with these capabilities has it.
    pub(crate) fn is_announced(self, capabilities: &Raw) -> bool {
        let name = match self {
            Self::Templates => "resources",
            list => list.field(),
        };
        capabilities.value().get(name).is_some_and(|capability| !capability.is_null())
    }
}

/// Lists that changed and were not read again yet.
#[derive(Default)]
pub(crate) struct Dirty {
    lists: AtomicU8,
    marked: Notify,
}

impl Dirty {
    /// A list changed.
    pub(crate) fn mark(&self, list: List) {
        self.lists.fetch_or(1 << list as u8, Ordering::AcqRel);
        self.marked.notify_one();
    }

    /// Waits until a list changed and no more are likely to, and returns them.
    pub(super) async fn changed(&self) -> Vec<List> {
        loop {
            self.marked.notified().await;
            tokio::time::sleep(DEBOUNCE).await;
            let lists = self.lists.swap(0, Ordering::AcqRel);
            if lists != 0 {
                return List::ALL.into_iter().filter(|list| lists & (1 << *list as u8) != 0).collect();
            }
        }
    }
}

/// What was read of a list.
pub(super) struct Listed {
    /// The elements, in the order of the server.
    pub(super) elements: Vec<Raw>,
    /// Why it is not all of them, in hermes's own words.
    pub(super) cut: Option<String>,
}

/// Reads a list to its end. Each page waits for its turn among the requests.
///
/// # Errors
/// What went wrong, in hermes's own words.
pub(super) async fn read(link: &Link, list: List, turns: &Semaphore, quiet: Duration) -> Result<Listed, String> {
    let mut listed = Listed { elements: Vec::new(), cut: None };
    let (mut cursor, mut seen) = (None::<Value>, HashSet::new());
    let mut names = HashSet::<String>::new();
    for _ in 0..PAGES_MAX {
        let params = cursor.iter().map(|cursor| ("cursor".to_owned(), cursor.clone())).collect::<Map<_, _>>();
        let page = {
            let _turn = turns.acquire().await;
            ask(link, list, params, quiet).await?
        };
        let Value::Object(mut page) = page.into_value() else {
            return Err(format!("its answer to {} is no object", list.method()));
        };
        if let Some(Value::Array(elements)) = page.remove(list.field()) {
            // A page that comes twice offers nothing new, and what is named twice is one thing.
            let mut is_new = |element: &Value| match element.get(list.key()).and_then(Value::as_str) {
                Some(name) => names.insert(name.to_owned()),
                None => element.is_object(),
            };
            listed.elements.extend(elements.into_iter().filter(&mut is_new).map(Raw::of));
        }
        if listed.elements.len() > ELEMENTS_MAX {
            listed.elements.truncate(ELEMENTS_MAX);
            listed.cut = Some(format!("{} has more than {ELEMENTS_MAX} elements; the rest is left out", list.method()));
            return Ok(listed);
        }
        cursor = page.remove("nextCursor").filter(|cursor| cursor.as_str().is_some_and(|cursor| !cursor.is_empty()));
        let Some(next) = cursor.as_ref().and_then(Value::as_str) else { return Ok(listed) };
        if !seen.insert(next.to_owned()) {
            listed.cut = Some(format!("{} comes back to a page it had; what it had before is kept", list.method()));
            return Ok(listed);
        }
    }
    listed.cut = Some(format!("{} has more than {PAGES_MAX} pages; the rest is left out", list.method()));
    Ok(listed)
}

/// How long a server is listened to at once: longer than any lives.
const LISTEN: Duration = Duration::from_secs(365 * 24 * 3600);

/// Has the server tell which lists change, where it must be asked for that. Returns when it does not any more.
pub(super) async fn listen(link: &Link, capabilities: &Raw) {
    if !link.must_be_listened_to() {
        return;
    }
    let wanted = [
        (List::Tools, "toolsListChanged"),
        (List::Prompts, "promptsListChanged"),
        (List::Resources, "resourcesListChanged"),
    ];
    let wanted = wanted.into_iter().filter(|(list, _)| list.is_announced(capabilities));
    let wanted: Map<String, Value> = wanted.map(|(_, name)| (name.to_owned(), true.into())).collect();
    let params = Map::from_iter([("notifications".to_owned(), Value::Object(wanted))]);
    // A server that does not know it is read once, and that is that.
    let _ = link
        .ask("subscriptions/listen", Arc::new(params), None, Patience::in_all(LISTEN), &CancellationToken::new())
        .await;
}

async fn ask(link: &Link, list: List, params: Map<String, Value>, quiet: Duration) -> Result<Raw, String> {
    let method = list.method();
    let patience = Patience::in_all(quiet);
    let answer = link.ask(method, Arc::new(params), None, patience, &CancellationToken::new()).await;
    answer.map_err(|error| match error {
        LinkError::Refused { code, .. } => format!("{method} failed with error {code}"),
        LinkError::TimedOut(after) => format!("{method} was not answered within {} s", after.as_secs()),
        LinkError::Unreadable => format!("{method} was answered with something that cannot be read"),
        LinkError::NotSent | LinkError::Uncertain | LinkError::Cancelled => format!("it ended during {method}"),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_announced_by_its_capability() {
        let of = |value| Raw::of(value);
        let some = of(json!({"tools": {}, "prompts": null}));
        let announced: Vec<List> = List::ALL.into_iter().filter(|list| list.is_announced(&some)).collect();
        assert_eq!(announced, [List::Tools]);
        let resources = of(json!({"resources": {"subscribe": true}}));
        let announced: Vec<List> = List::ALL.into_iter().filter(|list| list.is_announced(&resources)).collect();
        assert_eq!(announced, [List::Resources, List::Templates]);
        assert!(!List::Tools.is_announced(&Raw::default()));
    }

    #[tokio::test]
    async fn many_changes_in_a_row_are_one() {
        let dirty = Arc::new(Dirty::default());
        for _ in 0..100 {
            dirty.mark(List::Tools);
        }
        dirty.mark(List::Prompts);
        let changed: BTreeSet<List> = dirty.changed().await.into_iter().collect();
        assert_eq!(changed, BTreeSet::from([List::Tools, List::Prompts]));
        let again = tokio::time::timeout(3 * DEBOUNCE, dirty.changed()).await;
        assert!(again.is_err(), "nothing changed since");
        dirty.mark(List::Templates);
        assert_eq!(dirty.changed().await, [List::Templates]);
    }
}

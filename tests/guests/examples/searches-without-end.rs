//! Lets the host search with a pattern that looks at the rest of the text again for each of its hits, and takes no notice
//! of what becomes of the search.

use hermes_plugin_sdk::{Context, Descriptor, Failure, Findings, NoSettings, PatternSet, Plugin, Redact, Window, host};

const SET: &str = "slow";

struct SearchesWithoutEnd;

impl Plugin for SearchesWithoutEnd {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }

    fn descriptor() -> Descriptor {
        let patterns = vec!["(?s)a.*b|a".to_owned()];
        let slow = PatternSet { name: SET.to_owned(), patterns, case_insensitive: false };
        Descriptor { pattern_sets: vec![slow], ..Descriptor::default() }
    }
}

impl Redact for SearchesWithoutEnd {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let _ = host::find(SET);
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(SearchesWithoutEnd: redact, name = "searches-without-end", version = "1.0.0");

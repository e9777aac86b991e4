//! Masks words it was told of in earlier calls, by `learn WORD`.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct LearnsWords {
    words: Vec<String>,
}

impl Plugin for LearnsWords {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self { words: Vec::new() })
    }
}

impl Redact for LearnsWords {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let mut findings = Findings::whole_lines(window);
        for line in window.text.lines() {
            match line.strip_prefix("learn ") {
                Some(word) if self.words.iter().any(|known| known == word) => {}
                Some(word) => self.words.push(word.to_owned()),
                None => {
                    let from = line.as_ptr().addr() - window.text.as_ptr().addr();
                    for word in &self.words {
                        for (at, found) in line.match_indices(word.as_str()) {
                            findings.mask(from + at..from + at + found.len(), "learned");
                        }
                    }
                }
            }
        }
        Ok(findings)
    }
}

hermes_plugin_sdk::export!(LearnsWords: redact, name = "learns-words", version = "1.0.0");

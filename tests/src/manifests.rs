//! Manifests for the plugins of the tests.

use hermes_plugins::section;

/// The plainest manifest of a plugin: no settings, no canaries.
pub fn plain(name: &str, hook: &str) -> String {
    format!(
        "name = \"{name}\"\nversion = \"1.0.0\"\ndescription = \"A plugin of the tests.\"\nlicense = \"MIT\"\n\
         requires-hermes = \">=0.1\"\nhooks = [{}]\n",
        hook.split(' ').map(|hook| format!("\"{hook}\"")).collect::<Vec<_>>().join(", ")
    )
}

/// A manifest with a redactor's canary at its end.
pub fn with_canary(manifest: &str, name: &str, text: &str, rules: &[&str]) -> String {
    let rules = rules.iter().map(|rule| format!("\"{rule}\"")).collect::<Vec<_>>().join(", ");
    format!("{manifest}\n[[canary]]\nname = \"{name}\"\ntext = \"{text}\"\nrules = [{rules}]\n")
}

/// Puts a manifest into a component.
pub fn pack(component: &[u8], manifest: &str) -> Vec<u8> {
    section::embed(component, manifest)
}

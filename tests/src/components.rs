//! Components made from WIT text, without a compiler for guests: what a plugin of another time or another host looks like.
//!
//! Their functions do nothing but trap: a host must see what is wrong with them before it calls one.

use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve};

/// The contract's packages as they are.
const HOST: &str = include_str!("../../wit/host/v0.1/host.wit");
const HOOK: &str = include_str!("../../wit/hook/v0.1/hook.wit");
/// What each plugin of the current track exports.
const LIFECYCLE: &str = "export hermes:hook/lifecycle@0.1.0;";
/// A redactor of the current track.
const REDACTOR: &str = "export hermes:hook/lifecycle@0.1.0; export hermes:hook/redact@0.1.0;";

/// A component of a world over these packages.
fn component(packages: &[&str], world: &str) -> Vec<u8> {
    make(packages, world).unwrap_or_else(|error| panic!("the world `{world}` makes no component: {error}"))
}

fn make(packages: &[&str], world: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut resolve = Resolve::default();
    for (index, package) in packages.iter().enumerate() {
        resolve.push_str(format!("package-{index}.wit"), package)?;
    }
    let own = resolve.push_str("world.wit", &format!("package tests:fixture; world subject {{ {world} }}"))?;
    let world = resolve.select_world(&[own], Some("subject"))?;
    let mut module = dummy_module(&resolve, world, ManglingAndAbi::Legacy(LiftLowerAbi::Sync));
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    Ok(ComponentEncoder::default().module(&module)?.validate(true).encode()?)
}

/// A text with one place changed.
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the contract no longer holds `{from}`: correct this fixture");
    text.replacen(from, to, 1)
}

/// A redactor of the current track whose shapes are right, and whose functions all trap.
pub fn traps_everywhere() -> Vec<u8> {
    component(&[HOST, HOOK], REDACTOR)
}

/// Built for the next track of the hooks.
pub fn hook_of_the_next_track() -> Vec<u8> {
    let hook = changed(HOOK, "package hermes:hook@0.1.0;", "package hermes:hook@0.2.0;");
    component(&[HOST, &hook], "export hermes:hook/lifecycle@0.2.0; export hermes:hook/redact@0.2.0;")
}

/// Imports an interface of the host that was dropped, or never was.
pub fn imports_a_removed_interface() -> Vec<u8> {
    let host = format!("{HOST}\ninterface env {{ get: func(name: string) -> option<string>; }}\n");
    component(&[&host, HOOK], &format!("import hermes:host/env@0.1.1; {REDACTOR}"))
}

/// Imports a function that a later host of the track may have.
pub fn imports_a_later_function() -> Vec<u8> {
    let host = changed(HOST, "write: func(", "flush: func();\n  write: func(");
    component(&[&host, HOOK], &format!("import hermes:host/log@0.1.1; {REDACTOR}"))
}

/// A notifier that waits, which hosts can since 0.1.1.
pub fn waits() -> Vec<u8> {
    let notifier = "export hermes:hook/lifecycle@0.1.0; export hermes:hook/notify@0.1.0;";
    component(&[HOST, HOOK], &format!("import hermes:host/clock@0.1.1; {notifier}"))
}

/// Imports a function of the next release of this track, under that release's version.
pub fn imports_a_function_of_the_next_release() -> Vec<u8> {
    let next = changed(HOST, "package hermes:host@0.1.1;", "package hermes:host@0.1.2;");
    let next = changed(&next, "write: func(", "flush: func();\n  write: func(");
    component(&[HOST, &next, HOOK], &format!("import hermes:host/log@0.1.2; {REDACTOR}"))
}

/// Imports an interface of the next release of this track, under that release's version.
pub fn imports_an_interface_of_the_next_release() -> Vec<u8> {
    let next = changed(HOST, "package hermes:host@0.1.1;", "package hermes:host@0.1.2;");
    let next = format!("{next}\ninterface locale {{ language: func() -> string; }}\n");
    component(&[HOST, &next, HOOK], &format!("import hermes:host/locale@0.1.2; {REDACTOR}"))
}

/// Imports the log of a track that is gone.
pub fn imports_a_dropped_track() -> Vec<u8> {
    let old = changed(HOST, "package hermes:host@0.1.1;", "package hermes:host@0.0.9;");
    let old = old.replace("@since(version = 0.1.0)", "").replace("@since(version = 0.1.1)", "");
    component(&[HOST, &old, HOOK], &format!("import hermes:host/log@0.0.9; {REDACTOR}"))
}

/// The same component, built for another release of `hermes:host`.
///
/// # Panics
/// It imports nothing of the release it was built for.
pub fn built_for(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len(), "a version of another length would move everything behind it");
    let (needle, mut out) = (format!("@{from}"), component.to_vec());
    let mut found = 0;
    let prefix = b"hermes:host/";
    for at in 0..out.len().saturating_sub(needle.len()) {
        if !out[at..].starts_with(needle.as_bytes()) {
            continue;
        }
        // The name of an interface stands between the package and the version.
        let name = out[..at].iter().rev().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'-').count();
        if out[..at - name].ends_with(prefix) {
            out[at + 1..at + needle.len()].copy_from_slice(to.as_bytes());
            found += 1;
        }
    }
    assert!(found > 0, "it imports nothing of hermes:host@{from}");
    out
}

/// Imports the log of the next track.
pub fn imports_the_next_track() -> Vec<u8> {
    let next = changed(HOST, "package hermes:host@0.1.1;", "package hermes:host@0.2.0;");
    component(&[HOST, &next, HOOK], &format!("import hermes:host/log@0.2.0; {REDACTOR}"))
}

/// Takes a context with one more field.
pub fn exports_a_changed_record() -> Vec<u8> {
    let hook = changed(HOOK, "    cwd: string,", "    cwd: string,\n    host: string,");
    component(&[HOST, &hook], REDACTOR)
}

/// Knows one more level of the log.
pub fn imports_a_changed_enum() -> Vec<u8> {
    let host = changed(HOST, "    trace,", "    trace,\n    notice,");
    component(&[&host, HOOK], &format!("import hermes:host/log@0.1.1; {REDACTOR}"))
}

/// A redactor that would make requests through WASI.
pub fn imports_wasi_http() -> Vec<u8> {
    let http = "package wasi:http@0.2.3; interface types { status: func() -> u16; }";
    component(&[HOST, HOOK, http], &format!("import wasi:http/types@0.2.3; {REDACTOR}"))
}

/// Imports what another host offers.
pub fn imports_of_another_host() -> Vec<u8> {
    let tools = "package acme:tools@1.0.0; interface db { query: func(sql: string) -> list<string>; }";
    component(&[HOST, HOOK, tools], &format!("import acme:tools/db@1.0.0; {REDACTOR}"))
}

/// A redactor that could send what it sees.
pub fn redactor_that_talks() -> Vec<u8> {
    component(&[HOST, HOOK], &format!("import hermes:host/http@0.1.1; {REDACTOR}"))
}

/// Sees raw text with one hook, and could carry it to its other hook.
pub fn redacts_and_notifies() -> Vec<u8> {
    component(&[HOST, HOOK], &format!("{REDACTOR} export hermes:hook/notify@0.1.0;"))
}

/// A component for something else altogether.
pub fn without_hooks() -> Vec<u8> {
    component(&[], "export run: func();")
}

/// Has a lifecycle and nothing to do.
pub fn lifecycle_only() -> Vec<u8> {
    component(&[HOST, HOOK], LIFECYCLE)
}

/// Has a hook and no lifecycle.
pub fn without_lifecycle() -> Vec<u8> {
    component(&[HOST, HOOK], "export hermes:hook/redact@0.1.0;")
}

/// What is wrong with it is more than one thing.
pub fn wrong_in_many_ways() -> Vec<u8> {
    let tools = "package acme:tools@1.0.0; interface db { query: func(sql: string) -> list<string>; }";
    let hook = changed(HOOK, "    cwd: string,", "    cwd: string,\n    host: string,");
    let imports = "import acme:tools/db@1.0.0; import hermes:host/http@0.1.1;";
    component(&[HOST, &hook, tools], &format!("{imports} {REDACTOR}"))
}

/// A core module.
pub fn core_module() -> Vec<u8> {
    wat::parse_str("(module (func (export \"run\")))").expect("the text is a module")
}

/// A component that needs 64-bit memory.
pub fn with_a_feature_that_is_off() -> Vec<u8> {
    wat::parse_str("(component (core module (memory i64 1)))").expect("the text is a component")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fixture_is_made_and_no_two_are_the_same() {
        let made = [
            traps_everywhere(),
            hook_of_the_next_track(),
            imports_a_removed_interface(),
            imports_a_later_function(),
            waits(),
            imports_a_function_of_the_next_release(),
            imports_an_interface_of_the_next_release(),
            imports_a_dropped_track(),
            imports_the_next_track(),
            exports_a_changed_record(),
            imports_a_changed_enum(),
            imports_wasi_http(),
            imports_of_another_host(),
            redactor_that_talks(),
            redacts_and_notifies(),
            without_hooks(),
            lifecycle_only(),
            without_lifecycle(),
            wrong_in_many_ways(),
            core_module(),
            with_a_feature_that_is_off(),
        ];
        let different: std::collections::BTreeSet<&Vec<u8>> = made.iter().collect();
        assert_eq!(different.len(), made.len());
    }
}

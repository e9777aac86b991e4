//! The load report: each kind of broken plugin is one row with its exact reason and the next step, and harms no other.

use std::ffi::OsStr;

use hermes_tests::home::TestHome;
use hermes_tests::{components, guests, manifests};
use serde_json::Value;

/// What the report says about a file, as lines.
fn report_on(bytes: &[u8]) -> String {
    let home = TestHome::new();
    home.install_bytes("subject", bytes);
    let listed = home.row("subject");
    let problems = told(&listed);
    // Who installs is told the same as who lists, and nothing changes.
    let before = home.run(["plugins", "list", "--json"]).json()["generation"].clone();
    let path = home.work().join("subject.wasm");
    let refused =
        home.run([OsStr::new("plugins"), OsStr::new("install"), OsStr::new("--json"), path.as_os_str()]).expect(1);
    assert_eq!(refused.json()["problems"], listed["problems"], "install and list say different things");
    assert_eq!(home.run(["plugins", "list", "--json"]).json()["generation"], before);
    problems
}

/// A row as lines: state, and for each problem everything it says.
fn told(row: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let mut lines = vec![text(&row["state"])];
    for problem in row["problems"].as_array().unwrap() {
        lines.push(format!("{}: {}", text(&problem["code"]), text(&problem["subject"])).trim_end().to_owned());
        lines.push(format!("  wanted: {}", text(&problem["wanted"])));
        lines.push(format!("  offered: {}", text(&problem["offered"])));
        lines.push(format!("  {}", text(&problem["message"])));
        lines.push(format!("  next: {}", text(&problem["next"])));
    }
    lines.join("\n")
}

/// A component of the tests as a redactor named `subject`.
fn redactor(component: &[u8]) -> Vec<u8> {
    manifests::pack(component, &manifests::plain("subject", "redact"))
}

/// A guest under its own name, and what the report says about it.
fn report_on_guest(name: &str) -> String {
    let home = TestHome::new();
    home.install_bytes(name, &guests::packed(name, "redact"));
    told(&home.row(name))
}

#[test]
fn a_plugin_for_the_next_track_names_both_tracks() {
    insta::assert_snapshot!(report_on(&redactor(&components::hook_of_the_next_track())), @r"
    failed
    import-too-new: hermes:hook/types@0.2.0
      wanted: hermes:hook/types@0.2.0
      offered: hermes:hook@0.1.0
      built for hermes:hook 0.2; this hermes offers 0.1
      next: update hermes, or install a version of the plugin built for this track
    export-missing: hermes:hook/lifecycle@0.2.0
      wanted: hermes:hook/lifecycle@0.2.0
      offered: hermes:hook/lifecycle@0.1.0
      it exports hermes:hook/lifecycle@0.2.0; this hermes drives hermes:hook 0.1
      next: update hermes, or install a version of the plugin built for this track
    export-missing: hermes:hook/redact@0.2.0
      wanted: hermes:hook/redact@0.2.0
      offered: hermes:hook/redact@0.1.0
      it exports hermes:hook/redact@0.2.0; this hermes drives hermes:hook 0.1
      next: update hermes, or install a version of the plugin built for this track
    ");
}

#[test]
fn an_interface_that_is_gone_is_named() {
    insta::assert_snapshot!(report_on(&redactor(&components::imports_a_removed_interface())), @r"
    failed
    import-removed: hermes:host/env@0.1.1
      wanted: hermes:host/env@0.1.1
      offered: hermes:host@0.1.1
      hermes:host@0.1.1 has no interface 'env'; known: clock, count, http, log, scan, storage
      next: rebuild the plugin with the SDK of this hermes
    ");
}

#[test]
fn a_function_of_a_later_host_is_named() {
    insta::assert_snapshot!(report_on(&redactor(&components::imports_a_later_function())), @r"
    failed
    import-too-new: hermes:host/log@0.1.1#flush
      wanted: hermes:host/log@0.1.1#flush
      offered: hermes:host@0.1.1
      hermes:host@0.1.1 has no function 'flush' in 'log'
      next: update hermes, or build the plugin for the contract this hermes offers
    ");
}

#[test]
fn an_interface_of_the_next_track_is_named() {
    insta::assert_snapshot!(report_on(&redactor(&components::imports_the_next_track())), @r"
    failed
    import-too-new: hermes:host/log@0.2.0
      wanted: hermes:host/log@0.2.0
      offered: hermes:host@0.1.1
      built for hermes:host 0.2; this hermes offers 0.1
      next: update hermes, or install a version of the plugin built for this track
    ");
}

#[test]
fn a_changed_record_is_named_with_its_field() {
    insta::assert_snapshot!(report_on(&redactor(&components::exports_a_changed_record())), @r"
    failed
    export-shape: hermes:hook/redact@0.1.0#scan
      wanted: hermes:hook/redact@0.1.0#scan
      offered: hermes:hook@0.1.0
      hermes:hook/redact@0.1.0#scan has another shape than here: parameter 'context' has 9 fields, 8 here; not here: host
      next: rebuild the plugin with the SDK of this hermes
    ");
}

#[test]
fn a_changed_enum_is_named_with_its_case() {
    insta::assert_snapshot!(report_on(&redactor(&components::imports_a_changed_enum())), @r"
    failed
    import-shape: hermes:host/log@0.1.1#write
      wanted: hermes:host/log@0.1.1#write
      offered: hermes:host@0.1.1
      hermes:host/log@0.1.1#write has another shape than here: parameter 'level' has 6 names, 5 here; not here: notice
      next: rebuild the plugin with the SDK of this hermes: its interface was never released so
    ");
}

#[test]
fn wasi_http_is_offered_to_nobody() {
    insta::assert_snapshot!(report_on(&redactor(&components::imports_wasi_http())), @r"
    failed
    import-denied: wasi:http/types@0.2.3
      wanted: wasi:http/types@0.2.3
      offered: nothing
      wasi:http/types@0.2.3 is offered to no plugin
      next: build it without wasi:http; a notifier can use hermes:host/http instead
    ");
}

#[test]
fn an_interface_of_another_host_is_named() {
    insta::assert_snapshot!(report_on(&redactor(&components::imports_of_another_host())), @r"
    failed
    import-unknown: acme:tools/db@1.0.0
      wanted: acme:tools/db@1.0.0
      offered: hermes:host@0.1.1
      no version of hermes offers acme:tools/db@1.0.0
      next: build it against hermes:host only, or run it in the host it was made for
    ");
}

#[test]
fn a_redactor_that_could_send_is_refused() {
    insta::assert_snapshot!(report_on(&redactor(&components::redactor_that_talks())), @r"
    failed
    mixed-privilege: hermes:host/http@0.1.1
      wanted: hermes:host/http@0.1.1
      offered: log, count, scan for a raw-text hook
      it exports redact, which sees raw text, and imports hermes:host/http@0.1.1, which can carry it away
      next: split it: one component that sees raw text, and a notifier that talks
    ");
}

#[test]
fn a_plugin_that_redacts_and_notifies_is_refused() {
    let both = manifests::pack(&components::redacts_and_notifies(), &manifests::plain("subject", "redact notify"));
    insta::assert_snapshot!(report_on(&both), @r"
    failed
    mixed-privilege: notify
      wanted: none
      offered: none
      it exports redact, which sees raw text, and notify, which may send what it remembers of it
      next: split it into two components
    ");
}

#[test]
fn a_component_for_something_else_has_no_hooks() {
    insta::assert_snapshot!(report_on(&redactor(&components::without_hooks())), @r"
    failed
    no-hooks:
      wanted: none
      offered: hermes:hook@0.1.0
      it exports no hook of hermes
      next: export transform, redact or notify of hermes:hook (`hermes plugins new` writes a plugin that does)
    ");
}

#[test]
fn a_lifecycle_alone_is_no_plugin() {
    insta::assert_snapshot!(report_on(&redactor(&components::lifecycle_only())), @r"
    failed
    no-hooks:
      wanted: none
      offered: hermes:hook@0.1.0
      it exports no hook of hermes beside its lifecycle
      next: export transform, redact or notify of hermes:hook
    ");
}

#[test]
fn a_hook_without_a_lifecycle_is_no_plugin() {
    insta::assert_snapshot!(report_on(&redactor(&components::without_lifecycle())), @r"
    failed
    export-missing: hermes:hook/lifecycle@0.1.0
      wanted: nothing
      offered: hermes:hook/lifecycle@0.1.0
      it does not export hermes:hook/lifecycle@0.1.0
      next: export it: every plugin has a lifecycle
    ");
}

#[test]
fn a_hook_the_manifest_names_must_be_there() {
    let other = manifests::pack(&guests::component("good-redactor"), &manifests::plain("good-redactor", "transform"));
    let home = TestHome::new();
    home.install_bytes("good-redactor", &other);
    insta::assert_snapshot!(told(&home.row("good-redactor")), @r"
    failed
    export-missing: transform
      wanted: none
      offered: none
      plugin.toml names the hook transform, and the component does not export it
      next: correct 'hooks' in plugin.toml, or export the hook
    manifest: redact
      wanted: none
      offered: none
      the component exports the hook redact, and plugin.toml does not name it
      next: add it to 'hooks' in plugin.toml
    ");
}

#[test]
fn everything_wrong_is_said_at_once() {
    insta::assert_snapshot!(report_on(&redactor(&components::wrong_in_many_ways())), @r"
    failed
    import-unknown: acme:tools/db@1.0.0
      wanted: acme:tools/db@1.0.0
      offered: hermes:host@0.1.1
      no version of hermes offers acme:tools/db@1.0.0
      next: build it against hermes:host only, or run it in the host it was made for
    mixed-privilege: hermes:host/http@0.1.1
      wanted: hermes:host/http@0.1.1
      offered: log, count, scan for a raw-text hook
      it exports redact, which sees raw text, and imports hermes:host/http@0.1.1, which can carry it away
      next: split it: one component that sees raw text, and a notifier that talks
    export-shape: hermes:hook/redact@0.1.0#scan
      wanted: hermes:hook/redact@0.1.0#scan
      offered: hermes:hook@0.1.0
      hermes:hook/redact@0.1.0#scan has another shape than here: parameter 'context' has 9 fields, 8 here; not here: host
      next: rebuild the plugin with the SDK of this hermes
    ");
}

#[test]
fn a_core_module_is_not_a_component() {
    insta::assert_snapshot!(report_on(&components::core_module()), @r"
    failed
    core-module:
      wanted: none
      offered: none
      the file is a core WebAssembly module, not a component
      next: build it for wasm32-wasip2, or make a component of it with `wasm-tools component new`
    ");
}

#[test]
fn a_feature_that_is_off_is_named() {
    insta::assert_snapshot!(report_on(&redactor(&components::with_a_feature_that_is_off())), @r"
    failed
    wasm-feature:
      wanted: none
      offered: none
      it needs a feature of WebAssembly that this hermes does not enable: memory64 must be enabled for 64-bit memories (at byte 21)
      next: build it for wasm32-wasip2 without threads, garbage collection, 64-bit memory or async
    ");
}

#[test]
fn a_cut_file_is_damaged() {
    let whole = guests::packed("good-redactor", "redact");
    insta::with_settings!({filters => vec![(r"the file is damaged: .*", "the file is damaged: [why]")]}, {
        insta::assert_snapshot!(report_on(&whole[..whole.len() / 2]), @r"
        failed
        invalid-wasm:
          wanted: none
          offered: none
          the file is damaged: [why]
          next: copy or build it again; compare its digest with the author's
        ");
    });
}

#[test]
fn a_text_file_is_not_webassembly() {
    insta::assert_snapshot!(report_on(b"#!/bin/sh\necho hello\n"), @r"
    failed
    not-wasm:
      wanted: none
      offered: none
      the file is not WebAssembly
      next: give the .wasm file the build wrote
    ");
}

#[test]
fn an_empty_file_is_not_webassembly() {
    insta::assert_snapshot!(report_on(b""), @r"
    failed
    not-wasm:
      wanted: none
      offered: none
      the file is not WebAssembly
      next: give the .wasm file the build wrote
    ");
}

#[test]
fn a_component_that_was_never_packed_lacks_its_manifest() {
    insta::assert_snapshot!(report_on(&guests::component("good-redactor")), @r"
    failed
    manifest: plugin.toml
      wanted: none
      offered: none
      the component has no manifest inside
      next: put plugin.toml beside it and run `hermes plugins pack`, or install the folder
    ");
}

#[test]
fn an_unknown_key_in_the_manifest_is_refused_with_a_suggestion() {
    let manifest = manifests::plain("subject", "redact").replace("license", "licence");
    let bytes = manifests::pack(&guests::component("good-redactor"), &manifest);
    insta::assert_snapshot!(report_on(&bytes), @r"
    failed
    manifest: plugin.toml
      wanted: none
      offered: none
      plugin.toml line 4: unknown key 'licence'; did you mean 'license'?
      next: correct plugin.toml (the book's chapter on it lists every key) and pack the plugin again
    ");
}

#[test]
fn a_plugin_for_another_hermes_says_for_which() {
    let manifest = manifests::plain("subject", "redact").replace(">=0.1", ">=9");
    insta::assert_snapshot!(report_on(&manifests::pack(&components::traps_everywhere(), &manifest)), @r"
    failed
    requires-hermes: requires-hermes
      wanted: >=9
      offered: 0.1.0
      it is for hermes >=9; this is 0.1.0
      next: install a version of the plugin for this hermes, or the hermes it is for
    ");
}

#[test]
fn a_plugin_with_another_name_inside_is_refused() {
    insta::assert_snapshot!(report_on(&redactor(&guests::component("good-redactor"))), @r"
    failed
    manifest: name
      wanted: good-redactor 1.0.0
      offered: subject 1.0.0
      plugin.toml says subject 1.0.0, the component good-redactor 1.0.0
      next: give both the same name and version, build and pack again
    ");
}

#[test]
fn a_plugin_that_traps_when_it_starts_says_where() {
    insta::assert_snapshot!(report_on(&redactor(&components::traps_everywhere())), @r"
    failed
    start-trap: describe
      wanted: none
      offered: none
      it trapped in describe
      next: `hermes plugins test -v` shows the plugin's log; report it to its author
    ");
}

#[test]
fn a_loop_in_configure_is_ended() {
    insta::assert_snapshot!(report_on_guest("loops-in-configure"), @r"
    failed
    limits: configure
      wanted: none
      offered: none
      configure did not return within 1s of CPU time
      next: `hermes plugins test -v` shows the plugin's log; report it to its author
    ");
}

#[test]
fn memory_without_end_is_refused() {
    insta::assert_snapshot!(report_on_guest("allocates-in-configure"), @r"
    failed
    limits: configure
      wanted: none
      offered: none
      configure needs more memory than its limit of 67108864 bytes
      next: raise memory_bytes in the plugin's [plugins.NAME.limits] of config.toml, or report it to its author
    ");
}

#[test]
fn a_plugin_that_traps_in_each_call_does_not_load() {
    insta::assert_snapshot!(report_on_guest("traps-on-each-call"), @r"
    failed
    start-trap: redact
      wanted: none
      offered: none
      it trapped in redact
      next: `hermes plugins test -v` shows the plugin's log; report it to its author
    ");
}

#[test]
fn refused_settings_show_the_plugins_word_and_not_its_message() {
    let told = report_on_guest("refuses-settings");
    assert!(!told.contains("nothing pleases"), "{told}");
    insta::assert_snapshot!(told, @r"
    failed
    config-invalid: configure
      wanted: none
      offered: none
      it refuses its settings: bad-settings
      next: correct [plugins.refuses-settings.settings] in config.toml; `hermes plugins why refuses-settings -v` shows what the plugin says
    ");
}

#[test]
fn a_failed_self_test_shows_the_plugins_word_and_not_its_message() {
    let told = report_on_guest("fails-self-test");
    assert!(!told.contains("never works"), "{told}");
    insta::assert_snapshot!(told, @r"
    failed
    self-test: self-test
      wanted: none
      offered: none
      its self-test failed: broken
      next: `hermes plugins test -v` shows what the plugin says; report it to its author
    ");
}

#[test]
fn a_canary_that_shows_something_else_keeps_the_plugin_out() {
    let home = TestHome::new();
    let manifest =
        manifests::with_canary(&manifests::plain("good-redactor", "redact"), "a number", "id 12345", &["id"]);
    home.install_bytes("good-redactor", &manifests::pack(&guests::component("good-redactor"), &manifest));
    insta::assert_snapshot!(told(&home.row("good-redactor")), @r"
    failed
    canary: a number
      wanted: id
      offered: no mask
      canary 'a number' must show id; it showed no mask
      next: do not rely on the plugin: report it to its author, or install another version
    ");
    let why = home.run(["plugins", "why", "good-redactor", "--json"]).expect(0).json();
    let canary = &why["canaries"][0];
    assert_eq!((&canary["name"], &canary["ok"]), (&Value::from("a number"), &Value::from(false)), "{why}");
    assert_eq!((&canary["expected"], &canary["got"]), (&Value::from("id"), &Value::from("no mask")), "{why}");
}

#[test]
fn spans_out_of_range_in_a_canary_are_a_reason_not_to_load() {
    let home = TestHome::new();
    let plain = manifests::plain("spans-out-of-range", "redact");
    let manifest = manifests::with_canary(&plain, "a place that does not exist", "BEYOND the end", &[]);
    home.install_bytes("spans-out-of-range", &manifests::pack(&guests::component("spans-out-of-range"), &manifest));
    insta::assert_snapshot!(told(&home.row("spans-out-of-range")), @r"
    failed
    canary: a place that does not exist
      wanted: no mask
      offered: a span from 0 to 1000014, which is no place in its 14 bytes
      canary 'a place that does not exist' must show no mask; it showed a span from 0 to 1000014, which is no place in its 14 bytes
      next: do not rely on the plugin: report it to its author, or install another version
    ");
}

#[test]
fn a_setting_the_schema_does_not_know_is_refused_by_name() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    home.configure("[plugins.good-redactor.settings]\nwidth = 3\n");
    insta::assert_snapshot!(told(&home.row("good-redactor")), @r"
    failed
    config-invalid: width
      wanted: none
      offered: none
      setting 'width' is given, and the plugin has no settings
      next: correct [plugins.good-redactor.settings] in config.toml
    ");
}

/// Every kind in one home.
fn zoo() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let named = |name: &str, component: Vec<u8>| manifests::pack(&component, &manifests::plain(name, "redact"));
    let canary = manifests::with_canary(&manifests::plain("spans-out-of-range", "redact"), "odd", "BEYOND", &["even"]);
    let cut = guests::packed("good-transform", "transform");
    vec![
        ("next-track", named("next-track", components::hook_of_the_next_track()), "import-too-new"),
        ("removed", named("removed", components::imports_a_removed_interface()), "import-removed"),
        ("record", named("record", components::exports_a_changed_record()), "export-shape"),
        ("wasi-http", named("wasi-http", components::imports_wasi_http()), "import-denied"),
        ("another-host", named("another-host", components::imports_of_another_host()), "import-unknown"),
        ("talks", named("talks", components::redactor_that_talks()), "mixed-privilege"),
        ("core", components::core_module(), "core-module"),
        ("cut", cut[..cut.len() - 7].to_vec(), "invalid-wasm"),
        ("text", b"hello".to_vec(), "not-wasm"),
        ("hookless", named("hookless", components::without_hooks()), "no-hooks"),
        ("loops-in-configure", guests::packed("loops-in-configure", "redact"), "limits"),
        ("allocates-in-configure", guests::packed("allocates-in-configure", "redact"), "limits"),
        ("traps-on-each-call", guests::packed("traps-on-each-call", "redact"), "start-trap"),
        ("spans-out-of-range", manifests::pack(&guests::component("spans-out-of-range"), &canary), "canary"),
    ]
}

#[test]
fn every_kind_of_broken_plugin_is_one_row_and_the_others_are_loaded() {
    let home = TestHome::new();
    let zoo = zoo();
    for (name, bytes, _) in &zoo {
        home.install_bytes(name, bytes);
    }
    home.install_guest("good-redactor", "redact");
    home.install_guest("quiet-notifier", "notify");

    let list = home.run(["plugins", "list", "--json"]).expect(0).json();
    assert_eq!(list["asked"], "disk", "{list}");
    let rows = list["plugins"].as_array().unwrap();
    for (name, _, code) in &zoo {
        let mine: Vec<&Value> = rows.iter().filter(|row| row["name"] == *name).collect();
        assert_eq!(mine.len(), 1, "{name} is one row");
        assert_eq!(
            (&mine[0]["state"], &mine[0]["problems"][0]["code"]),
            (&"failed".into(), &(*code).into()),
            "{name}: {}",
            mine[0]
        );
        assert!(!mine[0]["problems"][0]["next"].as_str().unwrap().is_empty(), "{name} has no next step");
    }
    for name in ["redact-secrets", "summarize-output", "good-redactor", "quiet-notifier"] {
        let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!((&row["state"], &row["problems"]), (&"loaded".into(), &Value::Array(Vec::new())), "{row}");
    }
    assert_eq!(rows.len(), zoo.len() + 4);

    // For people too: each name and code in the table, and the exit code says nothing is wrong with the question.
    let table = home.run(["plugins", "list"]).expect(0);
    for (name, _, code) in &zoo {
        assert!(table.stdout.contains(name) && table.stdout.contains(code), "{name} {code} in\n{}", table.stdout);
    }
    assert!(table.stdout.contains("next: "), "{}", table.stdout);
    drop(home.run(["plugins", "list", "--strict"]).expect(1));
    drop(home.run(["plugins", "list", "--strict", "--json"]).expect(1));
}

#[test]
fn strict_is_content_when_everything_enabled_is_loaded() {
    let home = TestHome::new();
    drop(home.run(["plugins", "list", "--strict"]).expect(0));
    home.install_bytes("text", b"hello");
    drop(home.run(["plugins", "list", "--strict"]).expect(1));
    drop(home.run(["plugins", "disable", "text"]).expect(0));
    drop(home.run(["plugins", "list", "--strict"]).expect(0));
}

#[test]
fn a_row_has_exactly_its_documented_fields() {
    let home = TestHome::new();
    home.install_bytes("text", b"hello");
    let list = home.run(["plugins", "list", "--json"]).expect(0).json();
    assert_eq!(keys(&list), ["home", "generation", "asked", "plugins", "hosts"]);
    for row in list["plugins"].as_array().unwrap() {
        let fields = "name version state enabled order hooks api source digest description permissions calls failures \
                      p50_us p99_us problems serving hosts";
        assert_eq!(keys(row).join(" "), fields);
        assert_eq!(keys(&row["api"]), ["hook", "host"]);
        assert_eq!(keys(&row["permissions"]), ["asked", "granted"]);
    }
    let problem = &home.row("text")["problems"][0];
    assert_eq!(keys(problem), ["code", "subject", "wanted", "offered", "message", "next"]);
    let why = home.run(["plugins", "why", "text", "--json"]).expect(0).json();
    let fields = "name version digest state problems steps canaries asked serving hosts";
    assert_eq!(keys(&why).join(" "), fields);
    assert_eq!(keys(&why["steps"][0]), ["step", "ok", "ms"]);
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

//! The official conformance suite: against a server of the official SDK alone, with hermes before it, and against hermes.

use std::collections::BTreeMap;

use hermes_tests::home::TestHome;
use hermes_tests::leavings;
use hermes_tests::peers::{self, Checks, Listening, Script};
use hermes_tests::wait::{self, PATIENCE};

/// The scenarios for a gateway: what they ask for is there whatever its servers are called.
const OF_A_GATEWAY: [&str; 8] = [
    "server-initialize",
    "logging-set-level",
    "ping",
    "tools-list",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
];

/// Why the others are none for a gateway: each calls something by the name it has at a server of its own, and a gateway
/// has it under the name of the server too.
const NOT_OF_A_GATEWAY: [(&str, &str); 24] = [
    ("completion-complete", "asks about the prompt test_prompt_with_arguments"),
    ("tools-call-simple-text", "calls test_simple_text"),
    ("tools-call-image", "calls test_image_content"),
    ("tools-call-audio", "calls test_audio_content"),
    ("tools-call-embedded-resource", "calls test_embedded_resource"),
    ("tools-call-mixed-content", "calls test_multiple_content_types"),
    ("tools-call-with-logging", "calls test_tool_with_logging"),
    ("tools-call-error", "calls test_error_handling"),
    ("tools-call-with-progress", "calls test_tool_with_progress"),
    ("tools-call-sampling", "calls test_sampling; a server that is shared has no one client whose model it could ask"),
    ("tools-call-elicitation", "calls test_elicitation; a server that is shared has no one user it could ask"),
    ("json-schema-2020-12", "looks for json_schema_2020_12_tool"),
    ("elicitation-sep1034-defaults", "calls test_elicitation_sep1034_defaults, and asks the user"),
    ("elicitation-sep1330-enums", "calls test_elicitation_sep1330_enums, and asks the user"),
    ("server-sse-polling", "calls test_reconnection"),
    ("resources-read-text", "reads test://static-text"),
    ("resources-read-binary", "reads test://static-binary"),
    ("resources-templates-read", "reads test://template/123/data"),
    ("resources-subscribe", "subscribes to test://watched-resource"),
    ("resources-unsubscribe", "unsubscribes from test://watched-resource"),
    ("prompts-get-simple", "gets test_simple_prompt"),
    ("prompts-get-with-args", "gets test_prompt_with_arguments"),
    ("prompts-get-embedded-resource", "gets test_prompt_with_embedded_resource"),
    ("prompts-get-with-image", "gets test_prompt_with_image"),
];

/// What a server of the official SDK does not pass without a warning: its transport does not begin a stream as the newest
/// version says when a request names an older one.
const WARNED_ALONE: [&str; 1] = ["server-sse-polling"];

fn assert_passed<S: AsRef<str>>(found: &BTreeMap<String, Checks>, wanted: &[S], warned: &[&str]) {
    for scenario in wanted.iter().map(AsRef::as_ref) {
        let checks = found.get(scenario).unwrap_or_else(|| panic!("{scenario} did not run"));
        assert!(!checks.is_empty(), "{scenario} checked nothing");
        let bad = |status: &str| status == "FAILURE" || (status == "WARNING" && !warned.contains(&scenario));
        let bad: Vec<_> = checks.iter().filter(|(status, _)| bad(status)).collect();
        assert!(bad.is_empty(), "{scenario}: {bad:?}");
    }
}

#[test]
fn each_scenario_either_is_for_a_gateway_or_is_left_out_for_a_reason() {
    let mut listed: Vec<&str> = OF_A_GATEWAY.to_vec();
    listed.extend(NOT_OF_A_GATEWAY.map(|(scenario, _)| scenario));
    listed.sort_unstable();
    let mut all = peers::scenarios();
    all.sort_unstable();
    assert_eq!(listed, all);
    assert!(NOT_OF_A_GATEWAY.iter().all(|(_, reason)| !reason.is_empty()));
}

#[test]
fn the_fixture_passes_every_scenario_alone() {
    let script = Script::of("fixture.mjs");
    let mut fixture = script.command();
    fixture.args(["--http", "0"]);
    let fixture = Listening::start(fixture);
    assert_passed(&peers::conformance(fixture.url()), &peers::scenarios(), &WARNED_ALONE);
}

#[test]
fn with_hermes_before_it_the_fixture_passes_every_scenario() {
    let home = TestHome::new();
    let script = Script::of("fixture.mjs");
    let node = peers::node();
    let before = ["mcp", "wrap", "--http", "127.0.0.1:0", "--no-token", "--", node.to_str().unwrap(), script.text()];
    let wrapped = Listening::start(home.command(before));
    assert_passed(&peers::conformance(wrapped.url()), &peers::scenarios(), &[]);
    assert_eq!(wrapped.end(), Some(128 + 15), "it says which signal ended it");
    nothing_is_left(&home);
}

#[test]
fn a_gateway_passes_every_scenario_that_is_for_one() {
    let home = TestHome::new();
    let script = Script::of("fixture.mjs");
    home.configure(&format!(
        "[mcp_servers.fixture]\ncommand = {:?}\nargs = [{:?}]\n",
        peers::node().to_str().unwrap(),
        script.text(),
    ));
    let gateway = Listening::start(home.command(["mcp", "serve", "--http", "127.0.0.1:0", "--no-token"]));
    assert_passed(&peers::conformance(gateway.url()), &OF_A_GATEWAY, &[]);
    assert_eq!(gateway.end(), Some(0));
    nothing_is_left(&home);
}

fn nothing_is_left(home: &TestHome) {
    wait::until("everything to be gone", PATIENCE, || leavings::of(home.everything()).is_empty().then_some(()));
}

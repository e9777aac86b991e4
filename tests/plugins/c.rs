//! Plugins in C, built by hermes with the compiler it installs: they do what plugins in Rust do, and may no more.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_model::context::{Context, Surface};
use hermes_output::policy::{Findings, Policy, Transformed, Window};
use hermes_tests::examples;
use hermes_tests::home::TestHome;
use hermes_tests::policy::{only, open, streamed, view};
use proptest::prelude::*;

/// A new project in C with this as its plugin, built. The name is in `plugin.toml`, and must be in the source.
fn project(home: &TestHome, name: &str, hook: &str, source: &str) -> PathBuf {
    examples::lend_c_compiler(home);
    drop(home.run(["plugins", "new", name, "--hook", hook, "--lang", "c"]).expect(0));
    let folder = home.work().join(name);
    fs::write(folder.join("plugin.c"), source).unwrap();
    fs::write(folder.join("plugin.toml"), hermes_tests::manifests::plain(name, hook)).unwrap();
    examples::build(home, &folder);
    folder
}

/// A redactor of the version the plain manifest has, whose scan is this.
fn redactor(name: &str, scan: &str) -> String {
    format!(
        "#include <stdio.h>\n#include <stdlib.h>\n#include \"hermes_plugin.h\"\n\
         const hermes_descriptor hermes_plugin = {{.name = \"{name}\", .version = \"1.0.0\"}};\n\
         bool hermes_scan(const hermes_context *context, const hermes_window *window, hermes_findings *findings,\n\
         hermes_failure *failure) {{\n(void)context;(void)window;(void)findings;(void)failure;\n{scan}\nreturn true;\n}}\n"
    )
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn each_example_in_c_and_in_rust_shows_what_its_manifest_says() {
    let home = TestHome::new();
    for (name, _) in examples::NAMES {
        for plugin in [examples::rust(&home, name), examples::c(&home, name)] {
            let report = home.run(["plugins", "test", path(&plugin), "--json"]).expect(0).json();
            let cases = report["cases"].as_array().unwrap();
            assert!(cases.iter().filter(|case| case["name"].as_str().unwrap().starts_with("canary")).count() > 1);
        }
    }
}

#[test]
fn a_new_project_of_each_hook_is_built_and_tested_and_loads() {
    let home = TestHome::new();
    examples::lend_c_compiler(&home);
    for hook in ["redact", "transform", "notify"] {
        let name = format!("my-{hook}");
        drop(home.run(["plugins", "new", &name, "--hook", hook, "--lang", "c"]).expect(0));
        examples::build(&home, &home.work().join(&name));
        drop(home.run(["plugins", "test", &name]).expect(0));
        drop(home.run(["plugins", "install", &name]).expect(0));
        assert_eq!(home.row(&name)["state"], "loaded");
    }
    let shown = home.run(["run", "--", "echo", "user id-42 left"]).expect(0).stdout;
    assert_eq!(shown, "user [REDACTED:id] left\n");
}

#[test]
fn settings_of_each_kind_arrive_and_one_of_another_kind_is_refused() {
    let home = TestHome::new();
    let source = r#"
        #include "hermes_plugin.h"
        const hermes_descriptor hermes_plugin = {.name = "reads", .version = "1.0.0"};
        static hermes_text word;
        static hermes_texts words;
        static bool yes;
        static int64_t whole = 7;
        static double broken;
        static bool absent;
        bool hermes_configure(const hermes_settings *settings, hermes_failure *failure) {
            (void)failure;
            hermes_setting_text(settings, "word", &word);
            hermes_setting_texts(settings, "words", &words);
            hermes_setting_bool(settings, "yes", &yes);
            hermes_setting_integer(settings, "whole", &whole);
            hermes_setting_number(settings, "broken", &broken);
            absent = !hermes_setting_integer(settings, "absent", &whole);
            return true;
        }
        bool hermes_apply(const hermes_context *context, hermes_text text, hermes_outcome *outcome,
                          hermes_failure *failure) {
            (void)context;
            (void)text;
            (void)failure;
            hermes_builder all = {0};
            hermes_add(&all, word);
            for (size_t i = 0; i < words.len; i += 1) {
                hermes_add_str(&all, "|");
                hermes_add(&all, words.at[i]);
            }
            hermes_add_str(&all, yes ? "|yes|" : "|no|");
            hermes_add_str(&all, whole < 0 ? "-" : "");
            hermes_add_number(&all, (uint64_t)(whole < 0 ? -whole : whole));
            hermes_add_str(&all, "|");
            hermes_add_number(&all, (uint64_t)(broken * 100));
            hermes_add_str(&all, absent ? "|absent" : "|there");
            hermes_replace_all(outcome, hermes_built(&all));
            return true;
        }
    "#;
    let folder = project(&home, "reads", "transform", source);
    let schema = format!("{}\n[settings]\ntype = \"object\"\n", hermes_tests::manifests::plain("reads", "transform"));
    fs::write(folder.join("plugin.toml"), schema).unwrap();
    let settings = |text: &str| {
        home.configure(&format!("[plugins.reads.settings]\n{text}"));
        let policy = open(&home).policy();
        policy.transform(0, &Context::new(Surface::Foreground), "x")
    };
    only(&home, [folder]);
    let said = settings(
        "nested = { word = \"wrong\", list = [1, { x = \"}\" }] }\nword = \"a \\\"\\\\ \\u0001 é 🙂\"\n\
         words = [\"\", \"one\\n\", \"two\"]\nyes = true\nwhole = -42\nbroken = 1.25e0\n",
    );
    let wanted = "a \"\\ \u{1} é 🙂||one\n|two|yes|-42|125|absent";
    assert_eq!(said, Ok(Transformed::Replaced(wanted.to_owned())));
    let unset = settings("");
    assert_eq!(unset, Ok(Transformed::Replaced("|no|7|0|absent".to_owned())));
    home.configure("[plugins.reads.settings]\nwords = [\"one\", 2]\n");
    let row = home.row("reads");
    assert_ne!(row["state"], "loaded", "{row}");
    assert!(row.to_string().contains("bad-settings"), "{row}");
}

#[test]
fn what_a_plugin_prints_is_in_its_log_and_nowhere_else() {
    let home = TestHome::new();
    let source = redactor("prints", "printf(\"saw %.*s\\n\", (int)window->text.len, window->text.at); fflush(stdout);");
    let folder = project(&home, "prints", "redact", &source);
    let manifest = hermes_tests::manifests::with_canary(
        &hermes_tests::manifests::plain("prints", "redact"),
        "a word",
        "canary-word",
        &[],
    );
    fs::write(folder.join("plugin.toml"), manifest).unwrap();
    let tested = home.run(["plugins", "test", "-v", path(&folder)]).expect(0).all();
    assert!(tested.contains("saw canary-word"), "{tested}");
    drop(home.run(["plugins", "install", path(&folder)]).expect(0));
    let ran = home.run(["run", "--", "sh", "-c", "echo ordinary-$((20+22))"]).expect(0);
    assert_eq!(ran.stdout, "ordinary-42\n");
    assert!(!ran.all().contains("saw"), "{ran:?}");
    assert_eq!(home.files_with("saw ordinary"), Vec::<PathBuf>::new());
}

#[test]
fn a_place_out_of_range_masks_and_never_shows_what_it_was_meant_for() {
    let home = TestHome::new();
    let source = redactor(
        "astray",
        "size_t word = hermes_search(window->text, hermes_str(\"secret\"), 0);\n\
         if (word != HERMES_NOWHERE) {\n\
         hermes_mask(findings, word - 2, window->text.len + 1000, \"astray\"); }\n\
         if (hermes_search(window->text, hermes_str(\"outside\"), 0) != HERMES_NOWHERE) {\n\
         hermes_mask(findings, SIZE_MAX - 1, SIZE_MAX, \"astray\"); }",
    );
    only(&home, [project(&home, "astray", "redact", &source)]);
    let policy = open(&home).policy();
    // It begins inside a letter and ends behind the text.
    assert_eq!(view(&*policy, "say 🙂secret-word").text.as_str(), "say [REDACTED:astray]");
    // Where nothing of the text is meant, nobody knows what was.
    assert_eq!(view(&*policy, "say outside-word").text.as_str(), "[REDACTED:astray]");
}

#[test]
fn a_trap_an_abort_and_a_failure_withhold_the_text() {
    let home = TestHome::new();
    let source = redactor(
        "falls",
        "if (hermes_search(window->text, hermes_str(\"TRAP\"), 0) != HERMES_NOWHERE) { __builtin_trap(); }\n\
         if (hermes_search(window->text, hermes_str(\"ABORT\"), 0) != HERMES_NOWHERE) { abort(); }\n\
         if (hermes_search(window->text, hermes_str(\"EXIT\"), 0) != HERMES_NOWHERE) { exit(3); }\n\
         if (hermes_search(window->text, hermes_str(\"FAIL\"), 0) != HERMES_NOWHERE) {\n\
         return hermes_fail(failure, \"cannot\", window->text.at); }\n\
         if (hermes_search(window->text, hermes_str(\"DEEP\"), 0) != HERMES_NOWHERE) {\n\
         hermes_hold(findings, deep(window->text.at, 1 << 20)); }",
    );
    // Deeper than the stack.
    let deep = "__attribute__((noinline)) size_t deep(const char *text, size_t depth) {\n\
                volatile char frame[64];\nframe[depth % 64] = text[0];\n\
                return depth == 0 ? 0 : deep(text, depth - 1) + (size_t)frame[depth % 64];\n}\nbool hermes_scan";
    let source = source.replacen("bool hermes_scan", deep, 1);
    only(&home, [project(&home, "falls", "redact", &source)]);
    let policy = open(&home).policy();
    for (word, code) in [("TRAP", "trap"), ("ABORT", "trap"), ("DEEP", "trap"), ("FAIL", "cannot")] {
        let shown = view(&*policy, &format!("my secret {word} word\n")).text;
        assert_eq!(shown.as_str(), format!("[output withheld: falls: {code}]"));
    }
    let shown = view(&*policy, "my secret EXIT word\n").text;
    assert!(shown.as_str().starts_with("[output withheld: falls: "), "{}", shown.as_str());
    assert_eq!(view(&*policy, "nothing of the kind\n").text.as_str(), "nothing of the kind\n");
}

#[test]
fn memory_does_not_grow_from_call_to_call() {
    let home = TestHome::new();
    // What a call takes, of every kind there is, is given back when it ends.
    let source = r#"
        #include "hermes_plugin.h"
        const hermes_descriptor hermes_plugin = {.name = "measures", .version = "1.0.0"};
        bool hermes_apply(const hermes_context *context, hermes_text text, hermes_outcome *outcome,
                          hermes_failure *failure) {
            (void)context;
            hermes_builder copy = {0};
            for (size_t i = 0; i < 8; i += 1) {
                hermes_add(&copy, text);
                hermes_replace(outcome, i, i + 1, text);
            }
            hermes_memory(4096);
            hermes_fail(failure, "unused", "a failure that is not answered");
            hermes_builder pages = {0};
            hermes_add_number(&pages, __builtin_wasm_memory_size(0));
            hermes_replace_all(outcome, hermes_built(&pages));
            return true;
        }
    "#;
    only(&home, [project(&home, "measures", "transform", source)]);
    let policy = open(&home).policy();
    let text = "a line of some length\n".repeat(200);
    let pages = || match policy.transform(0, &Context::new(Surface::Foreground), &text) {
        Ok(Transformed::Replaced(pages)) => pages.parse::<u64>().unwrap(),
        other => panic!("{other:?}"),
    };
    // The allocator takes what it needs within the first calls.
    let first = (0..50).map(|_| pages()).max();
    assert_eq!((0..5_000).map(|_| pages()).max(), first);
}

#[test]
fn a_pattern_set_is_found_and_a_counter_is_counted() {
    let home = TestHome::new();
    let source = r#"
        #include "hermes_plugin.h"
        static const char *const counters[] = {"found", NULL};
        static const char *const patterns[] = {"id-[0-9]+", "\\bkey\\b", NULL};
        static const hermes_pattern_set sets[] = {{"ids", patterns, true}, {0}};
        const hermes_descriptor hermes_plugin = {"finds", "1.0.0", counters, sets};
        bool hermes_scan(const hermes_context *context, const hermes_window *window, hermes_findings *findings,
                         hermes_failure *failure) {
            (void)context;
            (void)window;
            hermes_hits hits;
            if (hermes_find("none", &hits) != HERMES_UNKNOWN_SET || hermes_find("ids", &hits) != HERMES_FOUND) {
                return hermes_fail(failure, "no-hits", "the host did not search");
            }
            for (size_t i = 0; i < hits.len; i += 1) {
                hermes_mask(findings, hits.at[i].start, hits.at[i].end, hits.at[i].pattern == 0 ? "id" : "key");
            }
            hermes_count("found", hits.len);
            return true;
        }
    "#;
    only(&home, [project(&home, "finds", "redact", source)]);
    let policy = open(&home).policy();
    assert_eq!(view(&*policy, "é ID-7, a KEY\n").text.as_str(), "é [REDACTED:id], a [REDACTED:key]\n");
}

#[test]
fn the_sdk_and_its_bindings_compile_without_a_warning() {
    let home = TestHome::new();
    examples::lend_c_compiler(&home);
    for hook in ["redact", "transform", "notify"] {
        drop(home.run(["plugins", "new", hook, "--hook", hook, "--lang", "c"]).expect(0));
        let folder = home.work().join(hook);
        for entry in fs::read_dir(folder.join("vendor")).unwrap().chain(fs::read_dir(&folder).unwrap()) {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|extension| extension == "c") {
                // The build asks for -Wall and -Wextra.
                let text = fs::read_to_string(&file).unwrap();
                fs::write(
                    &file,
                    format!(
                        "#pragma clang diagnostic error \"-Wall\"\n#pragma clang diagnostic error \"-Wextra\"\n{text}"
                    ),
                )
                .unwrap();
            }
        }
        examples::build(&home, &folder);
    }
}

/// Findings as they compare: in order.
fn sorted(mut findings: Findings) -> Findings {
    findings.spans.sort_by(|a, b| (a.start, a.end, &a.rule).cmp(&(b.start, b.end, &b.rule)));
    findings
}

/// Texts of what a redactor of tickets looks at: tickets, halves of them, line breaks of every kind, letters of every width.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("ACME-".to_owned()),
        Just("ACME".to_owned()),
        "ACME-[0-9]{1,5}",
        "OTHER-[0-9]{1,3}",
        "[0-9]{1,3}",
        Just("-".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("🙂".to_owned()),
        Just("é\u{301}".to_owned()),
        "[a-zA-Z ]{0,6}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_redactor_in_c_and_one_in_rust_find_the_same() {
    let (in_c, in_rust) = (TestHome::new(), TestHome::new());
    only(&in_c, [examples::c(&in_c, "mask-tickets")]);
    only(&in_rust, [examples::rust(&in_rust, "mask-tickets")]);
    let (in_c, in_rust) = (open(&in_c).policy(), open(&in_rust).policy());
    let context = Context::new(Surface::Stream);
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(text in text(), last in any::<bool>(), front_cut in any::<bool>(), cut in any::<prop::sample::Index>())| {
        let window = Window { text: &text, fresh_from: 0, front_cut, last };
        let found = [&in_c, &in_rust].map(|policy| policy.redact(&context, &window).map(sorted));
        prop_assert_eq!(&found[0], &found[1]);
        // As a stream shows it, cut anywhere, inside a letter as well.
        let at = cut.index(text.len() + 1);
        let pieces = [&text.as_bytes()[..at], &text.as_bytes()[at..]];
        prop_assert_eq!(streamed(&*in_c, pieces), streamed(&*in_rust, pieces));
    });
}

/// A transform that takes its text for settings, and says what each reader makes of the setting `a`.
const READER: &str = r#"
    #include "hermes_internal.h"
    const hermes_descriptor hermes_plugin = {.name = "reader", .version = "1.0.0"};
    bool hermes_apply(const hermes_context *context, hermes_text text, hermes_outcome *outcome,
                      hermes_failure *failure) {
        (void)context;
        (void)failure;
        const char *wrong = NULL;
        hermes_settings settings = {text, &wrong};
        hermes_text word;
        hermes_texts words;
        bool yes;
        int64_t whole;
        double number;
        hermes_builder said = {0};
        if (hermes_setting_text(&settings, "a", &word)) {
            hermes_add_str(&said, "text ");
            hermes_add(&said, word);
        }
        if (hermes_setting_texts(&settings, "a", &words)) {
            hermes_add_str(&said, "texts");
            for (size_t i = 0; i < words.len; i += 1) {
                hermes_add_str(&said, " ");
                hermes_add(&said, words.at[i]);
            }
        }
        if (hermes_setting_bool(&settings, "a", &yes)) {
            hermes_add_str(&said, yes ? "yes" : "no");
        }
        if (hermes_setting_integer(&settings, "a", &whole)) {
            hermes_add_str(&said, whole < 0 ? "whole -" : "whole ");
            hermes_add_number(&said, whole < 0 ? -(uint64_t)whole : (uint64_t)whole);
        }
        if (hermes_setting_number(&settings, "a", &number)) {
            hermes_add_str(&said, "; a number");
        }
        hermes_replace_all(outcome, hermes_built(&said));
        return true;
    }
"#;

/// What the readers must say of a setting.
fn read(setting: Option<&serde_json::Value>) -> String {
    use serde_json::Value;
    match setting {
        Some(Value::String(text)) => format!("text {text}"),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            format!("texts{}", items.iter().map(|item| format!(" {}", item.as_str().unwrap())).collect::<String>())
        }
        Some(Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
        Some(Value::Number(number)) => match number.as_i64() {
            Some(whole) => format!("whole {whole}; a number"),
            None => "; a number".to_owned(),
        },
        _ => String::new(),
    }
}

/// JSON of every kind.
fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::from(i64::MIN)),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z\"\\\\{}\\[\\],:\n\u{1}é🙂]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec("[a-c\"]{0,3}".prop_map(Value::from), 0..4).prop_map(Value::from),
            object(inner),
        ]
    })
}

fn object(values: impl Strategy<Value = serde_json::Value>) -> impl Strategy<Value = serde_json::Value> {
    prop::collection::vec(("[ab\"\\\\]{1,2}", values), 0..5)
        .prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect()))
}

#[test]
fn settings_are_read_as_json_is_and_broken_ones_do_no_harm() {
    let home = TestHome::new();
    only(&home, [project(&home, "reader", "transform", READER)]);
    let policy = open(&home).policy();
    let said = |text: &str| match policy.transform(0, &Context::new(Surface::Foreground), text) {
        Ok(Transformed::Replaced(said)) => said,
        other => panic!("{other:?}"),
    };
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(settings in object(json()), cut in any::<prop::sample::Index>())| {
        let pretty = serde_json::to_string_pretty(&settings).unwrap();
        prop_assert_eq!(said(&settings.to_string()), read(settings.get("a")));
        prop_assert_eq!(said(&pretty), read(settings.get("a")));
        let mut at = cut.index(pretty.len());
        while !pretty.is_char_boundary(at) {
            at -= 1;
        }
        said(&pretty[..at]);
        said(&pretty[at..]);
    });
    assert_eq!(said(r#"{"\u0061": "\ud83d\ude42\u00e9\/\b\f\n\r\t\ud83d"}"#), "text 🙂é/\u{8}\u{c}\n\r\t\u{fffd}");
}

//! Where plugins come from: what is taken, what is kept of it, and what is refused before anything is changed.

use std::fs;

use hermes_plugins::digest::Digest;
use hermes_tests::home::{Ran, TestHome};
use hermes_tests::{guests, manifests};

use crate::https::{Answer, Https};

/// What no message, list or file may show.
const TOKEN: &str = "tok-neverShown";

fn subject() -> Vec<u8> {
    guests::packed("good-redactor", "redact")
}

fn install(home: &TestHome, arguments: &[&str]) -> Ran {
    home.run([&["plugins", "install"], arguments].concat())
}

/// Refused, with a home that was not created.
fn refused(home: &TestHome, arguments: &[&str]) -> String {
    let ran = install(home, arguments).expect(1);
    assert!(!home.root().exists(), "a refused installation created the home");
    assert!(!ran.all().contains(TOKEN), "{ran:?}");
    ran.stderr
}

#[test]
fn a_url_with_its_digest_is_installed_and_its_query_is_kept_nowhere() {
    let server = Https::serving([("/plugins/good.wasm", Answer::File(subject()))]);
    let home = server.trusted_home();
    let digest = Digest::of(&subject()).hex();
    let url = format!("{}?token={TOKEN}#sha256={digest}", server.url("/plugins/good.wasm"));
    let ran = install(&home, &["--allow-private", &url]).expect(0);
    assert!(!ran.all().contains(TOKEN), "{ran:?}");
    assert_eq!(server.asked(), [format!("/plugins/good.wasm?token={TOKEN}")]);
    let row = home.row("good-redactor");
    assert_eq!(row["state"], "loaded", "{row}");
    assert_eq!(row["source"], server.url("/plugins/good.wasm"), "{row}");
    for verb in [&["plugins", "list"][..], &["plugins", "show", "good-redactor"], &["plugins", "update", "--check"]] {
        let ran = home.run(verb).expect(0);
        assert!(!ran.all().contains(TOKEN), "{ran:?}");
    }
    assert_eq!(home.files_with(TOKEN), Vec::<std::path::PathBuf>::new());

    // What is pinned is neither up to date nor out of date.
    let looked = home.run(["plugins", "update", "good-redactor", "--check", "--json"]).expect(0).json();
    let look = &looked["plugins"][0];
    assert!(look["update"].is_null(), "{look}");
    let reason = look["reason"].as_str().unwrap();
    assert!(reason.contains("hermes plugins install") && reason.contains("#sha256=HEX"), "{reason}");
    drop(home.run(["plugins", "update", "good-redactor"]).expect(0));
}

#[test]
fn a_digest_may_also_be_given_beside_the_url() {
    let server = Https::serving([("/good.wasm", Answer::File(subject()))]);
    let home = server.trusted_home();
    let digest = Digest::of(&subject());
    let url = server.url("/good.wasm");
    drop(install(&home, &["--allow-private", &url, "--digest", &digest.to_string()]).expect(0));
    assert_eq!(home.row("good-redactor")["digest"], digest.to_string());
    let other = format!("{url}#sha256={}", "0".repeat(64));
    let ran = install(&home, &["--allow-private", &other, "--digest", &digest.to_string()]).expect(1);
    assert!(ran.stderr.contains("name different digests"), "{ran:?}");
}

#[test]
fn without_a_digest_nothing_is_fetched_and_the_way_to_get_one_is_said() {
    let server = Https::serving([("/good.wasm", Answer::File(subject()))]);
    let home = server.trusted_home();
    let said = refused(&home, &["--allow-private", &format!("{}?t={TOKEN}", server.url("/good.wasm"))]);
    let command = format!("`hermes plugins install '{}?\u{2026}' --pin`", server.url("/good.wasm"));
    assert!(said.contains(&command), "{said}");
    assert_eq!(server.asked(), Vec::<String>::new());
    assert!(!said.contains(&Digest::of(&subject()).hex()), "{said}");
}

#[test]
fn a_pin_shows_the_digest_and_installs_nothing() {
    let server = Https::serving([("/good.wasm", Answer::File(subject()))]);
    let home = server.trusted_home();
    let (url, digest) = (server.url("/good.wasm"), Digest::of(&subject()));
    let ran = install(&home, &["--allow-private", "--pin", &url]).expect(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], format!("{digest}  {} bytes  {url}", subject().len()));
    assert!(lines[1].contains("Nothing is installed"), "{ran:?}");
    assert_eq!(lines[2].trim_start(), format!("hermes plugins install '{url}#sha256={}'", digest.hex()));
    let json = install(&home, &["--allow-private", "--pin", &url, "--json"]).expect(0).json();
    assert_eq!(json["digest"], digest.to_string());
    assert!(!home.root().exists());
    let path = refused(&home, &["--pin", "x.wasm"]);
    assert!(path.contains("--pin is for a plugin behind an https URL"), "{path}");
}

#[test]
fn other_bytes_than_those_of_the_digest_are_refused_unread() {
    // No archive and no manifest is looked at: only the digest is spoken of.
    let server = Https::serving([("/good.wasm", Answer::File(b"PK\x03\x04 and more".to_vec()))]);
    let home = server.trusted_home();
    let said = refused(
        &home,
        &["--allow-private", "--allow-broken", &format!("{}#sha256={}", server.url("/good.wasm"), "1".repeat(64))],
    );
    assert!(said.contains("it is not the plugin you asked for, so nothing was installed"), "{said}");
    assert!(!said.contains("zip"), "{said}");
}

#[test]
fn a_download_ends_at_the_limit_of_a_plugin() {
    let server = Https::serving([("/huge.wasm", Answer::Zeros(64 * 1024 * 1024 + 1))]);
    let home = server.trusted_home();
    let url = format!("{}#sha256={}", server.url("/huge.wasm"), "1".repeat(64));
    let said = refused(&home, &["--allow-private", &url]);
    assert!(said.contains("more than the 67108864 bytes"), "{said}");
}

#[test]
fn a_redirect_is_named_and_not_followed() {
    let elsewhere = format!("https://elsewhere.example/good.wasm?token={TOKEN}");
    let server = Https::serving([("/good.wasm", Answer::Elsewhere(elsewhere))]);
    let home = server.trusted_home();
    let url = format!("{}#sha256={}", server.url("/good.wasm"), "1".repeat(64));
    let said = refused(&home, &["--allow-private", &url]);
    assert!(said.contains("redirects to https://elsewhere.example/good.wasm"), "{said}");
    let missing = refused(&home, &["--allow-private", &url.replace("good", "other")]);
    assert!(missing.contains("answered 404"), "{missing}");
}

#[test]
fn a_private_address_is_refused_unless_it_is_allowed() {
    let server = Https::serving([("/good.wasm", Answer::File(subject()))]);
    let home = server.trusted_home();
    let url = format!("{}#sha256={}", server.url("/good.wasm"), Digest::of(&subject()).hex());
    let said = refused(&home, &[&url]);
    assert!(said.contains("127.0.0.1") && said.contains("give --allow-private"), "{said}");
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[test]
fn what_is_not_taken_is_refused_by_name_with_what_works() {
    let home = TestHome::new();
    for (given, said) in [
        ("http://example.com/a.wasm", "'http://' sources are not supported: plain http can be changed on its way"),
        ("git+https://example.com/a", "'git' sources are not supported: clone it, run `hermes plugins build FOLDER`"),
        ("ssh://example.com/a", "'ssh://' sources are not supported: clone it"),
        ("oci://example.com/a:1", "'oci://' sources are not supported: download the .wasm file"),
        (&format!("https://u:{TOKEN}@example.com/a.wasm"), "a URL with a user or a password is refused"),
        (&format!("https://example.com/a.wasm#{TOKEN}"), "what follows '#' in the URL is not 'sha256='"),
        ("bundled:nobody", "this hermes bundles no plugin 'nobody'"),
    ] {
        let error = refused(&home, &[given]);
        assert!(error.contains(said), "{given}: {error}");
    }
}

#[test]
fn a_bundled_plugin_is_named_with_or_without_its_kind() {
    let home = TestHome::new();
    for given in ["bundled:summarize-output", "summarize-output"] {
        drop(home.run(["plugins", "remove", "summarize-output"]).expect(0));
        drop(install(&home, &[given]).expect(0));
        assert_eq!(home.row("summarize-output")["source"], "bundled");
    }
    let wrong = format!("sha256:{}", "0".repeat(64));
    let ran = install(&home, &["bundled:summarize-output", "--digest", &wrong]).expect(1);
    assert!(ran.stderr.contains("it is not the plugin you asked for"), "{ran:?}");
}

#[test]
fn a_source_is_given_back_as_lists_show_it() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    let source = home.row("good-redactor")["source"].as_str().unwrap().to_owned();
    assert!(source.starts_with("file:/"), "{source}");
    let mended = manifests::plain("good-redactor", "redact").replace("of the tests", "of the tests, mended");
    let path = guests::write(&home.work(), "good-redactor", &mended);
    drop(install(&home, &[&source]).expect(0));
    assert_eq!(home.row("good-redactor")["digest"], Digest::of(&fs::read(path).unwrap()).to_string());
}

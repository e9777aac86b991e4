//! What the settings ask for, whole and in every chunking.

use hermes_plugin_sdk::{Context, Plugin, Redact, Window};

use crate::cases::masked;
use crate::{Mode, RedactSecrets, Settings};

fn settings(json: serde_json::Value) -> Settings {
    serde_json::from_value(json).unwrap()
}

fn plugin(json: serde_json::Value) -> RedactSecrets {
    RedactSecrets::new(settings(json)).unwrap()
}

/// Why the settings are refused.
fn refusal(json: serde_json::Value) -> String {
    match serde_json::from_value::<Settings>(json) {
        Err(error) => error.to_string(),
        Ok(settings) => {
            let Err(failure) = RedactSecrets::new(settings) else { return String::new() };
            format!("{}: {}", failure.code, failure.message)
        }
    }
}

/// The masked text, which must be the same whole and cut in two anywhere.
fn view(plugin: &mut RedactSecrets, text: &str) -> String {
    let whole = plugin.scan(&Context::default(), &Window::view(text)).unwrap();
    let whole = masked(text, &whole.spans);
    for cut in (1..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
        let first = Window { text: &text[..cut], fresh_from: 0, front_cut: false, last: false };
        let first = plugin.scan(&Context::default(), &first).unwrap();
        let spans: Vec<_> = first.spans.into_iter().filter(|span| span.range.end <= first.show_until).collect();
        let shown = masked(&text[..first.show_until], &spans);
        assert!(whole.starts_with(&shown), "{shown:?} is shown of {whole:?}, cut at {cut}");
        let need = first.need_from.min(first.show_until);
        let rest = Window { text: &text[need..], fresh_from: cut - need, front_cut: false, last: true };
        let rest = plugin.scan(&Context::default(), &rest).unwrap();
        let rest: Vec<_> = rest
            .spans
            .into_iter()
            .map(|mut span| {
                span.range = span.range.start + need..span.range.end + need;
                span
            })
            .filter(|span| span.range.end > first.show_until)
            .collect();
        assert!(rest.iter().all(|span| span.range.start >= first.show_until), "{text:?} cut at {cut}");
        let both: Vec<_> = spans.into_iter().chain(rest).collect();
        assert_eq!(masked(text, &both), whole, "cut at {cut}");
    }
    whole
}

#[test]
fn what_is_off_masks_only_where_it_is_asked_for() {
    let text = "call +491701234567 or ann.lee+x@mail.example.org, ssn: 219-09-9999 ok\n";
    assert_eq!(view(&mut plugin(serde_json::json!({})), text), text);
    let all = serde_json::json!({ "enable": ["phone", "email", "us-ssn"] });
    assert_eq!(
        view(&mut plugin(all.clone()), text),
        "call [REDACTED:phone] or [REDACTED:email], ssn: [REDACTED:us-ssn] ok\n"
    );
    for stays in [
        "git@github.com:zed/widget.git\n",
        "https://user@host.example.com/a\n",
        "left-pad@1.3.0 and @scope/name@2.0.0\n",
        "@app.route\n",
        "219-09-9999 without a word of what it is\n",
        "ssn 000-12-3456 and ssn 666-12-3456 and ssn 912-12-3456 are not given out\n",
        "crossname 219-09-9999\n",
        "a_b@c_d.example\n",
    ] {
        assert_eq!(view(&mut plugin(all.clone()), stays), stays);
    }
    assert_eq!(
        view(&mut plugin(all), "Social Security Number 219099999; mail=bob@a.example\n"),
        "Social Security Number [REDACTED:us-ssn]; mail=[REDACTED:email]\n"
    );
}

#[test]
fn cards_and_accounts_are_the_same_in_every_chunking_and_can_be_turned_off() {
    let text =
        "to DE89 3704 0044 0532 0130 00, GB29NWBK60161331926819; card 4111 1111 1111 1111 12/27, 378282246310005.\n";
    assert_eq!(
        view(&mut plugin(serde_json::json!({})), text),
        "to [REDACTED:iban], [REDACTED:iban]; card [REDACTED:payment-card] 12/27, [REDACTED:payment-card].\n"
    );
    let off = serde_json::json!({ "disable": ["payment-card", "iban"] });
    assert_eq!(view(&mut plugin(off), text), text);
}

#[test]
fn rules_of_ones_own_mask_their_tokens_and_words() {
    let mut plugin = plugin(serde_json::json!({ "extra": [
        { "label": "acme-key", "prefix": "acme_", "alphabet": "hex", "min": 8, "max": 12 },
        { "label": "acme-key", "prefix": "ACME:", "min": 4 },
        { "label": "code-name", "words": ["Bluebird", "grün-haus"] },
    ] }));
    assert_eq!(
        view(&mut plugin, "use acme_0a1b2c3d4e5f, (ACME:q8Xp0a) in Bluebird or the grün-haus.\n"),
        "use [REDACTED:acme-key], ([REDACTED:acme-key]) in [REDACTED:code-name] or the [REDACTED:code-name].\n"
    );
    let stays = "acme_0a1b acme_0a1b2c3d4e5f6 xacme_0a1b2c3d4e acme_xxxxxxxx Bluebirds myBluebird bluebird\n";
    assert_eq!(view(&mut plugin, stays), stays);
}

#[test]
fn a_rule_that_cannot_be_used_is_refused_by_its_place_and_name_and_not_repeated() {
    let rule = |rule: serde_json::Value| {
        refusal(serde_json::json!({ "extra": [{ "label": "good", "words": ["fine"] }, rule] }))
    };
    for (bad, says) in [
        (serde_json::json!({ "label": "Acme Key", "prefix": "s3cr" }), "label must be"),
        (serde_json::json!({ "label": "password", "prefix": "s3cr" }), "built-in"),
        (serde_json::json!({ "label": "acme" }), "give a prefix"),
        (serde_json::json!({ "label": "acme", "prefix": "s3cr", "words": ["s3cr"] }), "give a prefix"),
        (serde_json::json!({ "label": "acme", "words": ["s3cr"], "min": 3 }), "give a prefix"),
        (serde_json::json!({ "label": "acme", "prefix": "s" }), "2 to 128 bytes"),
        (serde_json::json!({ "label": "acme", "prefix": "s3 cr" }), "without blanks"),
        (serde_json::json!({ "label": "acme", "words": ["s3c"] }), "4 to 128 bytes"),
        (serde_json::json!({ "label": "acme", "prefix": "s3cr", "alphabet": "s3crets" }), "alphabet must be"),
        (serde_json::json!({ "label": "acme", "prefix": "s3cr", "min": 9, "max": 8 }), "min (9)"),
        (serde_json::json!({ "label": "acme", "prefix": "s3cr", "max": 100000 }), "max not above"),
    ] {
        let said = rule(bad);
        assert!(said.starts_with("bad-rule: extra[1] ") && said.contains(says), "{said}");
        assert!(!said.contains("s3c"), "{said}");
    }
    assert!(rule(serde_json::json!({ "label": "acme", "regex": "s3c.*" })).contains("no field regex"));
    let many: Vec<_> = (0..65).map(|i| serde_json::json!({ "label": format!("r{i}"), "words": ["fine"] })).collect();
    assert!(refusal(serde_json::json!({ "extra": many })).contains("more than 64"));
    assert_eq!(rule(serde_json::json!({ "label": "acme", "prefix": "s3cr" })), "");
}

#[test]
fn settings_that_contradict_themselves_or_name_what_there_is_not_are_refused() {
    for (bad, says) in [
        (serde_json::json!({ "enable": ["emails"] }), "unknown-rule: no rule is called emails"),
        (serde_json::json!({ "enable": ["email"], "disable": ["email"] }), "in enable and in disable"),
        (serde_json::json!({ "mode": "lax" }), "mode must be"),
        (serde_json::json!({ "disable": "password" }), "disable has a value of the wrong kind"),
        (serde_json::json!({ "disable": [true] }), "a setting is a text"),
        (serde_json::json!({ "allow": 0.5 }), "a setting is a text"),
        (serde_json::json!({ "allow": -1 }), "a setting is a text"),
        (serde_json::json!({ "allow": null }), "a setting is a text"),
        (serde_json::json!({ "disabled": [] }), "no setting disabled"),
        (serde_json::json!([]), "the whole has a value of the wrong kind"),
    ] {
        let said = refusal(bad);
        assert!(said.contains(says), "{said}");
    }
    let own = serde_json::json!({ "extra": [{ "label": "acme", "words": ["fine"] }], "disable": ["acme"] });
    assert_eq!(view(&mut plugin(own), "fine\n"), "fine\n");
}

#[test]
fn a_value_whose_hash_is_listed_stays_and_with_another_key_it_does_not() {
    // printf %s "$VALUE" | openssl dgst -sha256 -hmac "$KEY"
    let listed = "dce2c027396d1f8744097ff75507ee346921321042223ca1a3862d30523ba500";
    let value = "hunter2-for-tests";
    let text = format!("password={value} other_password={value}x\n");
    let computed: String = crate::hash::hmac(b"sixteen-bytes-or-more", value.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(computed, listed);
    let with = |key: &str| serde_json::json!({ "allow": [listed], "allow_key": key });
    assert_eq!(
        view(&mut plugin(with("sixteen-bytes-or-more")), &text),
        format!("password={value} other_password=[REDACTED:password]\n")
    );
    assert_eq!(
        view(&mut plugin(with("another-key-of-that-size")), &text),
        "password=[REDACTED:password] other_password=[REDACTED:password]\n"
    );
    for short in ["", "fifteen-bytes-x"] {
        assert!(refusal(with(short)).contains("allow needs allow_key"));
    }
    let plain = refusal(serde_json::json!({ "allow": [value], "allow_key": "sixteen-bytes-or-more" }));
    assert!(plain.starts_with("bad-allow: allow[0]") && !plain.contains(value), "{plain}");
}

#[test]
fn in_code_a_name_counts_only_where_an_environment_is_printed() {
    let mut code = plugin(serde_json::json!({ "mode": "code" }));
    for stays in [
        "    password = \"hunter2-abc\"\n",
        "const apiKey = \"q8Xp0aMn3vKc7dRt5yWb2eHu\";\n",
        "{\"password\": \"hunter2-abc\"}\n",
        "self.DB_PASSWORD = 'hunter2-abc'\n",
        "config.PASSWORD='hunter2-abc'\n",
    ] {
        assert_eq!(view(&mut code, stays), stays);
        assert_ne!(view(&mut plugin(serde_json::json!({})), stays), stays);
    }
    assert_eq!(view(&mut code, "export DB_PASSWORD=hunter2-abc\n"), "export DB_PASSWORD=[REDACTED:password]\n");
    assert_eq!(view(&mut code, "DB_PASSWORD='hunter2-abc'\n"), "DB_PASSWORD='[REDACTED:password]'\n");
    let token = "let t = \"ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k\";\n";
    assert_eq!(view(&mut code, token), "let t = \"[REDACTED:github-pat]\";\n");
}

#[test]
fn strict_takes_weak_names_and_words_of_chance_for_secrets() {
    let strict = || plugin(serde_json::json!({ "mode": "strict" }));
    for (text, masked) in [
        ("session=bluebird7\n", "session=[REDACTED:assignment]\n"),
        ("GET /cb?code=abc12&x=1\n", "GET /cb?code=[REDACTED:url-param]&x=1\n"),
        ("got q8Xp0aMn3vKc7dRt5yWb2eHu back\n", "got [REDACTED:high-entropy] back\n"),
        ("v=q8Xp0aMn3vKc7dRt5yWb2eHu\n", "v=[REDACTED:high-entropy]\n"),
    ] {
        assert_eq!(view(&mut strict(), text), masked);
        assert_eq!(view(&mut plugin(serde_json::json!({})), text), text);
    }
    for stays in [
        "commit 076b54f1d6802289844a0c3c5577365ddda8dc55\n",
        "request 3f2b8c1e-9d47-4a60-8e15-7c0d9b6a2f41\n",
        "/usr/lib/python3.12/site-packages/some_module/__init__.py\n",
        "the_quick_brown_fox_jumps_over_the_lazy_dog\n",
        "MAX_TOKENS=4096\n",
    ] {
        assert_eq!(view(&mut strict(), stays), stays);
    }
    let long = format!("data {} end\n", "q8Xp0aMn3vKc7dRt5yWb2eHu".repeat(12));
    assert_eq!(view(&mut strict(), &long), long);
    let quiet = serde_json::json!({ "mode": "strict", "disable": ["high-entropy"] });
    assert_eq!(view(&mut plugin(quiet), "got q8Xp0aMn3vKc7dRt5yWb2eHu back\n"), "got q8Xp0aMn3vKc7dRt5yWb2eHu back\n");
    assert_eq!(settings(serde_json::json!({})).mode, Mode::Default);
}

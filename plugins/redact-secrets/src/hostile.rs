//! Text written to slow the redactor down: a byte of it must cost about what a byte of a log costs. Ratios of times
//! in one run are compared, never times.

use std::time::{Duration, Instant};

use hermes_plugin_sdk::{Context, Plugin, Redact, Window};

use crate::{RedactSecrets, Settings};

/// Bytes of each text.
const SIZE: usize = 1 << 18;

/// How often each text is scanned; the fastest counts.
const ROUNDS: usize = 2;

/// How many times as long as a log a text may take. Where nearly every byte is an anchor some work cannot be avoided; what
/// reads a part of the text again for each anchor takes hundreds of times as long.
const LIMIT: u32 = 40;

fn repeat(part: &str) -> String {
    part.repeat(SIZE / part.len())
}

/// Lines of a build, of which no two are equal.
fn log() -> String {
    let line = |i: usize| {
        let (minute, second, milli) = (i / 60 % 60, i % 60, i * 7 % 1000);
        format!(
            "2026-11-30T06:{minute:02}:{second:02}.{milli:03}Z INFO worker-{} compiled crate_{} in {}ms (src/lib.rs:{})\n",
            i % 8,
            i * 31 % 977,
            i * 13 % 4000,
            i % 900
        )
    };
    (0..SIZE / 90).map(line).collect()
}

/// Bytes that look like chance, the same in every run.
fn chance(alphabet: &[u8]) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as usize
    };
    (0..SIZE).map(|_| alphabet[next() % alphabet.len()]).collect()
}

/// Parts of which a text is made.
const REPEATED: &[&str] = &[
    "A",
    "A_",
    "a.",
    "7",
    "-----BEGIN PRIVATE KEY-----\n",
    "token=",
    "\"",
    "\\",
    "://",
    "eyJ",
    "ghp_",
    "AKIA",
    "\x1b[31m",
    "ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k ",
    "password ",
    "password: ",
    "<password>",
    "password=\"",
    "key=\\\"",
    "4111 ",
    "sk-",
    "data:\n",
    "com.google.auth:a-",
    "let password = ",
    "\"-p\",",
    "mysql -p",
    " /p:",
    "sudo -S ",
    "echo a|chpasswd ",
    "htpasswd -b ",
    "gh secret set ",
    "sqlplus a",
    "password%3D",
    "%22password%22%3A%22",
    "&quot;password&quot;:&quot;a",
    "\\u0022token\\u0022:",
    "%3A%2F%2Fa%3Ab",
    "password is a: ",
    "password:\n",
    "passwords:\n  - a\n",
    "\"tokens\":{\"a\":\"b\"},",
    "passphrase: a b ",
    "Password: aB1,",
    "variable \"password\" {\n",
    "name=\"password\"\n\n",
    "Unseal Key 1: ",
    "password=Some(",
    "a:b@tcp(",
    "tcp(",
    "a:",
    "[password] => ",
    "\"password\" -> \"a\" ",
    "X-Api-Key:[a ",
    "IDENTIFIED WITH a BY b ",
    "secret 5 ",
    "secret_id=",
    "PASSWORD('",
    "psk=a ",
    ";PWD={a;",
    "pod -----BEGIN PRIVATE KEY-----\na b\n",
    "-----BEGIN PRIVATE KEY-----\" +\n\"",
    "{\"name\":\"password\",",
    "{\"value\":\"a\",\"name\":\"password\"}",
    "-SecureString a ",
    "SecureString\"",
    "$1$",
    "$6$a$",
    "$argon2id$",
    "5432:",
    "*:*:",
    "\n*:*:*:*:",
    "\tTRUE",
    "\na\tTRUE\t/\tTRUE\t1\t",
    "::add-mask::",
    "issecret=true",
    "| password | a ",
    "PASSWORD  a1B ",
    ">token</a><b>",
    "<password a=",
    "<password><password>",
    "> AUTH ",
    "USER\nPASS a\n",
    "\"password\",",
    "(\"token\", ",
    "- --password\n",
];

fn texts() -> Vec<(String, String)> {
    const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let all: Vec<u8> = (0..=255).collect();
    let random = |alphabet: &[u8]| String::from_utf8_lossy(&chance(alphabet)).into_owned();
    [("base64", BASE64), ("digits", b"0123456789"), ("hexadecimal", b"0123456789abcdef"), ("any bytes", &all[..])]
        .into_iter()
        .map(|(name, alphabet)| (name.to_owned(), random(alphabet)))
        .chain(REPEATED.iter().map(|part| (format!("{part:?}"), repeat(part))))
        .collect()
}

#[test]
fn hostile_text_takes_little_longer_than_a_log() {
    let mut plugin = RedactSecrets::new(Settings::default()).unwrap();
    let mut fastest = |text: &str| -> Duration {
        let round = || {
            let start = Instant::now();
            plugin.scan(&Context::default(), &Window::view(text)).unwrap();
            start.elapsed()
        };
        std::iter::repeat_with(round).take(ROUNDS).min().unwrap()
    };
    let log = fastest(&log());
    for (name, text) in texts() {
        let took = fastest(&text);
        assert!(took < log * LIMIT, "{name}: {took:?} and a log {log:?}");
    }
}

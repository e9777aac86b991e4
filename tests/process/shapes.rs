//! What is printed may have any size and any bytes: it is shown as text, whole or with a notice, and in order.

use hermes_tests::home::TestHome;
use serde_json::Value;

use crate::verbs::{hosted, start, start_text, wait};

/// A home in which nothing is summarised: what is shown is what was printed.
fn plain() -> TestHome {
    let home = hosted();
    drop(home.run(["plugins", "disable", "summarize-output"]).expect(0));
    home
}

/// The text without its notices, and how many there are.
fn without_notices(text: &str) -> (String, usize) {
    let mut parts = text.split("[... ");
    let mut kept = parts.next().unwrap().to_owned();
    let mut notices = 0;
    for part in parts {
        let (notice, rest) = part.split_once(']').unwrap_or_else(|| panic!("half a notice in {text}"));
        assert!(notice.contains("not shown") || notice.contains("not kept"), "{notice}");
        notices += 1;
        kept.push_str(rest);
    }
    (kept, notices)
}

#[test]
fn no_limit_cuts_a_character_in_two() {
    let home = plain();
    // Characters of one to four bytes, as lines and as one line, behind every number of bytes that moves the cut.
    let characters = ["a", "é", "中", "😀"];
    let more = std::fs::read_to_string(home.root().join("config.toml")).unwrap();
    for limit in 1024..1024 + 16 {
        home.configure(&format!("{more}[output]\nreply_bytes = {limit}\n"));
        let character = characters[limit % 4];
        for line in [60, 1_000_000] {
            let text = format!(
                "import sys; s = (sys.argv[1] * 6 + ' ') * 500; n = {line}; \
                 print('\\n'.join(s[i:i + n] for i in range(0, len(s), n)))"
            );
            let document = home.run(["run", "--json", "--", "python3", "-c", &text, character]).expect(0).json();
            assert_eq!(document["output_cut"], true, "{limit} {line}: {document}");
            let output = document["output"].as_str().unwrap();
            let (kept, notices) = without_notices(output);
            assert_eq!(notices, 1, "{limit} {line}: {output}");
            assert!(
                kept.chars().all(|found| "\n ".contains(found) || character.contains(found)),
                "{limit} {line}: {output}"
            );
            assert!(kept.len() <= limit + 2 && kept.len() > limit / 2, "{limit} {line}: {} bytes", kept.len());
        }
    }
}

#[test]
fn the_end_of_an_output_that_is_told_cuts_no_character_either() {
    let home = plain();
    let more = std::fs::read_to_string(home.root().join("config.toml")).unwrap();
    home.configure(&format!("{more}[notifications]\ncompletion_bytes = 1000\n"));
    for shift in 0..4 {
        let text = format!("import sys; sys.stdout.write('x' * {shift} + '中' * 40000)");
        let id = start(&home, &["--notify", "--", "python3", "-c", &text]);
        let told = hermes_tests::wait::until("its end", hermes_tests::wait::PATIENCE, || {
            crate::verbs::events(&home).into_iter().next()
        });
        let row = crate::verbs::row(&home, &id);
        for text in [&told["output"], &row["preview"]] {
            let (kept, _) = without_notices(text.as_str().unwrap());
            assert!(kept.contains('中') && kept.chars().all(|found| "x中\n".contains(found)), "{shift}: {text}");
        }
        assert_eq!(told["output_cut"], true, "{told}");
    }
}

#[test]
fn colours_and_links_leave_no_trace_wherever_a_flood_of_them_is_cut() {
    let home = plain();
    let cases = [
        ("colours", "yes $'\\e[38;2;1;2;3mX\\e[0m' | head -c 3000001"),
        ("links", "yes $'\\e]8;;http://example.org/a\\e\\\\X\\e]8;;\\e\\\\' | head -c 3000001"),
        ("links with a bell", "yes $'\\e]8;;http://example.org/a\\aX\\e]8;;\\a' | head -c 3000001"),
    ];
    for (what, text) in cases {
        let live = home.run(["run", "-c", text]).expect(0);
        let lines: Vec<&str> = live.stdout.lines().filter(|line| *line != "X").take(3).collect();
        assert!(lines.iter().all(|line| line.is_empty() || line.starts_with("[...")), "{what}, live: {lines:?}");
        let id = start_text(&home, text);
        let waited = wait(&home, &id);
        let logged = home.run(["logs", "--json", &id, "--offset", "0", "--limit", "100000"]).expect(0).json();
        for document in [home.run(["run", "--json", "-c", text]).expect(0).json(), waited, logged] {
            let (kept, _) = without_notices(document["output"].as_str().unwrap());
            assert!(kept.contains("X\nX\n"), "{what}: {document}");
            assert!(kept.chars().all(|found| "X\n".contains(found)), "{what}: {document}");
        }
    }
}

#[test]
fn both_streams_come_in_the_order_they_were_written() {
    let home = hosted();
    let text = "for i in 1 2 3; do echo o$i; echo e$i >&2; done";
    let wanted = "o1\ne1\no2\ne2\no3\ne3\n";
    for _ in 0..20 {
        assert_eq!(home.run(["run", "--", "sh", "-c", text]).expect(0).stdout, wanted);
    }
    for pty in [false, true] {
        for _ in 0..10 {
            let all: Vec<&str> = pty.then_some("--pty").into_iter().chain(["--", "sh", "-c", text]).collect();
            let id = start(&home, &all);
            assert_eq!(wait(&home, &id)["output"], wanted, "pty {pty}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_no_error() {
    let home = plain();
    let cases: [(&str, &str, u64); 5] = [
        ("noise", "head -c 4096 /dev/urandom", 4096),
        ("zeros", "head -c 4096 /dev/zero", 4096),
        ("a wrong beginning", r"printf '\xff\xfe'", 2),
        ("half a character at the end", r"printf 'a\xe4\xb8'", 3),
        ("a zero in a line", r"printf 'a\0b\n'", 4),
    ];
    for (what, text, bytes) in cases {
        let id = start_text(&home, text);
        let ended = wait(&home, &id);
        let logged = home.run(["logs", "--json", &id]).expect(0).json();
        let front = home.run(["run", "--json", "-c", text]).expect(0).json();
        for document in [&ended, &logged, &front] {
            assert_eq!(
                (&document["output_bytes"], &document["exit_code"], &document["policy"]["withheld"]),
                (&bytes.into(), &0.into(), &Value::Null),
                "{what}: {document}"
            );
            let output = document["output"].as_str().unwrap();
            assert!(!output.contains(['\0', '\u{1b}']), "{what}: {document}");
        }
        drop(home.run(["logs", &id]).expect(0));
    }
}

#[test]
fn a_line_that_rewrites_itself_is_shown_by_its_first_and_last_state() {
    let home = plain();
    let text = "for i in $(seq 0 5 100); do printf '\\r%d%%' $i; done; echo";
    for pty in [false, true] {
        let all: Vec<&str> = pty.then_some("--pty").into_iter().chain(["-c", text]).collect();
        let ended = wait(&home, &start(&home, &all));
        let output = ended["output"].as_str().unwrap();
        assert!(output.contains("0%") && output.contains("100%") && !output.contains("50%"), "pty {pty}: {ended}");
        assert!(!output.contains('\r'), "pty {pty}: {ended}");
    }
}

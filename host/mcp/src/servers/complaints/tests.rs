//! Logs in a folder of their own.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use hermes_fakes::policy::Fake;
use hermes_model::context::{Context, Surface};
use hermes_model::report::Withheld;
use tokio::io::{AsyncWriteExt, duplex};

use super::*;

/// A policy that masks the word `secret`, or has no answer.
fn policy(works: bool) -> Fake {
    let masking = Fake::masking("secret");
    if works {
        return masking;
    }
    let (plugin, code) = ("redact-secrets".to_owned(), "timeout".to_owned());
    masking.withholding("", Withheld { plugin, code, message: String::new() })
}

async fn write(path: &Path, text: &[u8], works: bool) -> Option<String> {
    let (mut theirs, ours) = duplex(1 << 16);
    let stream = Stream::new(Context::new(Surface::Stream), Arc::default());
    let complaints = Complaints::drain(ours, stream, Arc::new(policy(works)), path.to_owned(), 7);
    theirs.write_all(text).await.unwrap();
    drop(theirs);
    tokio::time::timeout(Duration::from_secs(30), complaints.written()).await.unwrap();
    complaints.last_lines()
}

#[tokio::test]
async fn what_a_server_complains_of_is_kept_masked_and_for_the_user_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs/mcp-srv.log");
    let last = write(&path, b"one\ntoken: secret\n\x1b[31mthree\x1b[0m\nfour", true).await;
    assert_eq!(last.as_deref(), Some("token: [REDACTED:word] | three | four"));
    let log = fs::read_to_string(&path).unwrap();
    assert!(
        log.starts_with("=== 2") && log.contains(" started as process 7 ===\none\ntoken: [REDACTED:word]\nthree\n")
    );
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    write(&path, b"again\n", true).await;
    let log = fs::read_to_string(&path).unwrap();
    assert!(log.contains("\nfour\n=== 2") && log.matches("started as process").count() == 2, "{log}");
}

#[tokio::test]
async fn what_the_policy_withholds_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-srv.log");
    let last = write(&path, b"a secret\nand more\n", false).await.unwrap();
    let log = fs::read_to_string(&path).unwrap();
    assert!(log.contains("[output withheld: redact-secrets: timeout]") && !log.contains("secret\n"), "{log}");
    assert!(last.contains("withheld") && !last.contains("a secret"));
}

#[tokio::test]
async fn a_log_is_bounded_and_one_before_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-srv.log");
    for _ in 0..4 {
        write(&path, "0123456789abcde\n".repeat(50_000).as_bytes(), true).await;
    }
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(size(&path) <= LOG_MAX + (WAITING_MAX as u64));
    assert!(size(&before(&path)) <= LOG_MAX);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn a_link_is_not_followed_and_the_server_is_drained_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("mcp-srv.log"), folder.path().join("target"));
    fs::write(&target, "untouched").unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let last = write(&path, &[b'x'; 300_000], true).await;
    assert!(last.is_some());
    assert_eq!(fs::read_to_string(&target).unwrap(), "untouched");
}

#[test]
fn the_last_lines_are_the_same_in_any_parts() {
    let text = "one\n\ntwo\nthree\nfo";
    for size in 1..text.len() {
        let mut last = Last::default();
        for part in text.as_bytes().chunks(size) {
            last.push(std::str::from_utf8(part).unwrap());
        }
        assert_eq!(last.lines, ["two", "three", "fo"], "parts of {size}");
    }
}

//! Passwords in command lines that no name announces: `mysql -pSECRET`, `curl -u user:pass`, `docker login -p SECRET`.
//! An option is only read as a password where the command before it on the line takes it as one.

use crate::gate;
use crate::rules;
use crate::scan::Scan;
use crate::text::{STOP, WORD, is};
use crate::words::{self, ATTACHED, AUTH, BIND, LOGIN, REGISTRY, REMOTE, SAMBA, SEPARATE, UPPER, USER};

/// How far before an option its command is looked for.
const REACH: usize = 512;

/// The first of the sets that say what a command word makes of the options behind it.
const FIRST: u32 = ATTACHED.trailing_zeros();
/// How many there are.
const SETS: usize = (u32::BITS - FIRST) as usize;

/// Where each kind of command word was seen last on the line in hand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Commands {
    seen: [usize; SETS],
    line: usize,
    read: usize,
}

impl Commands {
    /// Whether such a word stands before `at`, near enough to be the command the option belongs to.
    fn means(&self, what: u32, at: usize) -> bool {
        let seen = self.seen.get((what.trailing_zeros() - FIRST) as usize).copied().unwrap_or_default();
        seen > self.line && at + 1 - seen <= REACH
    }
}

/// Reads the command words of the line of `at`, up to there, each once.
fn read(scan: &mut Scan<'_>, at: usize) {
    let bytes = scan.text.bytes();
    let mut commands = scan.commands;
    let from = commands.read.max(at.saturating_sub(REACH));
    if let Some(newline) = bytes[from..at].iter().rposition(|&c| c == b'\n') {
        commands.line = from + newline + 1;
        commands.read = commands.line;
    } else if from > commands.read {
        // What lies further back is out of reach.
        commands.read = from;
    }
    let mut start = commands.read;
    let ends = |c: u8| is(c, STOP) || matches!(c, b'(' | b'=' | b'/');
    for end in commands.read..=at {
        if end == at || ends(bytes[end]) {
            let sets = words::sets(&bytes[start..end]) >> FIRST;
            for (number, seen) in commands.seen.iter_mut().enumerate() {
                if sets >> number & 1 == 1 {
                    *seen = start + 1;
                }
            }
            start = end + 1;
        }
    }
    commands.read = at;
    scan.commands = commands;
}

/// A short option, with the anchor on the blank or quote before it; or `-us` of `--user`.
#[inline(never)]
pub(crate) fn option(scan: &mut Scan<'_>, at: usize) {
    let mark = scan.text.peek(at);
    if mark == b'-' {
        return user_option(scan, at);
    }
    let letter = scan.text.peek(at + 2);
    let value = at + 3;
    let close = scan.text.peek(value);
    let start = match close {
        b' ' | b'=' if mark == b' ' => value + 1,
        b' ' => return,
        // The next of a list of arguments: `"-p", "…"`.
        _ if close == mark => match crate::beside::next(scan, value) {
            Some(next) => next,
            None => return,
        },
        _ => value,
    };
    let gap = start > value;
    if close == b'\n' || letter != b'p' && letter != b'u' && !gap && is(close, WORD) {
        return;
    }
    read(scan, at);
    let commands = scan.commands;
    let means = |what| commands.means(what, at);
    let separate = means(SEPARATE) || means(REGISTRY) && means(LOGIN);
    match letter {
        b'S' if scan.text.slice(at.saturating_sub(4), at) == b"sudo" => fed(scan, at, false),
        b'p' if scan.text.peek(at + 1) == b'/' && means(REMOTE) => secret(scan, value + 1),
        _ if scan.text.peek(at + 1) == b'/' => {}
        b'p' if means(REMOTE) && close == b'w' && scan.text.peek(value + 1) == b' ' => secret(scan, value + 2),
        b'p' if means(ATTACHED) && !gap => secret(scan, value),
        b'p' if separate && gap => secret(scan, start),
        b'P' if means(UPPER) && gap => secret(scan, start),
        b'a' if means(AUTH) && gap => secret(scan, start),
        b'w' if means(BIND) && gap => secret(scan, start),
        b'a' if means(USER) && gap => pair(scan, start, b':'),
        b'u' | b'U' if means(USER) => pair(scan, start, b':'),
        b'u' if means(REMOTE) => pair(scan, start, b','),
        b'U' if means(SAMBA) => pair(scan, start, b'%'),
        _ => {}
    }
}

fn user_option(scan: &mut Scan<'_>, at: usize) {
    let long = scan.text.starts(at, b"-user ") || scan.text.starts(at, b"-user=");
    let dashed =
        at > 0 && (scan.text.bytes()[at - 1] == b'-' || scan.text.slice(at.saturating_sub(7), at) == b"--proxy");
    if !(long && dashed) {
        return;
    }
    read(scan, at);
    if scan.commands.means(USER, at) {
        pair(scan, at + 6, b':');
    }
}

/// The argument at `at`, without its quotes.
#[inline(never)]
fn argument(scan: &mut Scan<'_>, at: usize) -> (usize, usize) {
    scan.open(at);
    if let Some(found) = crate::literal::literal(scan, at).filter(|_| crate::literal::quote(scan, at).is_some()) {
        return (found.start, found.end);
    }
    let mut end = at;
    while end - at < 1024
        && !matches!(scan.text.peek(end), 0 | b' ' | b'\t' | b'\n' | b'"' | b'\'' | b'`' | b'|' | b';' | b'>' | b'<')
    {
        end += 1;
    }
    (at, end)
}

/// The argument at `at`, a password.
#[inline(never)]
pub(crate) fn secret(scan: &mut Scan<'_>, at: usize) {
    if scan.text.peek(at) == b'-' {
        return;
    }
    let (start, end) = argument(scan, at);
    let value = scan.text.slice(start, end);
    if value.len() >= 3 && !gate::placeholder(value) && !gate::lookup(value) {
        scan.mask(start, end, rules::FLAG);
    }
}

/// `user:password` at `at`: the password.
fn pair(scan: &mut Scan<'_>, at: usize, mark: u8) {
    let (start, end) = argument(scan, at);
    let Some(colon) = scan.text.slice(start, end).iter().position(|&c| c == mark) else { return };
    let value = scan.text.slice(start + colon + 1, end);
    if !value.is_empty() && !gate::placeholder(value) && !value.starts_with(b"//") {
        scan.mask(start + colon + 1, end, rules::FLAG);
    }
}

/// A name that is a command, or an option that takes no value, with a form of its own. Whether `tail` was one.
#[inline(never)]
pub(crate) fn named(scan: &mut Scan<'_>, tail: &[u8], start: usize, end: usize) -> bool {
    match tail {
        b"password-stdin" | b"with-token" => {
            fed(scan, start, false);
            here(scan, end);
        }
        b"chpasswd" => fed(scan, start, true),
        b"passwd" if scan.text.starts(end, b" --stdin") => fed(scan, start, false),
        b"htpasswd" => last(scan, end),
        b"secret_id" | b"SECRET_ID" | b"secretId" => crate::record::identity(scan, end),
        b"issecret" | b"isSecret" => crate::record::marked(scan, end),
        b"secret" if scan.text.slice(start.saturating_sub(3), end + 5) == b"gh secret set " => stored(scan, end),
        _ => return false,
    }
    true
}

/// Where the last of `words`, each of which ends with a blank or `=`, ends in a text.
#[inline(never)]
fn behind(text: &[u8], words: &[&[u8]]) -> Option<usize> {
    let ends = |at: &usize| {
        let text = text.get(..*at).unwrap_or_default();
        matches!(text.last(), Some(b' ' | b'=')) && words.iter().any(|word| text.ends_with(word))
    };
    (1..=text.len()).rev().find(ends)
}

/// How far before what reads a password the sign stands that feeds it.
const PIPE: usize = 128;
/// How far behind a command its options are looked for.
const AHEAD: usize = 160;
/// What prints its arguments.
const PRINTS: &[&[u8]] = &[b"echo ", b"printf "];

/// `echo SECRET |` before what reads it, on the line of `at`; of `user:SECRET` only the password.
#[inline(never)]
fn fed(scan: &mut Scan<'_>, at: usize, user: bool) {
    let near = at.saturating_sub(PIPE);
    let Some(pipe) = scan.text.slice(near, at).iter().rposition(|&c| matches!(c, b'|' | b'\n')) else { return };
    let line = scan.text.line_start(near + pipe, REACH - PIPE);
    let Some(from) = behind(scan.text.slice(line, near + pipe), PRINTS) else { return };
    let mut next = line + from;
    for option in [&b"-n "[..], b"-e ", b"'%s' ", b"\"%s\" ", b"'%s\\n' "] {
        next += if scan.text.reads(next, option) { option.len() } else { 0 };
    }
    if user {
        pair(scan, next, b':');
    } else {
        secret(scan, next);
    }
}

/// `<<< SECRET` behind what reads it.
fn here(scan: &mut Scan<'_>, end: usize) {
    let stop = scan.text.line_end(end, AHEAD);
    if let Some(at) = behind(scan.text.slice(end, stop), &[b"<<< "]) {
        secret(scan, end + at);
    }
}

/// Where the argument of an `echo` on the last line begins: what reads it as a password may follow.
pub(crate) fn pending(scan: &Scan<'_>) -> usize {
    /// The longest of what may follow, of which a part may be there.
    const FOLLOWS: usize = 32;
    let len = scan.text.len();
    let line = scan.text.line_start(len, REACH + FOLLOWS);
    behind(scan.text.slice(line, len), PRINTS).map_or(usize::MAX, |at| line + at)
}

/// The password of `htpasswd -b FILE USER PASSWORD`, the last argument.
fn last(scan: &mut Scan<'_>, end: usize) {
    let stop = scan.text.line_end(end, AHEAD);
    let options = scan.text.slice(end, scan.text.run(end + 1, WORD, 8));
    let (words, word) = crate::column::last_word(scan, end, stop);
    // The options, perhaps a file, the user and the password.
    if options.starts_with(b" -") && options.contains(&b'b') && matches!(words, 3 | 4) {
        secret(scan, word.start);
    }
}

/// `gh secret set NAME --body VALUE`, from behind the word `secret` on.
fn stored(scan: &mut Scan<'_>, end: usize) {
    let stop = scan.text.line_end(end, AHEAD);
    if let Some(at) = behind(scan.text.slice(end, stop), &[b"--body ", b"--body=", b" -b "]) {
        secret(scan, end + at);
    }
}

/// `user/password@` behind `sqlplus` or the `thin:` of a driver's address.
#[inline(never)]
pub(crate) fn oracle(scan: &mut Scan<'_>, at: usize) {
    let user = if scan.text.starts(at, b"jdbc:oracle:thin:") {
        at + 17
    } else if scan.text.starts(at, b"sqlplus ") {
        scan.text.blanks(at + 8, 4)
    } else {
        return;
    };
    let slash = scan.text.run(user, WORD, 32);
    if slash == user || scan.text.peek(slash) != b'/' {
        return;
    }
    scan.open(slash + 1);
    let end = scan.text.line_end(slash, 64);
    let sign = scan.text.slice(slash, end).iter().position(|&c| matches!(c, b'@' | b' ' | b'"' | b'\''));
    let Some(sign) = sign.map(|size| slash + size).filter(|&sign| scan.text.peek(sign) == b'@') else { return };
    if !gate::placeholder(scan.text.slice(slash + 1, sign)) {
        scan.mask(slash + 1, sign, rules::URL_PASSWORD);
    }
}

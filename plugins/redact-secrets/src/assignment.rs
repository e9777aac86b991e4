//! Secrets that stand behind their name: `NAME=value`, `name: value`, JSON and Python fields, XML elements, options,
//! pairs of `name` and `value`. The parser starts at a word that may name a secret, walks left to the name's begin and
//! right over the operator to the value. It must stay within the line, save for the pairs.

use crate::code;
use crate::gate;
use crate::literal::{Literal, literal, quote};
use crate::loose::{blank, pair};
use crate::name::{self, MAX_NAME, Strength};
use crate::rules::{self, Rule};
use crate::scan::Scan;
use crate::text::{DIGIT, NAME, SPACE, STOP, is};

/// Longest value masked; what is longer is data.
pub(crate) const MAX_VALUE: usize = 8 * 1024;
/// Most blanks between a name, its operator and its value.
pub(crate) const BLANKS: usize = 32;
/// How far before a name its line is looked at.
pub(crate) const LEAD: usize = 96;
/// How far an array or object behind a name is read.
const NESTED: usize = 4096;

/// How a value is tied to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// `=`, and whether blanks stand around it.
    Equals { spaced: bool },
    /// `:`
    Colon,
    /// Only blanks: an option and its argument.
    Blank,
    /// An XML element.
    Element,
}

/// What is known of a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) strength: Strength,
    /// First on its line, save for gutters, `export`, list signs and quotes.
    pub(crate) anchored: bool,
    /// Blanks stand before it on its line.
    pub(crate) indented: bool,
    /// Begins with `-`: an option.
    pub(crate) option: bool,
    /// Behind `?`, `&`, `;` or `#`, as in a URL.
    pub(crate) param: bool,
    /// In quotes of its own.
    pub(crate) quoted: bool,
}

impl Named {
    pub(crate) fn rule(&self) -> Rule {
        if self.param {
            rules::URL_PARAM
        } else if self.strength == Strength::Password {
            rules::PASSWORD
        } else {
            rules::ASSIGNMENT
        }
    }
}

/// The literal at `at`, held back from there on while it is open.
#[inline(never)]
pub(crate) fn opened(scan: &mut Scan<'_>, at: usize) -> Option<Literal> {
    scan.open(at);
    literal(scan, at)
}

/// What stands before a name on its line, if that is only what may stand before a name at a line's beginning.
#[inline(never)]
fn lead(scan: &mut Scan<'_>, start: usize) -> Option<bool> {
    let bytes = scan.text.bytes();
    // Text known to hold no newline is not read twice.
    let (from, until) = scan.flat;
    let floor = start.saturating_sub(LEAD);
    let mut line = start;
    while line > floor && bytes[line - 1] != b'\n' {
        line -= 1;
        if line == until {
            line = from;
        }
    }
    scan.flat = (line, start);
    if start - line >= LEAD {
        return None;
    }
    let mut rest = &bytes[line..start];
    let indented = matches!(rest.first(), Some(b' ' | b'\t'));
    loop {
        let before = rest.len();
        while let [b' ' | b'\t' | b'+' | b'-' | b'>' | b'<' | b'*' | b'|' | b'$' | b'#' | b'"' | b'\'', tail @ ..] =
            rest
        {
            rest = tail;
        }
        rest = rest.strip_prefix("│".as_bytes()).unwrap_or(rest);
        let digits = rest.iter().take_while(|&&c| is(c, DIGIT)).count();
        if digits > 0 && matches!(rest.get(digits), Some(b'|' | b':' | b'-' | b'\t' | b' ')) {
            rest = &rest[digits + 1..];
        }
        for word in [
            &b"export "[..],
            b"set ",
            b"declare -x ",
            b"typeset -x ",
            b"setenv ",
            b"ENV ",
            b"ARG ",
            b"E  ",
            b"env ",
            b"sudo ",
        ] {
            rest = rest.strip_prefix(word).unwrap_or(rest);
        }
        if rest.is_empty() {
            return Some(indented);
        }
        if rest.len() == before {
            return None;
        }
    }
}

/// A word that may name a secret, at `at`.
pub(crate) fn name(scan: &mut Scan<'_>, at: usize) {
    if at < scan.name_end {
        return;
    }
    let mut end = scan.text.run(at, NAME, MAX_NAME);
    scan.name_end = end;
    if end - at >= MAX_NAME {
        return;
    }
    let mut start = at;
    while start > 0 && at - start < MAX_NAME && is(scan.text.bytes()[start - 1], NAME) {
        start -= 1;
    }
    // The letter of `\n` in an escaped text is no part of the name after it.
    if scan.text.before(start) == b'\\' && matches!(scan.text.at(start), b'n' | b'r' | b't') && start < at {
        start += 1;
    }
    let dashes = scan.text.run(start, crate::text::JOIN, 4).min(at) - start;
    let option = dashes > 0
        && scan.text.at(start) == b'-'
        && matches!(scan.text.before(start), 0 | b' ' | b'\t' | b'"' | b'\'' | b'\n' | b',' | b'[' | b'(');
    while start < at && matches!(scan.text.at(start), b'-' | b'.') {
        start += 1;
    }
    while end > at && matches!(scan.text.at(end - 1), b'-' | b'.') {
        end -= 1;
    }
    let name = scan.text.slice(start, end);
    let tail = name.rsplit(|&c| c == b'.').next().unwrap_or(name);
    if special(scan, tail, start, end) {
        return;
    }
    // Most words that might name a secret are followed by nothing that ties a value to them.
    let before = scan.text.before(start);
    // The rule of a block such as `-----BEGIN PRIVATE KEY-----`.
    if scan.text.starts(end, b"-----") {
        return;
    }
    if matches!(scan.text.at(end), b'\n' | b'(' | b')' | b';' | b'/' | b',')
        && !matches!(before, b' ' | b'"' | b'\'' | b':' | b'=' | b'\\' | b'>')
    {
        return;
    }
    let strength = match scan.names.strength(scan.text.bytes(), start, end) {
        Strength::Weak if scan.strict => Strength::Strong,
        strength => strength,
    };
    if strength == Strength::None {
        return;
    }
    let lead = if option && dashes > 1 { None } else { lead(scan, start) };
    let mut named = Named {
        start,
        end,
        strength,
        anchored: lead.is_some(),
        indented: lead == Some(true),
        option: option && (dashes > 1 || lead.is_none()),
        param: matches!(before, b'?' | b'&') || matches!(before, b';' | b'#') && lead.is_none(),
        quoted: false,
    };
    let mut next = end;
    // The name's own closing quote, with as many backslashes as its opening one.
    if let Some((slashes, mark)) = quote(scan, next)
        && before == mark
        && (start.saturating_sub(slashes + 1)..start.saturating_sub(1)).all(|i| scan.text.bytes()[i] == b'\\')
    {
        named.quoted = true;
        next += slashes + 1;
        if scan.text.at(next) == b']' {
            next += 1;
        }
    }
    tie(scan, named, next);
}

/// Names with a family of their own. Whether `tail`, the last part of a dotted name, was one.
fn special(scan: &mut Scan<'_>, tail: &[u8], start: usize, end: usize) -> bool {
    match tail.first().map(u8::to_ascii_lowercase) {
        _ if tail.len() < 6 => return false,
        Some(b'a' | b'p' | b'h')
            if ["authorization", "proxyauthorization", "httpauthorization"]
                .iter()
                .any(|own| name::same(tail, own.as_bytes())) =>
        {
            crate::header::authorization(scan, end);
        }
        Some(b'b') if name::same(tail, b"bearer") => crate::header::bearer(scan, end),
        Some(b'c' | b's') if ["cookie", "setcookie", "cookies"].iter().any(|own| name::same(tail, own.as_bytes())) => {
            crate::header::cookie(scan, end, name::same(tail, b"setcookie"));
        }
        Some(b's') if tail == b"sensitive" => crate::terraform::sensitive(scan, start, end),
        Some(b's') if tail == b"Secret" => {
            crate::kubernetes::kind(scan, start);
            return false;
        }
        _ => return false,
    }
    true
}

/// Reads the operator behind a name at `next`, and what it ties to it.
fn tie(scan: &mut Scan<'_>, named: Named, next: usize) {
    // A user name of a URL is followed by a colon too.
    if scan.text.slice(named.start.saturating_sub(2), named.start) == b"//"
        && matches!(scan.text.at(next), b':' | b'\\')
    {
        return;
    }
    let mut at = scan.text.blanks(next, BLANKS);
    let gap = at > next;
    let tie = match (scan.text.at(at), scan.text.at(at + 1)) {
        (b'=', b'=' | b'~') | (b':', b':' | b'/') => return,
        (b'=', b'>') | (b':', b'=') | (b'?' | b'+', b'=') => {
            at += 2;
            Tie::Equals { spaced: gap }
        }
        (b'=', _) => {
            at += 1;
            Tie::Equals { spaced: gap || matches!(scan.text.at(at), b' ' | b'\t') }
        }
        (b':', _) => {
            at += 1;
            Tie::Colon
        }
        (b'>', _) if !gap && matches!(scan.text.before(named.start), b'<' | b':') => {
            at += 1;
            Tie::Element
        }
        _ if named.quoted && pair(scan, named, next) => return,
        _ if pair(scan, named, next) => return,
        _ if gap => return blank(scan, named, at),
        _ => return,
    };
    at = scan.text.blanks(at, BLANKS);
    if code::closes(scan, named, at) {
        return;
    }
    if tie == Tie::Colon
        && let Some(behind) = code::typed(scan, at)
    {
        return value(scan, named, Tie::Equals { spaced: true }, behind);
    }
    value(scan, named, tie, at);
}

/// A value at `at`.
#[inline(never)]
pub(crate) fn value(scan: &mut Scan<'_>, named: Named, tie: Tie, at: usize) {
    scan.open(at);
    match scan.text.at(at) {
        b'[' if !scan.text.starts(at, gate::MASK) && tie != Tie::Element => {
            if named.strength >= Strength::Strong || name_is_plural(scan, named) {
                array(scan, named, at + 1);
            }
        }
        b'{' if tie != Tie::Element && scan.text.at(at + 1) != b'{' => {
            if named.quoted || named.anchored {
                crate::terraform::valued(scan, at, named.rule(), named.strength >= Strength::Strong);
            }
        }
        b'|' | b'>' if tie == Tie::Colon && named.anchored => block(scan, named, at),
        0 | b'\n' => {}
        _ => match opened(scan, at) {
            Some(found) => quoted(scan, named, tie, found),
            None => bare(scan, named, tie, at),
        },
    }
}

fn name_is_plural(scan: &Scan<'_>, named: Named) -> bool {
    matches!(scan.text.slice(named.start, named.end).last(), Some(b's' | b'S'))
}

/// A quoted value.
#[inline(never)]
pub(crate) fn quoted(scan: &mut Scan<'_>, named: Named, tie: Tie, found: Literal) {
    let value = scan.text.slice(found.start, found.end);
    let name = scan.text.slice(named.start, named.end);
    let only = value.len() <= 1 || value.len() == 2 && value[0] == b'\\' || value.len() <= 4 && value[0] >= 0xC0;
    if only
        || gate::placeholder(value)
        || code::pattern(value)
        || code::filled(value)
        || gate::lookup_text(value)
        || name::echoes(name, value)
        || name::working_folder(name, value)
    {
        return;
    }
    let keep = match named.strength {
        Strength::Weak => {
            (!gate::opaque(value)
                || gate::fingerprint(value)
                || name::plain_key(name) && !gate::plain_key(value)
                || gate::path(value))
                && crate::service::rule(name, value).is_none()
        }
        // An interpolation around nothing else is a reference.
        _ if value.contains(&b' ') => gate::sentence(value) || value.iter().filter(|&&c| c == b' ').count() > 12,
        Strength::Strong => {
            gate::path(value)
                || value.iter().all(|&c| is(c, DIGIT) || c == b'.')
                || code::plain_name(value)
                || contains(value, b"://")
                || value.len() <= 6 && value.iter().all(|&c| is(c, DIGIT))
                || gate::prose_word(value)
                || tie == Tie::Blank && !gate::mixed(value)
        }
        Strength::Password => contains(value, b"://") || code::is_type(value) || code::version(value),
        Strength::None => true,
    };
    if !keep {
        let rule = crate::service::rule(name, value).filter(|_| !named.param).unwrap_or(named.rule());
        scan.mask(found.start, found.end, rule);
    }
}

fn contains(value: &[u8], part: &[u8]) -> bool {
    value.iter().enumerate().any(|(at, &c)| c == part[0] && value[at..].starts_with(part))
}

/// The strings of an array.
fn array(scan: &mut Scan<'_>, named: Named, from: usize) {
    let mut at = from;
    while at - from < NESTED {
        let byte = scan.text.at(at);
        if is(byte, SPACE) || byte == b',' {
            at += 1;
        } else if quote(scan, at).is_some() {
            let Some(found) = opened(scan, at) else { return };
            let value = scan.text.slice(found.start, found.end);
            // A list of words, or of names of variables, is no list of secrets.
            let names = match named.strength {
                Strength::Strong => value.len() < 8 || !gate::mixed(value) || value.contains(&b' '),
                _ => value.contains(&b'_') && value.iter().all(|&c| c.is_ascii_uppercase() || matches!(c, b'_' | b'*')),
            };
            if !names {
                quoted(scan, named, Tie::Colon, found);
            }
            at = found.next.max(at + 1);
        } else {
            return;
        }
    }
}

/// A YAML block scalar: the lines below that are indented further.
fn block(scan: &mut Scan<'_>, named: Named, at: usize) {
    let mut line = at + 1;
    while matches!(scan.text.at(line), b'-' | b'+' | b'0'..=b'9' | b' ') {
        line += 1;
    }
    if scan.text.at(line) != b'\n' || named.strength < Strength::Strong {
        return;
    }
    let own = indent(scan, scan.text.line_start(named.start, LEAD));
    for _ in 0..64 {
        line += 1;
        let end = scan.text.line_end(line, MAX_VALUE);
        let first = line + indent(scan, line);
        scan.open(first);
        if first >= end && scan.text.at(end) == b'\n' {
            line = end;
            continue;
        }
        if first - line <= own || scan.text.starts(first, b"-----BEGIN") {
            return;
        }
        if !gate::placeholder(scan.text.slice(first, end)) {
            scan.mask(first, end, named.rule());
        }
        if scan.text.at(end) != b'\n' {
            return;
        }
        line = end;
    }
}

/// How many blanks a line begins with.
#[inline(never)]
pub(crate) fn indent(scan: &Scan<'_>, line: usize) -> usize {
    scan.text.blanks(line, LEAD) - line
}

/// Where the bare value at `at` ends. In an environment dump it goes on to white space.
#[inline(never)]
pub(crate) fn bare_end(scan: &mut Scan<'_>, at: usize, dump: bool) -> usize {
    let (entered, known) = scan.runs[usize::from(dump)];
    let mut end = at;
    if entered <= at && at < known {
        end = known;
        if end == scan.text.len() {
            scan.text.touch();
        }
    } else {
        loop {
            let byte = scan.text.at(end);
            let stops = if dump { is(byte, SPACE) || byte == 0 } else { is(byte, STOP) };
            let escape = byte == b'\\' && matches!(scan.text.at(end + 1), b'n' | b'r' | b't' | b'"' | b'\'' | b'\\');
            if stops || escape && !dump {
                // A mask inside the value is part of it.
                if byte == b']' && in_mask(scan.text.slice(at.max(end.saturating_sub(110)), end)) {
                    end += 1;
                    continue;
                }
                break;
            }
            end += 1;
        }
        scan.runs[usize::from(dump)] = (at, end);
    }
    end.min(at + MAX_VALUE)
}

fn in_mask(value: &[u8]) -> bool {
    value.iter().rposition(|&c| c == b'[').is_some_and(|at| value[at..].starts_with(gate::MASK))
}

/// Where the text of an element ends: at its closing tag. `<user>:<password>@<host>` is how a text writes what to fill in.
fn element_end(scan: &Scan<'_>, named: Named, at: usize) -> Option<usize> {
    let mut end = at;
    while end - at < MAX_VALUE && !matches!(scan.text.at(end), b'<' | b'\n' | 0) {
        end += 1;
    }
    match scan.text.at(end) {
        b'<' => scan.text.at(end + 1) == b'/',
        b'\n' => named.anchored,
        0 => !scan.text.last(),
        _ => true,
    }
    .then_some(end)
}

/// A value without quotes.
#[inline(never)]
pub(crate) fn bare(scan: &mut Scan<'_>, named: Named, tie: Tie, at: usize) {
    // `&Secret = make()` is no parameter of a URL.
    let named = Named { param: named.param && tie != Tie::Equals { spaced: true }, ..named };
    let text = &scan.text;
    let first = text.at(at);
    if matches!(first, 0 | b'\n') {
        return;
    }
    scan.open(at);
    let dump = named.anchored
        && tie == Tie::Equals { spaced: false }
        && !named.param
        && !named.quoted
        && scan.text.before(named.start) != b'"'
        && scan.text.before(named.start) != b'\'';
    let reaches = if tie == Tie::Element { element_end(scan, named, at) } else { Some(bare_end(scan, at, dump)) };
    let Some(mut end) = reaches else { return };
    // `client_secret=x&grant_type=y` is a form, not an environment.
    let form = dump.then(|| code::form_end(scan.text.slice(at, end))).flatten();
    end = form.map_or(end, |size| at + size);
    let text = &scan.text;
    // In JSON the end of a bare value is never a bracket's business; in a dump only a lone separator is not part of it.
    while dump && end > at && matches!(text.at(end - 1), b',' | b';' | b'"' | b'\'' | b'`') {
        end -= 1;
    }
    let mut value = text.slice(at, end);
    if value.starts_with(gate::MASK) {
        let Some(size) = gate::mask_len(text.slice(at, at + 110)) else { return };
        if at + size >= end && is(text.at(at + size), STOP) || gate::masked(text.slice(at, end.max(at + size))) {
            return;
        }
        end = end.max(at + size);
        value = text.slice(at, end);
    }
    let name = text.slice(named.start, named.end);
    if tie != Tie::Element && code::stays(scan, named, tie, value, end, dump) {
        return;
    }
    let text = &scan.text;
    let token = named.option && value.len() >= 6 && gate::mixed(value) && name.to_ascii_lowercase().ends_with(b"token");
    if named.strength == Strength::Weak
        && !token
        && !weak(value, name, named.param)
        && crate::service::rule(name, value).is_none()
    {
        return;
    }
    if gate::placeholder(value)
        || contains(&value[..value.len().min(256)], b"://")
        || gate::lookup(value) && !(dump && named.strength == Strength::Password && !value.ends_with(b")"))
        || name::echoes(name, value)
        || name::working_folder(name, value)
        || text.at(end) == b'(' && !dump
    {
        return;
    }
    let masks = match named.strength {
        Strength::None => false,
        Strength::Weak => true,
        strength => {
            let digits = value.iter().all(|&c| is(c, DIGIT));
            let few = digits && (strength == Strength::Strong && value.len() <= 6 || value.len() < 4);
            let path = strength == Strength::Strong && gate::path(value);
            !few && !path && strong(scan, named, tie, value, end, dump)
        }
    };
    if masks {
        let rule = crate::service::rule(name, value).filter(|_| !named.param).unwrap_or(named.rule());
        scan.mask(at, end, rule);
    }
}

/// Whether a bare value behind a weak name is a secret.
fn weak(value: &[u8], name: &[u8], param: bool) -> bool {
    // `token=token=…`: the inner assignment speaks for itself.
    let inner = value.iter().take(64).position(|&c| !is(c, NAME));
    if inner.is_some_and(|at| value[at] == b'=' && value.get(at + 1).is_some_and(|&c| c != b'=')) {
        return false;
    }
    if param && value.len() >= 8 && gate::random(value, 8) && !gate::uuid(value) {
        return true;
    }
    gate::opaque(value)
        && !gate::fingerprint(value)
        && !gate::path(value)
        && (!name::plain_key(name) || gate::plain_key(value))
}

/// Whether a bare value behind a strong name is a secret, by how it is tied and what stands around it.
fn strong(scan: &Scan<'_>, named: Named, tie: Tie, value: &[u8], end: usize, dump: bool) -> bool {
    if dump {
        return true;
    }
    if named.param {
        return !gate::prose_word(value) && (named.strength == Strength::Password || value.len() >= 6);
    }
    if named.option && tie != Tie::Colon {
        return !(gate::prose_word(value) || named.strength == Strength::Strong && gate::path(value));
    }
    if gate::prose_word(value) || gate::member(value) {
        return false;
    }
    let wordlike = gate::wordlike(value);
    let next = scan.text.at(end);
    match tie {
        Tie::Element => !value.contains(&b' ') || !gate::sentence(value),
        Tie::Colon if named.anchored => {
            let rest = scan.text.blanks(end, BLANKS);
            let more = !matches!(
                scan.text.at(rest),
                b'\n' | 0 | b'#' | b',' | b'}' | b'\\' | b'"' | b'\'' | b'|' | b')' | b';' | b']'
            );
            let code = matches!(next, b',' | b';' | b')' | b'<' | b'=' | b'|' | b'[' | b'{' | b'>') && !named.quoted;
            if more || code || next == b'(' { gate::mixed(value) && value.len() >= 4 } else { true }
        }
        Tie::Colon | Tie::Blank => gate::mixed(value) && value.len() >= 4,
        Tie::Equals { spaced } => {
            let code =
                matches!(next, b',' | b')' | b';' | b']' | b'}') || spaced && (named.indented || !named.anchored);
            !(wordlike && code && !gate::mixed(value))
        }
    }
}

//! The words that tell a failure from noise, looked up by value instead of by comparing strings.
//!
//! A word is the run of ASCII letters of a line, lower-cased and packed into eight bytes; longer words are told by their
//! first eight letters and their length. This must never hold the words of one project: only of runners and languages.

/// What a word says about its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Says nothing.
    Other,
    /// `error`, `err`.
    Error,
    /// `errors`, `problems`, `vulnerabilities`: counted bad things.
    Errors,
    /// `fatal`.
    Fatal,
    /// `panic`, `panicked`, `traceback`: begins a trace.
    Panic,
    /// `exception`.
    Exception,
    /// `fail`, `failed`, `failing`, `failure`, `failures`.
    Fail,
    /// A word of a cause in prose: `denied`, `refused`, `cannot`, `missing`, …
    Cause,
    /// `killed`, `aborted`: how a process ended.
    Killed,
    /// `pass`, `passed`, `ok`, `success`, …
    Pass,
    /// `warn`, `warning`, `warnings`, `deprecated`.
    Warn,
    /// `expected`, `received`, `actual`, `got`, `want`, `left`, `right`, `assert`, …
    Diff,
    /// `exit`, `exited`.
    Exit,
    /// `code`, `status`: stands between `exit` and its number.
    Code,
    /// `info`, `debug`, `trace`, `notice`: a low level.
    Info,
    /// `level`, `lvl`, `severity`: the key of a level.
    Level,
    /// A verb of progress: `compiling`, `downloading`, …
    Progress,
    /// `test`, `tests`, `suites`, `examples`, …: what a summary counts.
    Tests,
    /// `skipped`, `ignored`, `pending`, …: what a summary also counts.
    Skipped,
    /// `no`, `without`, `zero`: takes back what follows.
    No,
    /// `not`.
    Not,
    /// `all`.
    All,
    /// `line`: stands before the number of a location.
    LineNo,
    /// `at`.
    At,
    /// `npm`, `pnpm`, `yarn`, …: a tool that puts its name before its errors.
    Tool,
    /// `found`, `aborting`, `total`, `completed`: belong to the last sentence of a tool.
    Closing,
}

/// The letters of a word that are packed; the rest decides by length only.
pub const PACKED: usize = 8;

/// Packs at most eight letters, lower-cased, first letter lowest.
#[must_use]
pub const fn pack(letters: &[u8]) -> u64 {
    let mut packed = 0;
    let mut at = 0;
    while at < letters.len() && at < PACKED {
        packed |= ((letters[at] | 0x20) as u64) << (8 * at);
        at += 1;
    }
    packed
}

/// Slots of the table: about twice the words, so that a look-up seldom needs a second step.
const SLOTS: usize = 512;

/// Spreads a packed word over the table. The factor is the golden ratio of 2^64, the usual one of multiplicative hashing.
const fn slot(packed: u64, len: usize) -> usize {
    ((packed ^ ((len as u64) << 59)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 55) as usize
}

macro_rules! words {
    ($( $kind:ident: $( $text:literal )+ ; )+) => {
        const WORDS: &[(&[u8], Word)] = &[ $( $( ($text, Word::$kind), )+ )+ ];
    };
}

words! {
    Error: b"error" b"err";
    Errors: b"errors" b"problems" b"problem" b"vulnerabilities" b"violations" b"offenses" b"issues" b"issue" b"errored";
    Fatal: b"fatal";
    Panic: b"panic" b"panicked" b"traceback" b"uncaught" b"unhandled" b"segfault" b"segmentation" b"oom";
    Exception: b"exception" b"exceptions";
    Fail: b"fail" b"fails" b"failed" b"failing" b"failure" b"failures" b"unsuccessful";
    Cause: b"denied" b"refused" b"undefined" b"unresolved" b"mismatch" b"mismatched" b"mismatches" b"cannot" b"unable"
        b"unexpected" b"invalid" b"missing" b"timeout" b"timed" b"conflict" b"conflicts" b"unknown" b"unrecognized"
        b"unsupported" b"forbidden" b"unauthorized" b"couldn" b"could" b"such" b"nonexistent" b"corrupt" b"corrupted" b"rejected"
        b"wrong" b"broken" b"violation" b"overflow" b"exceeded" b"unreachable" b"deadlock" b"incompatible" b"incorrect"
        b"unbound" b"outdated" b"cancelled" b"canceled" b"interrupted" b"bad" b"unavailable" b"dubious"
        b"leaked" b"exhausted" b"expired" b"malformed" b"illegal" b"differ" b"differs";
    Killed: b"killed" b"aborted" b"terminated" b"crashed" b"core";
    Pass: b"pass" b"passed" b"passes" b"passing" b"ok" b"success" b"successful" b"successfully" b"succeeded" b"done";
    Warn: b"warn" b"warning" b"warnings" b"deprecated" b"deprecation";
    Diff: b"expected" b"received" b"actual" b"got" b"want" b"wanted" b"left" b"right" b"assert" b"assertion" b"expect"
        b"diff";
    Exit: b"exit" b"exited" b"returned" b"exiting";
    Code: b"code" b"status" b"value" b"non" b"zero" b"with";
    Info: b"info" b"debug" b"trace" b"notice" b"verbose" b"log";
    Level: b"level" b"lvl" b"severity" b"loglevel";
    Progress: b"compiling" b"compiled" b"downloading" b"downloaded" b"fetching" b"fetched" b"building" b"built" b"installing"
        b"installed" b"checking" b"resolving" b"extracting" b"receiving" b"unpacking" b"pulling" b"pulled" b"copying"
        b"preparing" b"collecting" b"adding" b"added" b"generating" b"linking" b"updating" b"creating" b"get" b"using"
        b"requirement" b"selecting" b"setting" b"processing" b"unzipping" b"uploading" b"reading" b"writing"
        b"transforming" b"rendering" b"scanning" b"loading" b"waiting" b"refreshing" b"documenting" b"packaging"
        b"configuring" b"verifying" b"removing" b"cloning" b"counting" b"compressing" b"remote" b"inflating" b"cc" b"cxx"
        b"sending" b"cached" b"start";
    Tests: b"test" b"tests" b"suites" b"suite" b"examples" b"example" b"specs" b"spec" b"assertions" b"checks" b"files"
        b"targets" b"tasks" b"scenarios" b"steps" b"cases" b"snapshots";
    Skipped: b"skipped" b"ignored" b"pending" b"todo" b"filtered" b"xfailed" b"xpassed" b"deselected" b"disabled" b"flaky"
        b"xfail" b"xpass" b"skip" b"skipping";
    No: b"no" b"without" b"zero";
    Not: b"not";
    All: b"all" b"everything";
    LineNo: b"line";
    At: b"at";
    Tool: b"npm" b"pnpm" b"yarn" b"cmake" b"make" b"php" b"gmake" b"ninja" b"pip" b"lerna" b"nx" b"bazel" b"ld" b"gradle";
    Closing: b"found" b"aborting" b"total" b"finished" b"completed" b"generated" b"ran" b"collected" b"result";
}

const TABLE: [(u64, u8, Word); SLOTS] = table();

const fn table() -> [(u64, u8, Word); SLOTS] {
    let mut table = [(0, 0, Word::Other); SLOTS];
    let mut at = 0;
    while at < WORDS.len() {
        let (text, word) = WORDS[at];
        let packed = pack(text);
        let mut slot = slot(packed, text.len());
        while table[slot].1 != 0 && !(table[slot].0 == packed && table[slot].1 as usize == text.len()) {
            slot = (slot + 1) % SLOTS;
        }
        if table[slot].1 == 0 {
            table[slot] = (packed, text.len() as u8, word);
        }
        at += 1;
    }
    table
}

/// What a word of `len` letters says, given its first eight as [`pack`] packs them.
#[must_use]
pub fn look_up(packed: u64, len: usize) -> Word {
    let mut slot = slot(packed, len);
    loop {
        let (found, letters, word) = TABLE[slot];
        if letters == 0 || (found == packed && usize::from(letters) == len) {
            return word;
        }
        slot = (slot + 1) % SLOTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_either_case_and_others_are_not() {
        assert_eq!(look_up(pack(b"ERROR"), 5), Word::Error);
        assert_eq!(look_up(pack(b"Traceback"), 9), Word::Panic);
        assert_eq!(look_up(pack(b"successfully"), 12), Word::Pass);
        assert_eq!(look_up(pack(b"terror"), 6), Word::Other);
        assert_eq!(look_up(pack(b"exceptional"), 11), Word::Other);
    }

    #[test]
    fn every_word_of_the_list_is_in_the_table() {
        for (text, _) in WORDS {
            assert_ne!(look_up(pack(text), text.len()), Word::Other, "{}", String::from_utf8_lossy(text));
        }
    }
}

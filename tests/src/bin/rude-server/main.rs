//! A stdio MCP server that misbehaves on request: `rude-server [OPTIONS] MANNER [WORDS]`. With `ok` it is a good one.
//!
//! It is for tests only, and must never stay alive by accident: whatever it starts carries its arguments, so that a test
//! finds it by `--tag`, and only what a manner says outlives the end of its input.
//!
//! Options, before or between the words: `--tag TEXT` (in the arguments of everything it starts), `--log FILE` (a line for
//! each start and each call), `--gate FILE` (what a manner waits for), `--secret TEXT` (what the tool `tell` tells),
//! `--tools N` (so many more tools), `--tool NAME` (one more tool).
//!
//! - [`given`]: the arguments. [`manner`]: what can be wrong. [`tree`]: processes in shapes. [`out`]: lines.
//! - [`server`]: requests and answers. [`tools`]: what can be called. [`texts`]: resources, prompts, completions.

mod given;
mod manner;
mod out;
mod server;
mod texts;
mod tools;
mod tree;

use std::process::ExitCode;
use std::sync::Arc;

use given::Given;
use manner::Manner;
use server::Server;

fn main() -> ExitCode {
    let given = match Given::parse(std::env::args().skip(1)) {
        Ok(given) => given,
        Err(error) => {
            out::complain(&format!("rude-server: {error}"));
            return ExitCode::from(2);
        }
    };
    let word = given.words.first().map_or("", String::as_str);
    if let Some(code) = tree::shape(word, &given) {
        return code;
    }
    let Some(manner) = Manner::named(word, given.words.get(1).map_or("", String::as_str)) else {
        out::complain(&format!("rude-server: no manner is called '{word}'"));
        return ExitCode::from(2);
    };
    given.note(&format!("start {} {word}", std::process::id()));
    manner.before_everything(&given);
    let server = Arc::new(Server::new(given, manner));
    server.begin();
    server.listen();
    server.after_input()
}

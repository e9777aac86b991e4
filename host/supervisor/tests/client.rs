//! The host's handle: when there is a supervisor, what it knows, and what becomes of losing it.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_supervisor::client::{Client, Launch, Unprotected};
use hermes_supervisor::message::Hello;
use support::{Owned, Tiny, kill, new_marker, runs, stat, until, until_gone};

fn hello() -> Hello {
    let host = i32::try_from(std::process::id()).unwrap();
    Hello { host, start_ticks: stat(host).unwrap().3, marker: new_marker() }
}

fn client() -> Client<Tiny> {
    Client::new(hello(), Tiny)
}

fn child() -> Owned {
    Owned(Command::new("sleep").arg("1000").process_group(0).stdin(Stdio::null()).spawn().unwrap())
}

fn supervisor(client: &Client<Tiny>) -> i32 {
    client.supervisor().unwrap().1
}

#[test]
fn there_is_no_supervisor_without_processes() {
    let client = client();
    assert!(client.supervisor().is_none());
    assert!(!client.unregister(999_999_999).unwrap());
    assert!(!client.restore().unwrap());
    client.release();
    assert!(client.supervisor().is_none());
}

#[test]
fn the_first_registration_starts_one_and_the_second_does_not() {
    let (client, one, other) = (client(), child(), child());
    assert!(client.register(one.pid()).unwrap());
    let first = supervisor(&client);
    assert!(!client.register(other.pid()).unwrap());
    assert_eq!(supervisor(&client), first);
    let mut expected = vec![one.pid(), other.pid()];
    expected.sort_unstable();
    assert_eq!(client.registered(), expected);
}

#[test]
fn one_can_be_there_before_anything_starts() {
    let client = client();
    assert!(client.ready().unwrap());
    assert!(!client.ready().unwrap());
    let one = child();
    assert!(!client.register(one.pid()).unwrap());
}

#[test]
fn it_leaves_without_a_trace_when_it_is_released() {
    let (client, one) = (client(), child());
    client.register(one.pid()).unwrap();
    let pid = supervisor(&client);
    client.release();
    assert!(runs(pid), "something is registered");
    client.unregister(one.pid()).unwrap();
    client.release();
    assert_eq!(stat(pid), None, "it is there, or a zombie");
    assert!(client.supervisor().is_none() && runs(one.pid()));
    assert!(client.register(one.pid()).unwrap(), "the next one starts afresh");
}

#[test]
fn the_groups_of_which_nobody_is_left_are_forgotten() {
    let (client, one, other) = (client(), child(), child());
    let gone = one.pid();
    client.register(gone).unwrap();
    drop(one);
    client.register(other.pid()).unwrap();
    assert_eq!(client.registered(), [other.pid()]);
}

#[test]
fn after_a_loss_the_next_one_is_told_everything() {
    let (client, mut one, mut other) = (client(), child(), child());
    client.register(one.pid()).unwrap();
    let lost = supervisor(&client);
    kill(lost, "KILL");
    until_gone(&[lost]);
    assert!(client.register(other.pid()).unwrap());
    assert_ne!(supervisor(&client), lost);
    assert_eq!((client.losses(), stat(lost)), (1, None));
    // The end of the pipe is the end of both.
    drop(client);
    assert_eq!((one.ended().signal(), other.ended().signal()), (Some(15), Some(15)));
}

#[test]
fn an_unregistration_after_a_loss_brings_back_the_protection_of_the_others() {
    let (client, one, mut other) = (client(), child(), child());
    client.register(one.pid()).unwrap();
    client.register(other.pid()).unwrap();
    let lost = supervisor(&client);
    kill(lost, "KILL");
    until_gone(&[lost]);
    assert!(client.unregister(one.pid()).unwrap());
    assert_eq!(client.registered(), [other.pid()]);
    drop(client);
    assert_eq!(other.ended().signal(), Some(15));
    assert!(runs(one.pid()), "it was not registered any more");
}

#[test]
fn a_loss_is_made_good_without_any_change() {
    let (client, one) = (client(), child());
    client.register(one.pid()).unwrap();
    let lost = supervisor(&client);
    kill(lost, "KILL");
    until_gone(&[lost]);
    assert!(client.restore().unwrap());
    assert!(!client.restore().unwrap());
    assert!(runs(supervisor(&client)));
    client.unregister(one.pid()).unwrap();
    let lost = supervisor(&client);
    kill(lost, "KILL");
    until_gone(&[lost]);
    assert!(!client.restore().unwrap(), "there is nothing to protect");
}

#[test]
fn one_that_does_not_read_is_replaced() {
    let (client, one) = (client(), child());
    client.register(one.pid()).unwrap();
    let stopped = supervisor(&client);
    kill(stopped, "STOP");
    // Until its pipe is full.
    until("a new supervisor", || {
        client.register(one.pid()).unwrap();
        client.supervisor().is_some_and(|(_, pid)| pid != stopped).then_some(())
    });
    assert!(!runs(stopped));
    assert!(runs(one.pid()), "the one that was stopped acted on its end");
}

/// Cannot start anything, until it can.
struct Lame(AtomicBool);

impl Launch for Lame {
    fn launch(&self, input: OwnedFd) -> io::Result<i32> {
        if self.0.load(Ordering::Relaxed) { Tiny.launch(input) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn given_up(&self, _: i32) {}
}

#[test]
fn without_a_supervisor_the_set_is_kept_and_the_next_change_tries_again() {
    let client = Client::new(hello(), Lame(AtomicBool::new(false)));
    let (mut one, mut other) = (child(), child());
    assert!(matches!(client.ready(), Err(Unprotected::Launch(_))));
    assert!(matches!(client.register(one.pid()), Err(Unprotected::Launch(_))));
    assert_eq!(client.registered(), [one.pid()]);
    client.launcher().0.store(true, Ordering::Relaxed);
    assert!(client.register(other.pid()).unwrap());
    drop(client);
    assert_eq!((one.ended().signal(), other.ended().signal()), (Some(15), Some(15)));
}

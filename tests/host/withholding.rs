//! A redactor that ought to be in force and is not withholds in a host too: nothing is shown, nothing else is lost.

use hermes_tests::home::TestHome;
use hermes_tests::hosted::Hosted;

/// What is printed, and must not be seen.
const PRINTED: &str = "tiramisu";
/// What is seen in its place.
const WITHHELD: &str = "[output withheld: subject: not-wasm]";

fn withholding() -> Hosted {
    let home = TestHome::new();
    home.install_bytes("subject", b"no component at all");
    Hosted::of(home, "")
}

#[test]
fn a_process_ends_as_usual_and_its_output_is_withheld_everywhere() {
    let house = withholding();
    let id = house.background(&["--notify", "--watch", PRINTED, "-c", "echo tiramisu; exit 3"]);
    let row = house.until_ended(&id);
    assert_eq!((&row["exit_code"], &row["preview"]), (&3.into(), &WITHHELD.into()), "{row}");
    let told = house.events(1, &[]);
    assert_eq!((&told[0]["kind"], &told[0]["exit_code"]), (&"completion".into(), &3.into()), "{told:#?}");
    assert_eq!(told[0]["output"], WITHHELD);
    assert_eq!(told[0]["policy"]["withheld"]["plugin"], "subject");
    for ask in [&["logs", &id][..], &["logs", &id, "--json"], &["logs", &id, "--follow"], &["ps", "--json"]] {
        let ran = house.run(ask).expect(0);
        assert!(ran.stdout.contains(WITHHELD) && !ran.all().contains(PRINTED), "{ask:?}: {ran:?}");
    }
    let waited = house.run(&["wait", &id]).expect(3);
    assert!(waited.stderr.contains("hermes plugins why subject"), "no reason, no next step: {waited:?}");
    let left = house.home().files_with(PRINTED);
    assert!(left.is_empty(), "on disk in {left:?}");
}

#[test]
fn the_next_host_shows_again_and_what_was_written_down_stays_withheld() {
    let house = withholding();
    let before = house.background(&["-c", "echo tiramisu"]);
    house.until_ended(&before);
    drop(house.run(&["plugins", "disable", "subject"]).expect(0));
    assert!(house.events_in_the_end().is_empty());
    let after = house.background(&["-c", "echo tiramisu"]);
    assert_eq!(house.run(&["wait", &after]).expect(0).stdout, "tiramisu\n");
    // Nothing that was not revealed is written, so there is nothing to reveal later.
    assert_eq!(house.run(&["logs", &before]).expect(0).stdout.trim_end(), WITHHELD);
}

#[test]
fn a_host_that_runs_reveals_what_it_withheld_once_the_plugin_is_out_of_the_way() {
    let house = withholding();
    let id = house.background(&["-c", "echo tiramisu"]);
    house.until_ended(&id);
    assert_eq!(house.run(&["logs", &id]).expect(0).stdout.trim_end(), WITHHELD);
    drop(house.run(&["plugins", "disable", "subject"]).expect(0));
    hermes_tests::wait::until("the text that was withheld", hermes_tests::wait::PATIENCE, || {
        (house.run(&["logs", &id]).expect(0).stdout == "tiramisu\n").then_some(())
    });
}

#[test]
fn a_host_that_runs_takes_up_what_is_changed_and_what_is_taken_back() {
    let house = Hosted::new();
    let id = house.background(&["-c", "echo tiramisu"]);
    house.until_ended(&id);
    let until_shown = |wanted: &str| {
        hermes_tests::wait::until(wanted, hermes_tests::wait::PATIENCE, || {
            (house.run(&["logs", &id]).expect(0).stdout.trim_end() == wanted).then_some(())
        });
    };
    until_shown(PRINTED);
    let host = house.host().expect("a host runs");
    house.home().install_bytes("subject", b"no component at all");
    until_shown(WITHHELD);
    drop(house.run(&["plugins", "rollback"]).expect(0));
    until_shown(PRINTED);
    assert_eq!(house.host(), Some(host), "it is another host");
}

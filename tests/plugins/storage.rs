//! What a notifier keeps: there for the next host, its own, bounded, and gone with the plugin.

use hermes_tests::home::TestHome;

use super::grants::{install, told};

fn with_storage() -> TestHome {
    let home = TestHome::new();
    install(&home, &["storage"]);
    drop(home.run(["plugins", "grant", "uses-grants", "storage"]).expect(0));
    home
}

#[test]
fn a_value_is_there_for_the_next_host_and_looking_creates_nothing() {
    let home = with_storage();
    assert_eq!(told(&home, "GET colour"), "Ok(\"nothing\")");
    assert!(!home.root().join("state.db").exists());
    assert_eq!(told(&home, "PUT colour green"), "Ok(())");
    assert_eq!(told(&home, "GET colour"), "Ok(\"green\")");
    assert_eq!(told(&home, "REMOVE colour"), "Ok(())");
    assert_eq!(told(&home, "GET colour"), "Ok(\"nothing\")");
}

#[test]
fn what_does_not_fit_is_refused_with_the_limit() {
    let home = with_storage();
    assert_eq!(told(&home, "PUT-BYTES large 65537"), "Err(TooLarge(65536))");
    for index in 0..15 {
        assert_eq!(told(&home, &format!("PUT-BYTES key{index} 65536")), "Ok(())");
    }
    assert_eq!(told(&home, "PUT-BYTES one-more 65536"), "Err(QuotaExceeded(1048576))");
    assert_eq!(told(&home, "GET one-more"), "Ok(\"nothing\")");
}

#[test]
fn what_a_plugin_kept_is_removed_with_it_and_stays_over_another_version() {
    let home = with_storage();
    assert_eq!(told(&home, "PUT colour green"), "Ok(())");
    install(&home, &["storage"]);
    assert_eq!(told(&home, "GET colour"), "Ok(\"green\")");
    drop(home.run(["plugins", "remove", "uses-grants"]).expect(0));
    install(&home, &["storage"]);
    drop(home.run(["plugins", "grant", "uses-grants", "storage"]).expect(0));
    assert_eq!(told(&home, "GET colour"), "Ok(\"nothing\")");
}

//! What notifiers keep: each its own, within its quota, and without a trace of looking.

use proptest::prelude::*;

use super::Place;
use crate::limits::{KEY_BYTES_MAX, KEYS_MAX, VALUE_BYTES_MAX, VALUES_BYTES_MAX};
use crate::live::handle::Ledger;
use crate::values::{Values, ValuesError};

#[test]
fn reading_and_removing_create_nothing() {
    let place = Place::new();
    let values = Values::of(&place.home(), "pager");
    assert_eq!(values.get("a").unwrap(), None);
    values.remove("a").unwrap();
    values.clear().unwrap();
    assert!(!place.root().exists());
}

#[test]
fn a_value_is_there_until_it_is_removed_and_belongs_to_one_plugin() {
    let place = Place::new();
    let (pager, other) = (Values::of(&place.home(), "pager"), Values::of(&place.home(), "other"));
    pager.put("a", b"one").unwrap();
    pager.put("a", b"two").unwrap();
    pager.put("b", b"").unwrap();
    assert_eq!(pager.get("a").unwrap().as_deref(), Some(&b"two"[..]));
    assert_eq!(pager.get("b").unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(other.get("a").unwrap(), None);
    other.put("a", b"theirs").unwrap();
    pager.remove("a").unwrap();
    assert_eq!(pager.get("a").unwrap(), None);
    pager.clear().unwrap();
    assert_eq!(pager.get("b").unwrap(), None);
    assert_eq!(other.get("a").unwrap().as_deref(), Some(&b"theirs"[..]));
}

#[test]
fn a_value_that_was_put_is_there_after_everybody_was_killed() {
    let place = Place::new();
    Values::of(&place.home(), "pager").put("a", b"one").unwrap();
    let after = place.killed();
    assert_eq!(Values::of(&after.home(), "pager").get("a").unwrap().as_deref(), Some(&b"one"[..]));
}

#[tokio::test]
async fn a_host_that_runs_and_its_notifiers_share_the_file() {
    let place = Place::new();
    let ledger = place.open("host");
    let values = Values::of(&place.home(), "pager");
    values.put("a", b"one").unwrap();
    assert_eq!(values.get("a").unwrap().as_deref(), Some(&b"one"[..]));
    assert_eq!(ledger.audits(1).await.unwrap().len(), 0);
    drop(ledger);
    assert!(Ledger::read(&place.home()).unwrap().is_some());
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let place = Place::new();
    let values = Values::of(&place.home(), "pager");
    let too_long = "k".repeat(KEY_BYTES_MAX + 1);
    assert!(matches!(values.put(&too_long, b""), Err(ValuesError::Key)));
    assert!(matches!(values.put("a", &vec![0; VALUE_BYTES_MAX + 1]), Err(ValuesError::TooLarge)));
    let fit = usize::try_from(VALUES_BYTES_MAX).unwrap() / VALUE_BYTES_MAX - 1;
    for index in 0..fit {
        values.put(&format!("{index}"), &vec![0; VALUE_BYTES_MAX]).unwrap();
    }
    values.put("last", &vec![0; VALUE_BYTES_MAX - 1000]).unwrap();
    assert!(matches!(values.put("more", &vec![0; 1000]), Err(ValuesError::Quota)));
    assert_eq!(values.get("more").unwrap(), None);
    values.remove("0").unwrap();
    values.put("more", &vec![0; 1000]).unwrap();
}

#[test]
fn a_plugin_keeps_so_many_keys_and_no_more() {
    let place = Place::new();
    let values = Values::of(&place.home(), "pager");
    for index in 0..KEYS_MAX {
        values.put(&index.to_string(), b"").unwrap();
    }
    assert!(matches!(values.put("one more", b""), Err(ValuesError::TooMany)));
    values.put("0", b"again").unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_key_and_value_come_back_as_they_were(key in "\\PC{0,40}", value: Vec<u8>) {
        let place = Place::new();
        let values = Values::of(&place.home(), "pager");
        values.put(&key, &value).unwrap();
        prop_assert_eq!(values.get(&key).unwrap(), Some(value));
    }
}

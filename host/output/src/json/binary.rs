//! Which strings are binaries: the data of images and sounds, and the blobs of resources.
//!
//! A place alone does not make one: text that is not base64 must never pass as a binary.

use serde_json::{Map, Value};

/// A member that holds a binary in base64.
pub(super) enum Binary<'a> {
    /// An image or a sound: nothing in it is text.
    Media,
    /// The contents of a resource, which may be those of a text file.
    Blob(&'a str),
}

/// The binary in a member of an object, if it is one: `data` where `type` is `image` or `audio`, `blob` beside `uri`.
pub(super) fn of<'a>(members: &Map<String, Value>, key: &str, value: &'a Value) -> Option<Binary<'a>> {
    let found = match key {
        "data" => {
            let kind = members.get("type").and_then(Value::as_str);
            matches!(kind, Some("image" | "audio")).then_some(Binary::Media)?
        }
        "blob" if members.contains_key("uri") => Binary::Blob(value.as_str()?),
        _ => return None,
    };
    is_base64(value.as_str()?).then_some(found)
}

/// Whether a text can be base64, of either alphabet, in one line or many.
fn is_base64(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\n' | b'\r'))
}

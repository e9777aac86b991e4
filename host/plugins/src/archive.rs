//! What a file that is no WebAssembly is, by its first bytes, so that its owner is told what to do with it.
//!
//! Nothing is unpacked, here or anywhere else.

/// Formats by the bytes they begin with (file(1)'s table of magic numbers).
const MAGIC: [(&[u8], &str); 8] = [
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"\xfd7zXZ\x00", "an xz file"),
    (b"BZh", "a bzip2 file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"!<arch>\n", "an ar archive"),
];
/// Where a tar archive says that it is one (POSIX.1-1988, `magic` of the header).
const TAR: std::ops::Range<usize> = 257..262;

/// The archive or the compressed file these bytes are, with its article.
pub(crate) fn kind(bytes: &[u8]) -> Option<&'static str> {
    if bytes.get(TAR) == Some(b"ustar") {
        return Some("a tar archive");
    }
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_known_by_their_first_bytes() {
        let mut tar = vec![0; 512];
        tar[TAR].copy_from_slice(b"ustar");
        assert_eq!(kind(&tar), Some("a tar archive"));
        assert_eq!(kind(b"PK\x03\x04..."), Some("a zip archive"));
        assert_eq!(kind(b"\x1f\x8b\x08"), Some("a gzip file"));
        assert_eq!(kind(b"\x28\xb5\x2f\xfd"), Some("a zstd file"));
        for none in [&b""[..], b"P", b"hello", b"\0asm\x0d\0\x01\0"] {
            assert_eq!(kind(none), None);
        }
    }
}

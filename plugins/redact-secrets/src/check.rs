//! What proves a token by itself: checksums and alphabets its issuer promises, the header of a JWT. An answer only ever
//! makes a mask surer: a token that fails its check may be a new kind, and is masked all the same.
use crate::text::{DIGIT, any};

/// How many characters of a token the checksum is.
const SUM: usize = 6;

/// The sum with one more byte.
#[inline(never)]
fn step(sum: u32, byte: u8) -> u32 {
    (0..8).fold(sum ^ u32::from(byte), |sum, _| sum >> 1 ^ 0xEDB8_8320 & 0u32.wrapping_sub(sum & 1))
}

/// CRC-32 of `bytes`, as zlib and Ethernet have it (polynomial 0x04C11DB7, reflected).
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, &byte| step(sum, byte))
}

/// The value of a base-62 digit: digits, then upper-case, then lower-case letters.
#[inline(never)]
fn digit(byte: u8) -> Option<u32> {
    Some(match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'Z' => u32::from(byte - b'A') + 10,
        b'a'..=b'z' => u32::from(byte - b'a') + 36,
        _ => return None,
    })
}

/// Whether the last six characters of `body` are the CRC-32 of those before them in base 62, as GitHub and npm make
/// theirs.
#[inline(never)]
pub(crate) fn crc32(body: &[u8]) -> bool {
    let Some((text, sum)) = body.len().checked_sub(SUM).map(|at| body.split_at(at)) else { return false };
    let said = sum.iter().try_fold(0u64, |value, &byte| Some(value * 62 + u64::from(digit(byte)?)));
    said == Some(u64::from(crc(text)))
}

/// Whether `body` has only characters of base32 (RFC 4648), as an AWS key id has, and both a letter and a digit.
#[inline(never)]
pub(crate) fn base32(body: &[u8]) -> bool {
    body.iter().all(|c| matches!(c, b'A'..=b'Z' | b'2'..=b'7'))
        && any(body, DIGIT)
        && body.iter().any(u8::is_ascii_uppercase)
}

/// How much of a JWT's header is decoded.
const HEADER: usize = 128;

/// Whether `part`, in base64url, is the header of a JWT: an object that names an algorithm, a type or a key.
#[inline(never)]
pub(crate) fn jwt_header(part: &[u8]) -> bool {
    let mut json = [0u8; HEADER];
    let mut size = 0;
    let (mut bits, mut count) = (0u32, 0);
    for &byte in part {
        let value = match byte {
            b'-' => 62,
            b'_' => 63,
            // Base 64 has the letters in the other order: upper-case, lower-case, digits.
            _ => match digit(byte) {
                Some(value @ 0..=9) => value + 52,
                Some(value) => value - 10,
                None => return false,
            },
        };
        bits = bits << 6 | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            json[size] = (bits >> count) as u8;
            size += 1;
            if size == HEADER {
                break;
            }
        }
    }
    let json = &json[..size];
    json.starts_with(b"{\"")
        && [&b"\"alg\":"[..], b"\"typ\":", b"\"kid\":", b"\"enc\":", b"\"cty\":", b"\"jku\":", b"\"x5t\":"]
            .iter()
            .any(|key| json.windows(key.len()).any(|at| at == *key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_published_one() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(crc(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc(b""), 0);
    }

    #[test]
    fn a_body_with_its_checksum_passes_and_one_with_another_does_not() {
        for text in [&b"zQ1aBc9LmNoP7rStUvWx2YzAbCdEf3"[..], b"000000000000000000000000000000"] {
            let mut sum = u64::from(crc(text));
            let mut body = text.to_vec();
            let digits: Vec<u8> = (0..6)
                .map(|_| {
                    let digit = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(sum % 62) as usize];
                    sum /= 62;
                    digit
                })
                .collect();
            body.extend(digits.iter().rev());
            assert!(crc32(&body));
            body[3] ^= 1;
            assert!(!crc32(&body));
        }
        assert!(!crc32(b"short"));
        assert!(!crc32(b"0123456789-_-_-_"));
    }

    #[test]
    fn base32_has_no_zero_one_eight_or_nine() {
        assert!(base32(b"QAXF2RTVW7Y4LMN5"));
        for wrong in [&b"QAXF2RTVW0Y4LMN5"[..], b"QAXF2RTVW8Y4LMN5", b"ABCDEFGHIJKLMNOP", b"2345672345672345", b""] {
            assert!(!base32(wrong));
        }
    }

    #[test]
    fn a_header_is_told_from_other_json() {
        // {"alg":"HS256","typ":"JWT"}, {"p2c":1,"alg":"none"} and {"name":"value"}
        assert!(jwt_header(b"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"));
        assert!(jwt_header(b"eyJwMmMiOjEsImFsZyI6Im5vbmUifQ"));
        assert!(!jwt_header(b"eyJuYW1lIjoidmFsdWUifQ"));
        assert!(!jwt_header(b"eyJ"));
        assert!(!jwt_header(b"{\"alg\":"));
    }
}

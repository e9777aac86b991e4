//! Numbers of payment cards and of bank accounts. Both carry a check digit, and both have few lengths: a number that
//! fails either is no such number. It must never take part of a longer number, of a hash or of a fraction for one.

use crate::personal::said;
use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, DIGIT, HEX, JOIN, SPACE, all, any, is};

/// Most digits of a card's number (ISO/IEC 7812-1).
const MAX_CARD: usize = 19;
/// Fewest.
const MIN_CARD: usize = 13;
/// Most characters of an account's number (ISO 13616).
const MAX_ACCOUNT: usize = 34;
/// Digits of a number that stands beside others in a list.
const LONG: usize = 14;
/// Most bytes between two of them.
const GAP: usize = 24;
/// The groups in which cards print their numbers.
const GROUPS: &[&[usize]] = &[&[4, 4, 4, 4, 3], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4]];

/// The first digits of numbers, as the first and the last of them with six digits, and the lengths that go with them as
/// bits. They are what the card networks publish.
#[rustfmt::skip]
static NETWORKS: &[(u32, u32, u32)] = &[
    // Visa.
    (400_000, 499_999, 1 << 13 | 1 << 16 | 1 << 19),
    // Mastercard.
    (510_000, 559_999, 1 << 16), (222_100, 272_099, 1 << 16),
    // Mir.
    (220_000, 220_499, 1 << 16),
    // American Express.
    (340_000, 349_999, 1 << 15), (370_000, 379_999, 1 << 15),
    // Diners Club.
    (300_000, 305_999, 1 << 14), (309_500, 309_599, 1 << 14), (360_000, 369_999, 1 << 14), (380_000, 399_999, 1 << 14),
    // JCB.
    (352_800, 358_999, 0b1111 << 16),
    // Discover.
    (601_100, 601_199, 0b1111 << 16), (644_000, 659_999, 0b1111 << 16),
    // UnionPay.
    (620_000, 629_999, 0b1111 << 16),
    // Maestro.
    (501_800, 501_899, 0b111_1111 << 13), (502_000, 502_099, 0b111_1111 << 13), (503_800, 503_899, 0b111_1111 << 13),
    (589_300, 589_399, 0b111_1111 << 13), (630_400, 630_499, 0b111_1111 << 13), (675_900, 675_999, 0b111_1111 << 13),
    (676_100, 676_399, 0b111_1111 << 13),
    // RuPay.
    (508_500, 508_999, 1 << 16), (652_100, 652_299, 1 << 16), (817_200, 820_199, 1 << 16),
];

/// The countries of accounts, each with the length of its numbers (the registry of ISO 13616).
#[rustfmt::skip]
static COUNTRIES: &[u8] = b"AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27\
GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27\
MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24\
XK20YE30";

/// Whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B).
#[inline(never)]
fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| {
            let value = u32::from(digit - b'0') << (place % 2);
            if value > 9 { value - 9 } else { value }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Whether these digits are the number of a card.
#[inline(never)]
fn card_number(digits: &[u8]) -> bool {
    let first = digits.iter().take(6).fold(0, |number, &digit| number * 10 + u32::from(digit - b'0'));
    let known = |&&(from, to, sizes): &&(u32, u32, u32)| (from..=to).contains(&first) && sizes >> digits.len() & 1 == 1;
    NETWORKS.iter().any(|network| known(&network)) && luhn(digits)
}

/// Whether a byte before a number makes it part of something longer: a word, a fraction, a UUID.
fn joins(byte: u8) -> bool {
    is(byte, ALNUM | JOIN) || matches!(byte, b'.' | b'+' | b'%')
}

/// The number of a card whose first digit stands at `start`.
#[inline(never)]
pub(crate) fn card(scan: &mut Scan<'_>, start: usize) {
    let text = &scan.text;
    if joins(text.before(start)) || !matches!(text.peek(start), b'2'..=b'6' | b'8') {
        return;
    }
    scan.open(start);
    let end = text.run(start, DIGIT, MAX_CARD + 1);
    let size = end - start;
    if size == 4 && matches!(text.peek(end), b' ' | b'-') {
        return grouped(scan, start);
    }
    if (MIN_CARD..=MAX_CARD).contains(&size) && ends(scan, end) && card_number(scan.text.slice(start, end)) {
        // Most numbers of cards have fifteen or sixteen digits; others are as likely to be of anything else.
        let usual = (15..=16).contains(&size) && text.before(start) != b'#' && !made_up(text.slice(start, end));
        if if usual { !listed(scan, start, end) } else { said(scan, start, SAID) } {
            scan.mask(start, end, rules::CARD);
        }
    }
}

/// Whether these digits are the order of the strokes of a character, as tables of Chinese writing have it: of the five
/// kinds of stroke at least four, and no other digit. Or whether they count up and down, as no card's do by chance.
fn made_up(digits: &[u8]) -> bool {
    let kinds = digits.iter().fold(0u32, |kinds, &digit| kinds | 1 << (digit - b'0'));
    let steps = digits.array_windows().filter(|[one, next]| one.abs_diff(*next) == 1).count();
    kinds & !0b11_1110 == 0 && kinds.count_ones() >= 4 || steps >= 12 && kinds.count_ones() >= 6
}

/// Words beside the number of a card.
const SAID: &[&str] = &["card", "pan", "visa", "diners", "maestro", "unionpay", "payment", "karte", "carte", "tarjeta"];

/// Whether a number stands in a list of long numbers that are no card's, as in the tables of a program.
#[inline(never)]
fn listed(scan: &Scan<'_>, start: usize, end: usize) -> bool {
    let text = &scan.text;
    let mut others = 0;
    let mut at = start;
    for _ in 0..2 {
        let mut to = at;
        while at - to < GAP && gap(text.before(to)) {
            to -= 1;
        }
        let mut from = to;
        while to - from <= MAX_CARD && is(text.before(from), DIGIT) {
            from -= 1;
        }
        others += usize::from(other(text.slice(from, to)));
        at = from;
    }
    at = end;
    for _ in 0..2 {
        let mut from = at;
        while others < 2 && from - at < GAP && gap(text.peek(from)) {
            from += 1;
        }
        let to = if others < 2 { text.run(from, DIGIT, MAX_CARD + 1) } else { from };
        others += usize::from(other(text.slice(from, to)));
        at = to;
    }
    others >= 2
}

/// Whether a byte may stand between two numbers of a list.
#[inline(never)]
fn gap(byte: u8) -> bool {
    is(byte, SPACE) || matches!(byte, b',' | b';' | b'(' | b')' | b'{' | b'}' | b'[' | b']')
}

/// Whether a number is as long as that of a card, and none.
#[inline(never)]
fn other(number: &[u8]) -> bool {
    number.len() >= LONG && !(number.len() <= MAX_CARD && card_number(number))
}

/// Whether a number ends at `end`: no word and no fraction goes on from there.
fn ends(scan: &Scan<'_>, end: usize) -> bool {
    match scan.text.peek(end) {
        b'.' | b'-' | b':' => !is(scan.text.peek(end + 1), ALNUM),
        byte => !is(byte, ALNUM | JOIN),
    }
}

/// The number of a card in groups with one kind of sign between them.
#[inline(never)]
fn grouped(scan: &mut Scan<'_>, start: usize) {
    if tabled(scan, start) {
        return;
    }
    for groups in GROUPS {
        let mut digits = [0u8; MAX_CARD];
        let size = groups.iter().sum();
        let Some(end) = in_groups(scan, start, groups, &mut digits) else { continue };
        if !is(scan.text.peek(end), ALNUM | JOIN) && card_number(&digits[..size]) {
            scan.mask(start, end, rules::CARD);
            return;
        }
    }
}

/// Whether a number stands in a table of groups of four, behind one more of them: such a row is no card.
#[inline(never)]
fn tabled(scan: &Scan<'_>, start: usize) -> bool {
    let blank = |byte: u8| matches!(byte, 0 | b' ' | b'\n');
    let Some(at) = start.checked_sub(5) else { return false };
    let group = scan.text.slice(at, start - 1);
    blank(scan.text.before(start)) && blank(scan.text.before(at)) && all(group, HEX) && any(group, DIGIT)
}

/// Reads digits in groups, and gives where they end.
#[inline(never)]
fn in_groups(scan: &Scan<'_>, start: usize, groups: &[usize], digits: &mut [u8]) -> Option<usize> {
    let sign = scan.text.peek(start + groups.first()?);
    let (mut at, mut left, mut groups) = (start, 0, groups.iter());
    for digit in digits {
        while left == 0 {
            let Some(&size) = groups.next() else { return Some(at) };
            if at > start {
                if scan.text.peek(at) != sign {
                    return None;
                }
                at += 1;
            }
            left = size;
        }
        *digit = scan.text.peek(at);
        if !is(*digit, DIGIT) {
            return None;
        }
        at += 1;
        left -= 1;
    }
    Some(at)
}

/// The number of an account whose country stands at `start`.
#[inline(never)]
pub(crate) fn account(scan: &mut Scan<'_>, start: usize) {
    let text = &scan.text;
    if joins(text.before(start)) {
        return;
    }
    let country = [text.peek(start), text.peek(start + 1)];
    let Some(entry) = COUNTRIES.as_chunks::<4>().0.iter().find(|entry| entry[..2] == country) else { return };
    let want = usize::from(entry[2] - b'0') * 10 + usize::from(entry[3] - b'0');
    scan.open(start);
    let mut number = [0u8; MAX_ACCOUNT];
    let (mut count, mut left, mut blanks) = (0, 4, false);
    let near = text.slice(start, start + MAX_ACCOUNT + MAX_ACCOUNT / 4);
    let mut at = start;
    while count < want {
        let Some(&byte) = near.get(at - start) else { return text.touch() };
        at += 1;
        // Groups of four, from the first on or not at all.
        if left == 0 {
            left = 4;
            if byte == b' ' && (blanks || count == 4) {
                blanks = true;
                continue;
            }
            if blanks {
                return;
            }
        }
        if !(byte.is_ascii_digit() || byte.is_ascii_uppercase()) {
            return;
        }
        number[count] = byte;
        count += 1;
        left -= 1;
    }
    if is(text.peek(at), ALNUM | JOIN) {
        return;
    }
    // The country and the check digits count last; letters are numbers from ten on.
    let (head, tail) = number[..count].split_at(4);
    let rest = tail.iter().chain(head).fold(0u32, |rest, &byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    if rest == 1 {
        scan.mask(start, at, rules::IBAN);
    }
}

#[cfg(test)]
mod tests {
    use crate::cases::view;

    const CARD: &str = "[REDACTED:payment-card]";

    #[test]
    fn cards_of_every_network_are_masked_however_they_are_grouped() {
        for number in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "5555555555554444",
            "5105 1051 0510 5100",
            "2223003122003222",
            "378282246310005",
            "3782 822463 10005",
            "3714-496353-98431",
            "30569309025904",
            "3056 930902 5904",
            "6011111111111117",
            "3530111333300000",
            "6200000000000005",
            "4222222222222",
            "6304000000000000",
        ] {
            assert_eq!(view(&format!("card {number} was declined")), format!("card {CARD} was declined"), "{number}");
            assert_eq!(view(&format!("{{\"pan\":\"{number}\"}}")), format!("{{\"pan\":\"{CARD}\"}}"), "{number}");
        }
        assert_eq!(view("4111 1111 1111 1111 12/27 123"), format!("{CARD} 12/27 123"));
        assert_eq!(view("paid with 4111111111111111."), format!("paid with {CARD}."));
        assert_eq!(view("4111111111111111"), CARD);
        assert_eq!(view("4111 1111 1111 1111 1234"), format!("{CARD} 1234"));
        assert_eq!(view("30.11.2026 4111 1111 1111 1111"), format!("30.11.2026 {CARD}"));
        assert_eq!(view("4111111111111111,1764482400000"), format!("{CARD},1764482400000"));
        let many = ["4111111111111111", "5555555555554444", "378282246310005", "6011111111111117"].join(",\n");
        assert_eq!(view(&many), [CARD; 4].join(",\n"));
        assert_eq!(view("visa 4444333322221111455"), format!("visa {CARD}"));
    }

    #[test]
    fn other_long_numbers_stay() {
        for text in [
            "4111111111111112",
            "span 41111111111111110000 end",
            "0.4111111111111111",
            "id-4111111111111111",
            "a4111111111111111",
            "4111111111111111f",
            "3f2b8c1e-9d47-4a60-8e15-411111111111",
            "4111-1111-1111-1112",
            "4111 1111-1111 1111",
            "1234 4111 1111 1111 1111 5678",
            "54E8 4111 1111 1111 1111\n59BE",
            "30569309025904",
            "4222222222222",
            "n = 4444333322221111455;",
            "span_id=4444333322221111455",
            "1994165897297032, 2245000007398731,\n 4111111111111111",
            "(4111111111111111, 1994165897297032, 2245000007398731)",
            "20261130061200",
            "1764482400000000000",
            "4000000000000000",
            "3.5105105105105100",
            "4111111111111111-1",
            "at 5555:5555:5555:4444",
        ] {
            assert_eq!(view(text), text);
        }
    }

    #[test]
    fn accounts_are_masked_and_what_fails_the_check_stays() {
        for number in [
            "DE89370400440532013000",
            "DE89 3704 0044 0532 0130 00",
            "GB29NWBK60161331926819",
            "GB29 NWBK 6016 1331 9268 19",
            "FR1420041010050500013M02606",
            "NL91ABNA0417164300",
            "NO9386011117947",
            "CH93 0076 2011 6238 5295 7",
            "MT84MALT011000012345MTLCAST001S",
        ] {
            assert_eq!(view(&format!("to {number}, please")), "to [REDACTED:iban], please", "{number}");
        }
        for text in [
            "DE88370400440532013000",
            "DE8937040044053201300",
            "DE893704004405320130001",
            "XX89370400440532013000",
            "de89370400440532013000",
            "ADE89370400440532013000",
            "DE89 37040044 0532013000",
        ] {
            assert_eq!(view(text), text);
        }
    }
}

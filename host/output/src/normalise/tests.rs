//! What comes out for what goes in.

use proptest::prelude::*;

use super::*;

/// All text and all frames, pushed in chunks of the given sizes, one output taken after each push if `taking`.
fn normalised(mode: Mode, bytes: &[u8], sizes: &[usize], taking: bool) -> Normalised {
    let mut normaliser = Normaliser::new(mode);
    let mut all = Normalised::default();
    let mut out = Normalised::default();
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().copied().unwrap_or(rest.len()).clamp(1, rest.len());
        normaliser.push(&rest[..size], &mut out);
        rest = &rest[size..];
        if taking {
            take(&mut all, &mut out);
        }
    }
    normaliser.finish(&mut out);
    take(&mut all, &mut out);
    all
}

fn take(all: &mut Normalised, out: &mut Normalised) {
    let taken = std::mem::take(out);
    if !taken.text.is_empty() {
        assert_eq!(taken.from, all.text.len() as u64, "an output says where it begins");
    }
    all.text.push_str(&taken.text);
    all.frames.extend(taken.frames);
}

fn viewed(input: &str) -> String {
    view(input.as_bytes()).text
}

fn streamed(input: &str) -> String {
    normalised(Mode::Stream, input.as_bytes(), &[], false).text
}

#[test]
fn plain_text_comes_out_as_it_is() {
    let text = "first\tline\nzweite Zeile: größer\n三行\n🙂 and no newline";
    assert_eq!(viewed(text), text);
    assert_eq!(streamed(text), text);
    assert!(view(text.as_bytes()).frames.is_empty());
}

#[test]
fn colours_and_invisible_characters_leave_a_token_joined() {
    let text = "key ghp_\x1b[31mabc\x1b[0m\u{200b}def\u{ad}\u{e0041}\u{feff}ghi\x1b]8;;x\x07jkl end\n";
    assert_eq!(viewed(text), "key ghp_abcdefghijkl end\n");
    assert_eq!(streamed(text), "key ghp_abcdefghijkl end\n");
}

#[test]
fn variation_selectors_stay() {
    assert_eq!(viewed("❤\u{fe0f}"), "❤\u{fe0f}");
}

#[test]
fn returns_before_a_newline_are_part_of_it() {
    for input in ["a\r\nb\r\n", "a\r\r\nb\r\r\n", "a\r\x1b[K\nb\n"] {
        assert_eq!(viewed(input), "a\nb\n");
        assert_eq!(streamed(input), "a\nb\n");
        assert!(view(input.as_bytes()).frames.is_empty());
    }
}

#[test]
fn a_view_shows_the_last_frame_that_is_not_empty() {
    assert_eq!(viewed("10%\r50%\r100%\nnext\n"), "100%\nnext\n");
    assert_eq!(viewed("10%\r100%\r\nnext"), "100%\nnext");
    assert_eq!(viewed("10%\r100%\r"), "100%");
    assert_eq!(viewed("\rx\n\r\r\n"), "x\n\n");
}

#[test]
fn a_stream_shows_the_first_frame_at_once_and_the_last_at_the_end() {
    let mut normaliser = Normaliser::new(Mode::Stream);
    let mut out = Normalised::default();
    normaliser.push(b"10%", &mut out);
    assert_eq!(out.text, "10%");
    normaliser.push(b"\r50%\r100%", &mut out);
    assert_eq!(out.text, "10%");
    normaliser.push(b"\nnext", &mut out);
    assert_eq!(out.text, "10%\n100%\nnext");
    let frames = &out.frames[0];
    assert_eq!(frames.joined, "10%50%100%");
    assert_eq!(frames.pieces, [(0..3, 0), (6..10, 4)]);
}

#[test]
fn a_stream_does_not_repeat_a_frame_that_equals_the_first() {
    assert_eq!(streamed("same\rother\rsame\nx"), "same\nx");
    assert_eq!(streamed("same\r\rsame\r\nx"), "same\nx");
    assert_eq!(streamed("\rfirst\nx"), "first\nx");
}

#[test]
fn a_backspace_takes_back_what_is_printed_over() {
    assert_eq!(viewed("passX\x08word\n"), "password\n");
    assert_eq!(viewed("ab\x08\x08\x08\x08cd\n"), "cd\n");
    assert_eq!(viewed("N\x08Na\x08am\x08me"), "Name");
    assert_eq!(viewed("x\x08\n"), "x\n");
    assert_eq!(viewed("é\x08e"), "e");
    assert_eq!(viewed("a\rb\x08\x08\x08c"), "c");
}

#[test]
fn a_stream_tells_the_redactor_what_backspaces_made_of_a_line() {
    let out = normalised(Mode::Stream, b"ghp_abX\x08cdef\n", &[3], true);
    assert_eq!(out.text, "ghp_abXcdef\n");
    assert_eq!(out.frames[0].joined, "ghp_abcdef");
    assert_eq!(out.frames[0].pieces, [(0..6, 0), (6..10, 7)]);
    assert_eq!(streamed("first\rabX\x08c\n"), "first\nabc\n");
}

#[test]
fn a_token_split_by_a_return_is_joined_for_the_redactor() {
    for mode in [Mode::View, Mode::Stream] {
        let out = normalised(mode, b"ghp_abcdef\rghijkl\n", &[], false);
        assert_eq!(out.frames[0].joined, "ghp_abcdefghijkl");
        for (range, offset) in &out.frames[0].pieces {
            let at = *offset as usize;
            assert_eq!(out.frames[0].joined[range.clone()], out.text[at..at + range.len()]);
        }
    }
}

#[test]
fn other_control_characters_vanish() {
    assert_eq!(viewed("a\0b\x07c\x0bd\x0ce\x7ff\u{85}g\th\n"), "abcdefg\th\n");
}

#[test]
fn bad_bytes_become_replacement_characters_as_the_standard_library_does() {
    let bytes = b"a\xffb\xe2\x82c\xf0\x9f\x98\xc0\xafd\xed\xa0\x80\xe3\x81";
    assert_eq!(view(bytes).text, String::from_utf8_lossy(bytes));
    assert_eq!(normalised(Mode::Stream, bytes, &[1], true).text, String::from_utf8_lossy(bytes));
}

#[test]
fn the_eight_bit_forms_are_code_points_and_lone_bytes_are_bad() {
    assert_eq!(viewed("a\u{9b}31mb"), "ab");
    assert_eq!(view(b"a\x9b31mb").text, "a\u{fffd}31mb");
}

#[test]
fn complaints_of_a_shell_are_dropped_until_something_else_was_printed() {
    let noise = "bash: cannot set terminal process group (-1): Inappropriate ioctl for device\n";
    let more = "bash: no job control in this shell\n";
    let input = format!("{noise}\n{more}{noise}hello\n{more}");
    let expected = format!("\nhello\n{more}");
    assert_eq!(viewed(&input), expected);
    assert_eq!(normalised(Mode::Stream, input.as_bytes(), &[7], true).text, expected);
    assert_eq!(view_continued(input.as_bytes()).text, input);
}

#[test]
fn a_prompt_at_the_front_does_not_wait() {
    for prompt in ["Password: ", "login: ", "$ ", "continue? [y/N] "] {
        let mut out = Normalised::default();
        Normaliser::new(Mode::Stream).push(prompt.as_bytes(), &mut out);
        assert_eq!(out.text, prompt);
    }
}

#[test]
fn the_beginning_of_a_complaint_is_shown_when_it_ends_otherwise() {
    for input in ["bash", "bash: no job", "sh\rx\n", "bash: no\x08p", "bash: no job control in this shell!"] {
        let out = normalised(Mode::Stream, input.as_bytes(), &[1], true);
        assert!(out.text.starts_with(&input[..2]), "{input:?}");
    }
    assert_eq!(streamed("bash: no job control in this shell"), "");
}

#[test]
fn a_stream_holds_no_more_than_a_few_windows_of_a_line_without_end() {
    let mut normaliser = Normaliser::new(Mode::Stream);
    let mut out = Normalised::default();
    let mut shown = 0;
    normaliser.push(b"first\r", &mut out);
    for _ in 0..100 {
        normaliser.push(&[b'x'; 64 * 1024], &mut out);
        shown += std::mem::take(&mut out).text.len();
    }
    assert!(shown > 97 * 64 * 1024, "a frame too long to hold is shown: {shown}");
    for count in 0..100_000 {
        normaliser.push(format!("{count} of many\r").as_bytes(), &mut out);
    }
    assert!(out.text.len() < 64 * 1024, "{}", out.text.len());
    normaliser.push(b"\n", &mut out);
    assert!(out.frames.iter().all(|frames| frames.joined.len() <= 64 * 1024));
    assert!(out.text.ends_with("99999 of many\n"));
}

#[test]
fn a_view_of_many_frames_keeps_a_window_of_them() {
    let input: String = (0..100_000).map(|count| format!("{count} of many\r")).collect();
    let out = view(input.as_bytes());
    assert_eq!(out.text, "99999 of many");
    assert!(out.frames[0].joined.len() <= 65 * 1024);
    assert!(out.frames[0].joined.ends_with("99998 of many99999 of many"));
}

/// Long frames and lines, so that every limit is met.
#[test]
fn limits_do_not_depend_on_chunks() {
    let mut input = Vec::new();
    for (count, unit) in ["é", "0123456789", "\x08ab", "三", "\x1b[31mq", "\rframe "].iter().enumerate() {
        input.extend_from_slice(b"begin\rnext");
        input.extend_from_slice(unit.repeat(150_000 / unit.len() + count).as_bytes());
        input.extend_from_slice(b"\x08\x08x\rlast\nplain ");
        input.extend_from_slice(unit.repeat(80_000 / unit.len()).as_bytes());
        input.extend_from_slice(b"\x08\x08y\r\n");
    }
    for mode in [Mode::View, Mode::Stream] {
        let whole = normalised(mode, &input, &[], false);
        for sizes in [[1].as_slice(), &[7, 4096, 1], &[65_536], &[65_535, 3]] {
            let chunked = normalised(mode, &input, sizes, true);
            assert!(chunked == whole, "{mode:?} {sizes:?}");
        }
    }
}

/// Bytes like those of terminals, dense with everything that has a rule.
fn terminal_bytes() -> impl Strategy<Value = Vec<u8>> {
    let one_of = |pieces: &[&[u8]]| prop::sample::select(pieces.iter().map(|piece| piece.to_vec()).collect::<Vec<_>>());
    let text_of = |pieces: &[&str]| {
        prop::sample::select(pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect::<Vec<_>>())
    };
    let sequences = ["\x1b", "\x1b[", "\x1b[31m", "\x1b]0;t\x07", "\x1b]x", "\x1b\\", "\x1b(B", "\x1bP"];
    let c1_and_invisible = ["\u{9b}", "\u{9d}", "\u{9c}", "\u{200b}", "\u{ad}", "\u{feff}", "\u{e0041}"];
    let piece = prop_oneof![
        4 => "[a-z ]{1,6}".prop_map(String::into_bytes),
        3 => Just(b"\n".to_vec()),
        3 => text_of(&["\r", "\r\n", "\x08", "\t", "\x7f", "\0", "\x18"]),
        3 => text_of(&sequences),
        2 => text_of(&c1_and_invisible),
        2 => text_of(&["é", "三", "🙂", "\u{fe0f}"]),
        2 => text_of(&["bash: no job control in this shell", "sh", "bash: ", "/bin/"]),
        2 => prop::collection::vec(any::<u8>(), 1..4),
        1 => one_of(&[b"\xe2", b"\xe2\x80", b"\xf0\x9f", b"\xc2", b"\xf3\xa0\x80"]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_chunking_gives_the_same(bytes in terminal_bytes(), sizes in prop::collection::vec(1usize..12, 1..6)) {
        for mode in [Mode::View, Mode::Stream] {
            let whole = normalised(mode, &bytes, &[], false);
            let chunked = normalised(mode, &bytes, &sizes, true);
            prop_assert_eq!(&whole.text, &chunked.text);
            prop_assert!(whole.frames == chunked.frames);
        }
        prop_assert_eq!(view(&bytes).text, normalised(Mode::View, &bytes, &sizes, true).text);
    }

    #[test]
    fn nothing_comes_out_but_text_newlines_and_tabs(bytes in terminal_bytes()) {
        for mode in [Mode::View, Mode::Stream] {
            let out = normalised(mode, &bytes, &[], false);
            for text in std::iter::once(&out.text).chain(out.frames.iter().map(|frames| &frames.joined)) {
                prop_assert!(text.chars().all(|char| matches!(char, '\n' | '\t') || !char.is_control()));
                prop_assert!(!text.chars().any(scan::is_invisible));
            }
            prop_assert!(out.frames.iter().all(|frames| !frames.joined.contains('\n')));
        }
    }

    #[test]
    fn pieces_are_what_stands_in_the_text(bytes in terminal_bytes()) {
        for mode in [Mode::View, Mode::Stream] {
            let out = normalised(mode, &bytes, &[], false);
            for frames in &out.frames {
                for (range, offset) in &frames.pieces {
                    let at = *offset as usize;
                    prop_assert_eq!(&frames.joined[range.clone()], &out.text[at..at + range.len()]);
                }
            }
        }
    }

    #[test]
    fn a_view_is_stable(bytes in terminal_bytes()) {
        let once = view_continued(&bytes).text;
        prop_assert_eq!(&view_continued(once.as_bytes()).text, &once);
    }

    #[test]
    fn text_without_controls_is_decoded_exactly(bytes in prop::collection::vec(prop_oneof![
        0x20u8..0x7f, Just(b'\n'), Just(b'\t'), 0xe3u8..=0xff, 0xa0u8..=0xac, 0xc3u8..=0xd7,
    ], 0..200)) {
        let lossy = String::from_utf8_lossy(&bytes);
        let expected: String = lossy.chars().filter(|char| !scan::is_invisible(*char)).collect();
        prop_assert_eq!(&view_continued(&bytes).text, &expected);
        prop_assert_eq!(&normalised(Mode::Stream, &bytes, &[1, 3], true).text, &expected);
    }
}

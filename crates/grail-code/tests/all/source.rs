//! Bytes to text and back: what Python would read is read, what it would not is refused with a reason.

use grail_code::{DecodeError, Position, Source};

#[track_caller]
fn check_round_trip(bytes: &[u8], text: &str, encoding: &str) {
    let source = Source::from_bytes(bytes).expect("it decodes");
    assert_eq!(source.text(), text);
    assert_eq!(source.encoding(), encoding);
    assert_eq!(source.encode(source.text()).expect("it encodes"), bytes);
}

#[test]
fn a_byte_order_mark_is_kept_out_of_the_text_and_written_back() {
    check_round_trip(b"\xef\xbb\xbfx = 1\n", "x = 1\n", "utf-8");
    assert!(Source::from_text("\u{feff}x").has_bom());
}

#[test]
fn declared_encodings_are_honoured() {
    check_round_trip(
        b"# -*- coding: latin-1 -*-\nx = '\xe9\x85'\n",
        "# -*- coding: latin-1 -*-\nx = 'é\u{85}'\n",
        "latin-1",
    );
    check_round_trip(
        b"#!/bin/sh\n# vim: set fileencoding=koi8-r :\n# \xc1\n",
        "#!/bin/sh\n# vim: set fileencoding=koi8-r :\n# а\n",
        "KOI8-R",
    );
    check_round_trip(b"# coding=cp1252\n# \x80\n", "# coding=cp1252\n# €\n", "windows-1252");
    check_round_trip(b"# coding: euc_jp\n# \xa4\xa2\n", "# coding: euc_jp\n# あ\n", "EUC-JP");
    check_round_trip(b"\n# coding: ascii\nx\n", "\n# coding: ascii\nx\n", "ascii");
    // Too late, or not in a comment: not a declaration.
    check_round_trip(b"x = 1\n# coding: nonsense\n", "x = 1\n# coding: nonsense\n", "utf-8");
    check_round_trip(b"\n\n# coding: nonsense\n", "\n\n# coding: nonsense\n", "utf-8");
}

#[test]
fn what_python_would_not_read_is_refused_with_the_reason() {
    let error = |bytes: &[u8]| Source::from_bytes(bytes).expect_err("refused").to_string();
    assert_eq!(
        error(b"x = '\0'\n"),
        "the file contains a null byte at offset 5, which Python does not allow in source code"
    );
    assert_eq!(
        error(b"a\nb = '\xff'\n"),
        "the file is not valid UTF-8 at line 2 (byte offset 7) and declares no other encoding"
    );
    assert_eq!(error(b"# coding: klingon\n"), "the file declares the unknown encoding `klingon`");
    assert_eq!(
        error(b"# coding: ascii\n# \xe9\n"),
        "the file declares the encoding `ascii` but its bytes do not fit it"
    );
    assert_eq!(
        error(b"\xef\xbb\xbf# coding: latin-1\n"),
        "the file starts with a UTF-8 byte-order mark but declares the encoding `latin-1`"
    );
    // UTF-16 would not be a superset of ASCII, so no comment in it could declare it.
    assert_eq!(error(b"# coding: utf-16\n"), "the file declares the unknown encoding `utf-16`");
    assert!(matches!(Source::from_bytes(&vec![b' '; 65 << 20]), Err(DecodeError::TooLarge { .. })));
}

#[test]
fn text_that_does_not_fit_the_encoding_is_refused() {
    let source = Source::from_bytes(b"# coding: latin-1\n").expect("it decodes");
    let error = source.encode("# coding: latin-1\nx = '€'\n").expect_err("no euro in latin-1");
    assert_eq!(error.to_string(), "the character `€` cannot be written in the file's encoding `latin-1`");
}

#[test]
fn positions_count_lines_of_any_ending_and_characters() {
    let source = Source::from_text("é = 1\r\nb\rc\n\nd");
    let at = |line, column| Position { line, column };
    for (offset, position) in [
        (0, at(1, 1)),
        (2, at(1, 2)),
        (8, at(2, 1)),
        (10, at(3, 1)),
        (12, at(4, 1)),
        (13, at(5, 1)),
        (14, at(5, 2)),
    ] {
        assert_eq!(source.position(offset), position, "{offset}");
        assert_eq!(source.offset(position), Some(offset));
    }
    for nowhere in [at(0, 1), at(1, 0), at(1, 9), at(6, 1), at(u32::MAX, u32::MAX)] {
        assert_eq!(source.offset(nowhere), None);
    }
    assert_eq!(source.newline(), "\r\n");
    assert_eq!(Source::from_text("").newline(), "\n");
}

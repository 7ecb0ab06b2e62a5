//! Nothing is lost between the bytes of a file and its tree. `just roundtrip` does the same for every file of every Python found.

use grail_dev::repository_root;
use grail_dev::roundtrip::{Depth, check_folder, find_standard_libraries, rebuild};

#[test]
fn the_example_project_comes_back_as_it_was() {
    let result = check_folder(&repository_root().join("examples"), 1, Depth::Data).unwrap();
    assert_eq!(result.differences, Vec::<String>::new());
    assert_eq!((result.files, result.broken, result.undecodable), (4, 0, 0));
}

/// A sample, so that a debug build is done in seconds. Machines without Python have nothing to sample.
#[test]
fn the_standard_library_comes_back_as_it_was() {
    for folder in find_standard_libraries().iter().take(2) {
        let result = check_folder(folder, 40, Depth::Data).unwrap();
        assert_eq!(result.differences, Vec::<String>::new(), "{result}");
    }
}

#[test]
fn broken_source_comes_back_as_it_was() {
    for text in [
        "def f(:\n  x = (1,\n",
        "\u{feff}class A\r\n\tpass\u{c}\r\n",
        "f'{a!s  }' except X :\n",
        "x = '''é",
        "\\",
    ] {
        let parsed = grail_code::parse_module(grail_code::Source::from_text(text));
        assert_eq!(rebuild(&parsed).unwrap(), text.trim_start_matches('\u{feff}'), "{text:?}");
    }
}

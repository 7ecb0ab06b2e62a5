//! Micro-benchmarks over a sample of the standard library: the bare parser, Grail's tree, names, and edits.
//!
//! `cargo bench -p grail-dev`. Each iteration goes once over the whole sample; the throughput is in bytes of source.

use divan::Bencher;
use divan::counter::BytesCount;
use grail_code::{Edit, Semantic, Source, edit, parse_module};
use grail_dev::roundtrip::find_standard_libraries;
use grail_project::{DEFAULT_MAX_BYTES, WalkOptions, read_source, walk_python_files};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};

/// Enough for a steady figure, few enough for a quick one.
const SAMPLE: usize = 200;

fn main() {
    divan::main();
}

fn sample() -> Vec<String> {
    let folder =
        find_standard_libraries().into_iter().next().expect("the benchmarks need a Python on this machine");
    let walked = walk_python_files(&[folder], &WalkOptions::default()).expect("a readable standard library");
    let step = (walked.files.len() / SAMPLE).max(1);
    let read = |path| read_source(path, DEFAULT_MAX_BYTES).ok().map(|file| file.source.text().to_owned());
    walked.files.iter().step_by(step).filter_map(|file| read(&file.path)).collect()
}

fn bytes(texts: &[String]) -> BytesCount {
    BytesCount::new(texts.iter().map(String::len).sum::<usize>())
}

#[divan::bench]
fn bare_parser(bencher: Bencher) {
    let texts = sample();
    bencher.counter(bytes(&texts)).bench_local(|| {
        for text in &texts {
            divan::black_box(parse_unchecked(text, ParseOptions::from(Mode::Module)));
        }
    });
}

#[divan::bench]
fn tree(bencher: Bencher) {
    let texts = sample();
    bencher.counter(bytes(&texts)).bench_local(|| {
        for text in &texts {
            divan::black_box(parse_module(Source::from_text(text.as_str())));
        }
    });
}

#[divan::bench]
fn tree_and_names(bencher: Bencher) {
    let texts = sample();
    bencher.counter(bytes(&texts)).bench_local(|| {
        for text in &texts {
            let parsed = parse_module(Source::from_text(text.as_str()));
            divan::black_box(Semantic::new(&parsed).references().len());
        }
    });
}

#[divan::bench]
fn edits_at_every_line(bencher: Bencher) {
    let texts = sample();
    bencher.counter(bytes(&texts)).bench_local(|| {
        for text in &texts {
            let lines = text.match_indices('\n').map(|(at, _)| Edit::insert(at as u32, " ")).collect();
            divan::black_box(edit::apply(text, lines).expect("they do not overlap"));
        }
    });
}

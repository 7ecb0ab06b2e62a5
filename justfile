# Habits made cheap. Every recipe is one command, so `just` itself is optional.

# List the recipes
default:
    @just --list

# What continuous integration runs
check:
    .ci/run

# All tests
test:
    cargo test --workspace

# Write the generated documentation anew
gen:
    cargo run -p grail-dev -- gen

# Look through changed snapshots (needs `cargo install cargo-insta`)
review:
    cargo insta review --workspace

# Micro-benchmarks, then Grail beside its peers on the standard library
bench:
    scripts/bench

# Parse and re-create the standard library of every Python on this machine
roundtrip:
    cargo run --release -p grail-dev -- roundtrip

# Fuzz every target for some seconds each
fuzz seconds="60":
    scripts/fuzz {{seconds}}

# The Python tools the benchmarks compare with
venv:
    scripts/venv

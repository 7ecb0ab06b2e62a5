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

# Run many programs through one sandbox and fail if the host or a worker grows
soak runs="100000":
    GRAIL_SOAK_RUNS={{runs}} cargo test --release -p grail-sandbox --test all soak::a_soak_leaks_nothing -- --exact --ignored --nocapture

# Kill writers of events at random and compare what they acknowledged with what is there
crash-test kills="2000":
    GRAIL_CRASH_KILLS={{kills}} cargo test -p grail-flywheel --test all crash::what_thousands_of_killed_writers_acknowledged_is_there -- --exact --ignored --nocapture

# `grail mcp` driven by the Python SDK and by the inspector, which are not ours
mcp-clients:
    scripts/mcp-clients

# Every export of a dataset, read by the loaders of mlx-lm, TRL, datasets, OpenAI and pyarrow
dataset-loaders *arguments:
    scripts/dataset-loaders {{arguments}}

# `grail train` with the real mlx-lm and TRL, and every adapter in every other program: losses have to agree
trainers *arguments:
    scripts/trainers {{arguments}}

# The Python tools the benchmarks compare with
venv:
    scripts/venv

# The sandbox beside its peers: speed and memory
bench-sandbox *arguments:
    scripts/bench-sandbox {{arguments}}

# Python 3.14 in WebAssembly and a virtual environment, for what runs Python for real
runtimes:
    scripts/runtimes

# The reference examples through ruff, ty and their tests, and attempts to get out of the WebAssembly runner
examples *checks:
    scripts/examples {{checks}}

# One of everything from `grail generate` in a fresh project, through ruff, ty and its tests
generated *arguments:
    scripts/generated {{arguments}}

# `grail check` beside its peers
bench-rules *arguments:
    scripts/bench-rules {{arguments}}

# Remembering events beside sqlite3 and plain JSONL
bench-flywheel *arguments:
    scripts/bench-flywheel {{arguments}}

# Local models beside llama.cpp: tokens per second
bench-local *arguments:
    scripts/bench-local {{arguments}}

# Training beside mlx-lm: tokens per second, memory, and the loss of one adapter in both
bench-training *arguments:
    scripts/bench-training {{arguments}}

# The whole wheel with a real model, two phases and the whole suite, written to docs/proof.md: hours
proof *arguments:
    scripts/proof {{arguments}}

# What generating costs beside the model
bench-agent *arguments:
    scripts/bench-agent {{arguments}}

# How much harm to good code the built-in rules notice and put right
mutants:
    cargo run -p grail-dev -- mutants

# The same, and every mutant that was put right through ruff, ty and its tests
mutants-all:
    scripts/mutants

# What `grail check --format sarif` prints against SARIF's schema
sarif *path:
    scripts/sarif {{path}}

# What the built-in rules say about the source distributions of the libraries they are about: nothing
specificity:
    scripts/specificity

# How good the scores of `grail skills search` are, and the coefficients that fitting gives
skill-search *arguments:
    cargo run -q --release -p grail-skills --example calibrate-search -- {{arguments}}

# The word vectors of `grail skills search`, made anew
word-vectors:
    scripts/word-vectors

# A real model server on loopback, installed from PyPI into `.live/`
live-model *command:
    scripts/live-model {{command}}

# What is known of models, on a real one: slow
test-live:
    scripts/live-model install
    cargo test -p grail-model -p grail-agent --test all live:: -- --ignored --nocapture --test-threads=1

//! Builds the crate anew when a built-in skill changes: the macro that embeds them cannot say so itself.
#![allow(clippy::print_stdout)] // cargo is spoken to on stdout

fn main() {
    println!("cargo::rerun-if-changed=../../skills");
}

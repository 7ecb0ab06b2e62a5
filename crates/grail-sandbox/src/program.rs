//! Source made ready to run: where its result comes from, and how its places map back.

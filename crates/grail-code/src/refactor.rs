//! Changes that need several places to agree: signatures, extraction, annotations from stubs.

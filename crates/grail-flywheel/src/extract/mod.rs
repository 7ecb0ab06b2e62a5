//! Events to examples.

mod fields;

pub use fields::fields_accessed;

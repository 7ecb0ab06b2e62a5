//! JSON Schemas of inputs and outputs.

//! Python stubs of inputs, outputs and tools, for the type checker and for people.

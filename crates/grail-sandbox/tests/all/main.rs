//! Behaviour of the sandbox at its public border, with real workers.

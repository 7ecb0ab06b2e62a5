//! One run, turn by turn, between the host and its worker.

//! Runs that wait for a person.

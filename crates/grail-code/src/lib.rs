//! Python source as data.

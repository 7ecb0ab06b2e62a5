//! The worker's side of the border.

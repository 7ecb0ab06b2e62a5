//! The files a run may see.

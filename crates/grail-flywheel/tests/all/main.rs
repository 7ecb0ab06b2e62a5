//! The memory as a whole: real files, a real database, real repositories.

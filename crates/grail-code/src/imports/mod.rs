//! Adding and removing imports where they belong.

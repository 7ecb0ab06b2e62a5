//! Worker processes: warm, bounded, replaced when they die.

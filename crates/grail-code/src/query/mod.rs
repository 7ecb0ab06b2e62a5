//! Query: one pattern language, two spellings, one matcher.

//! What the engine cannot run or runs differently, found before it runs.

//! The words that runner, prompt and template share. The template's script is compared with them in the tests.

use std::time::Duration;

pub const HANDSHAKE: &str = "skill.handshake";
pub const INVOKE: &str = "skill.invoke";
pub const HEALTH: &str = "skill.health";
pub const SHUTDOWN: &str = "skill.shutdown";

/// Every method a skill answers.
pub const METHODS: [&str; 4] = [HANDSHAKE, INVOKE, HEALTH, SHUTDOWN];

/// A longer line is refused while it is read.
pub const MAX_LINE_BYTES: usize = 100 * 1024;

pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
pub const HEALTH_TIMEOUT: Duration = Duration::from_secs(10);

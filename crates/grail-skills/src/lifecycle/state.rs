//! The states of a runnable skill, and the moves between them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a runnable skill stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its files are in place; nobody has started it.
    Pending,
    /// It is being started for the first time.
    Testing,
    /// It passed its handshake: the only state in which it can be invoked.
    Active,
    /// Somebody switched it off.
    Disabled,
    /// It failed; it has to be disabled, replaced or rolled back.
    Quarantined,
}

/// Every move there is. A reinstall or a rollback is no move: it brings another version, which starts as pending.
pub const MOVES: &[(State, State)] = &[
    (State::Pending, State::Testing),
    (State::Testing, State::Active),
    (State::Testing, State::Disabled),
    (State::Testing, State::Quarantined),
    (State::Active, State::Disabled),
    (State::Active, State::Quarantined),
    (State::Disabled, State::Active),
    (State::Quarantined, State::Disabled),
];

impl State {
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Testing, Self::Active, Self::Disabled, Self::Quarantined];

    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Testing => "testing",
            Self::Active => "active",
            Self::Disabled => "disabled",
            Self::Quarantined => "quarantined",
        }
    }

    /// Where a skill in this state can go.
    pub fn moves(self) -> impl Iterator<Item = Self> {
        MOVES.iter().filter(move |(from, _)| *from == self).map(|(_, to)| *to)
    }

    pub fn allows(self, to: Self) -> bool {
        self.moves().any(|allowed| allowed == to)
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

//! Answers that go round in circles. A small model that is always given its likeliest token may say the same thing over and over until it is cut off,
//! and everybody in its batch waits for it: after a few rounds nothing new is to be expected.

/// What is said again after more tokens than this is no circle, but a text with a refrain.
const LONGEST_ROUND: usize = 64;
/// So often everything has to be said. Tables and lists repeat themselves too.
const ROUNDS: usize = 4;
/// So many tokens have to be said again at least, however short a round is: a line of dashes is no circle.
const FEWEST_TOKENS: usize = 96;

/// What was said last, and how long it has been the same as some tokens before.
#[derive(Debug)]
pub(crate) struct Circles {
    /// The last tokens; the one with number `n` is in place `n % LONGEST_ROUND`.
    last: [u32; LONGEST_ROUND],
    count: usize,
    /// For every length of a round, how many tokens in a row were those one round before.
    again: [usize; LONGEST_ROUND],
}

impl Circles {
    pub(crate) fn new() -> Self {
        Self { last: [0; LONGEST_ROUND], count: 0, again: [0; LONGEST_ROUND] }
    }

    /// Takes the next token. True once an answer goes round in circles.
    pub(crate) fn push(&mut self, token: u32) -> bool {
        let mut is_circling = false;
        for (round, again) in (1..).zip(&mut self.again) {
            let is_same = self.count >= round && self.last[(self.count - round) % LONGEST_ROUND] == token;
            *again = if is_same { *again + 1 } else { 0 };
            is_circling |= *again >= FEWEST_TOKENS.max(round * (ROUNDS - 1));
        }
        self.last[self.count % LONGEST_ROUND] = token;
        self.count += 1;
        is_circling
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many tokens an answer goes round in circles.
    fn circling_after(tokens: impl IntoIterator<Item = u32>) -> Option<usize> {
        let mut circles = Circles::new();
        tokens.into_iter().position(|token| circles.push(token)).map(|index| index + 1)
    }

    #[test]
    fn what_is_said_over_and_over_is_a_circle() {
        for (round, after) in [(1, 97), (2, 98), (32, 128), (40, 160), (64, 256)] {
            let opening = [900, 901, 902];
            let answer = opening.into_iter().chain((0..1000).map(|index| index % round));
            assert_eq!(circling_after(answer), Some(after + opening.len()), "rounds of {round}");
        }
    }

    #[test]
    fn a_table_is_none() {
        let table = (0..100).flat_map(|row| [1, 2, 3, 1000 + row, 4]);
        assert_eq!(circling_after(table), None, "every row has something of its own");
        assert_eq!(circling_after((0..3).flat_map(|_| 0..40)), None, "a refrain, said three times");
        assert_eq!(circling_after([7; 96]), None, "a line of dashes");
        assert_eq!(circling_after((0..1000).map(|index| index % 65)), None, "too long a round");
    }

    proptest::proptest! {
        /// Whoever says something new every so often is never stopped.
        #[test]
        fn something_new_ends_a_circle(round in 1_u32..70, every in 2_u32..90) {
            let answer = (0..2000).map(|index| if index % every == 0 { 10_000 + index } else { index % round });
            proptest::prop_assert_eq!(circling_after(answer), None);
        }
    }
}

//! Token sequences of one step, one after the other in the rows of matrices. There is no padding, so sequences of any lengths cost what they
//! are long.

use std::ops::Range;

/// A sequence and where its answer begins: the loss is that of the tokens from `answer` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub tokens: Vec<u32>,
    /// At least 1 and less than the number of tokens.
    pub answer: usize,
    /// Where the first paragraph of the answer ends; at the end of all if it has only one.
    pub opening_end: usize,
}

impl Sample {
    /// Tokens whose prediction counts.
    pub fn answer_tokens(&self) -> usize {
        self.tokens.len() - self.answer
    }

    /// The same with the first paragraph of its answer, and with no more of it than so many tokens.
    pub fn beginning(&self, most_tokens: usize) -> Sample {
        let end = self.answer.saturating_add(most_tokens).min(self.opening_end);
        Sample { tokens: self.tokens[..end].to_vec(), answer: self.answer, opening_end: end }
    }

    /// Tokens that go through the network: the last one is only predicted.
    pub fn rows(&self) -> usize {
        self.tokens.len() - 1
    }
}

#[derive(Debug)]
pub(super) struct Sequences {
    ranges: Vec<Range<usize>>,
    /// For every row its sequence and its position there.
    places: Vec<(usize, usize)>,
    pub(super) inputs: Vec<u32>,
    /// Rows whose next token counts, and that token.
    pub(super) answers: Vec<(usize, u32)>,
    /// The part of `answers` that belongs to each sequence.
    pub(super) answer_ranges: Vec<Range<usize>>,
}

impl Sequences {
    pub(super) fn of<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Sequences {
        let mut all = Sequences {
            ranges: vec![],
            places: vec![],
            inputs: vec![],
            answers: vec![],
            answer_ranges: vec![],
        };
        for sample in samples {
            let (first, first_answer) = (all.inputs.len(), all.answers.len());
            let sequence = all.ranges.len();
            all.inputs.extend(&sample.tokens[..sample.rows()]);
            all.places.extend((0..sample.rows()).map(|position| (sequence, position)));
            all.answers.extend(
                sample.tokens[sample.answer..]
                    .iter()
                    .enumerate()
                    .map(|(index, token)| (first + sample.answer - 1 + index, *token)),
            );
            all.ranges.push(first..all.inputs.len());
            all.answer_ranges.push(first_answer..all.answers.len());
        }
        all
    }

    pub(super) fn count(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn rows(&self) -> usize {
        self.inputs.len()
    }

    pub(super) fn range(&self, sequence: usize) -> Range<usize> {
        self.ranges[sequence].clone()
    }

    /// The sequence of a row, and its position there.
    pub(super) fn place(&self, row: usize) -> (usize, usize) {
        self.places[row]
    }
}

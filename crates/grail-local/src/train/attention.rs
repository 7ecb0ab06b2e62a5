//! Causal attention within each sequence, forwards and backwards. Sequences lie one after the other without padding; none sees another.
//!
//! The shares of attention are computed again on the way back: keeping them would cost more memory than everything else of a layer.

use candle_core::Result;
use rayon::prelude::*;

use super::kernels;
use super::matrix::Matrix;
use super::sequences::Sequences;
use crate::weights::Config;

/// The heads of a model as columns of one matrix: all queries, then all keys, then all values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads {
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) size: usize,
}

impl Heads {
    pub(super) fn of(config: &Config) -> Heads {
        Heads { queries: config.heads, keys: config.kv_heads, size: config.head_dim }
    }

    /// Columns of queries, keys and values together.
    pub(super) fn columns(self) -> usize {
        (self.queries + 2 * self.keys) * self.size
    }

    fn group(self) -> usize {
        self.queries / self.keys
    }

    fn query_column(self, head: usize) -> usize {
        head * self.size
    }

    fn key_column(self, head: usize) -> usize {
        (self.queries + head / self.group()) * self.size
    }

    fn value_column(self, head: usize) -> usize {
        (self.queries + self.keys + head / self.group()) * self.size
    }

    fn scale(self) -> f32 {
        1.0 / (self.size as f32).sqrt()
    }
}

/// What the heads see, side by side: rows by `queries · size`.
pub(super) fn attend(rotated: &Matrix, sequences: &Sequences, heads: Heads) -> Result<Matrix> {
    let seen: Vec<Matrix> = tasks(sequences, heads)
        .into_par_iter()
        .map(|(sequence, head)| {
            let one = OneHead::new(rotated, sequences, heads, sequence, head)?;
            one.shares()?.times(&one.values)
        })
        .collect::<Result<_>>()?;
    let seen: Vec<_> = seen.iter().map(Matrix::values).collect::<Result<_>>()?;
    Matrix::from_rows(rotated.rows(), heads.queries * heads.size, |row, into| {
        let (sequence, within) = sequences.place(row);
        for (head, into) in into.chunks_exact_mut(heads.size).enumerate() {
            into.copy_from_slice(row_of(&seen[sequence * heads.queries + head], within, heads.size));
        }
    })
}

/// The gradients of queries, keys and values, all after their rotation.
pub(super) fn attend_gradient(
    rotated: &Matrix,
    gradient: &Matrix,
    sequences: &Sequences,
    heads: Heads,
) -> Result<Matrix> {
    let parts: Vec<[Matrix; 3]> = tasks(sequences, heads)
        .into_par_iter()
        .map(|(sequence, head)| {
            let one = OneHead::new(rotated, sequences, heads, sequence, head)?;
            let range = sequences.range(sequence);
            let gradient = gradient.part(range.start, range.len(), heads.query_column(head), heads.size)?;
            let shares = one.shares()?;
            let of_values = shares.transposed()?.times(&gradient)?;
            let of_scores = gradient.times(&one.values.transposed()?)?;
            {
                let shares = shares.values()?;
                of_scores.change_rows(|row, gradient| {
                    let shares = row_of(&shares, row, gradient.len());
                    kernels::softmax_gradient(gradient, shares, row + 1, heads.scale());
                })?;
            }
            let of_queries = of_scores.times(&one.keys)?;
            let of_keys = of_scores.transposed()?.times(&one.queries)?;
            Ok([of_queries, of_keys, of_values])
        })
        .collect::<Result<_>>()?;
    let parts: Vec<[_; 3]> = parts
        .iter()
        .map(|[queries, keys, values]| Ok([queries.values()?, keys.values()?, values.values()?]))
        .collect::<Result<_>>()?;
    Matrix::from_rows(rotated.rows(), heads.columns(), |row, into| {
        let (sequence, within) = sequences.place(row);
        for head in 0..heads.queries {
            let [queries, keys, values] = &parts[sequence * heads.queries + head];
            let columns = [heads.query_column(head), heads.key_column(head), heads.value_column(head)];
            for (column, part) in columns.into_iter().zip([queries, keys, values]) {
                kernels::add_scaled(
                    &mut into[column..column + heads.size],
                    1.0,
                    row_of(part, within, heads.size),
                );
            }
        }
    })
}

struct OneHead {
    queries: Matrix,
    keys: Matrix,
    values: Matrix,
    scale: f32,
}

impl OneHead {
    fn new(
        rotated: &Matrix,
        sequences: &Sequences,
        heads: Heads,
        sequence: usize,
        head: usize,
    ) -> Result<OneHead> {
        let range = sequences.range(sequence);
        let part = |column| rotated.part(range.start, range.len(), column, heads.size);
        Ok(OneHead {
            queries: part(heads.query_column(head))?,
            keys: part(heads.key_column(head))?,
            values: part(heads.value_column(head))?,
            scale: heads.scale(),
        })
    }

    fn shares(&self) -> Result<Matrix> {
        let scores = self.queries.times(&self.keys.transposed()?)?;
        scores.change_rows(|row, scores| kernels::softmax(scores, row + 1, self.scale))?;
        Ok(scores)
    }
}

fn tasks(sequences: &Sequences, heads: Heads) -> Vec<(usize, usize)> {
    (0..sequences.count()).flat_map(|sequence| (0..heads.queries).map(move |head| (sequence, head))).collect()
}

fn row_of(values: &[f32], row: usize, columns: usize) -> &[f32] {
    &values[row * columns..(row + 1) * columns]
}

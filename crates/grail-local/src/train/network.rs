//! The network forwards and backwards, written out: frozen weights get no gradients, only what is needed on the way back is kept, and only
//! the rows whose prediction counts reach the vocabulary.
//!
//! For every counted prediction the way forwards gives its loss and the gradient of this very loss. How much each of them matters (weights
//! of examples, comparisons of whole answers) is decided afterwards and multiplied in on the way back.

use std::sync::atomic::{AtomicU32, Ordering};

use candle_core::Result;

use super::adapter::{Adapter, Group, LayerAdapter, Numbers};
use super::attention::{Heads, attend, attend_gradient};
use super::base::{Base, BaseLayer};
use super::kernels;
use super::matrix::Matrix;
use super::sequences::Sequences;
use crate::weights::Config;

/// Rows that meet the vocabulary at once.
pub(super) const OUTPUT_ROWS: usize = 256;

#[derive(Debug)]
pub(super) struct Network {
    pub(super) base: Base,
    heads: Heads,
    /// Cosines and sines by position, half a head each.
    angles: [Vec<f32>; 2],
}

/// What the way back needs.
#[derive(Debug)]
pub(super) struct Trace {
    /// The loss of every counted prediction, in the order of `Sequences::answers`.
    pub(super) losses: Vec<f32>,
    layers: Vec<LayerTrace>,
    /// The input of the last norm, and for every counted prediction the gradient of its loss after that norm.
    last: Matrix,
    output_gradient: Option<Matrix>,
}

#[derive(Debug)]
struct LayerTrace {
    input: Matrix,
    /// Queries and keys before their norms, where a model has them.
    projected: Option<Matrix>,
    rotated: Matrix,
    attended: Matrix,
    between: Matrix,
    mlp_in: Matrix,
    /// The scaled products with `A`: of attention in, attention out, the two halves of the MLP.
    low: [Matrix; 4],
}

impl Network {
    pub(super) fn new(base: Base, longest: usize) -> Network {
        let frequencies = base.config.inverse_frequencies();
        let angle = |position: usize, frequency: f32| position as f32 * frequency;
        let table = |turn: fn(f32) -> f32| {
            (0..longest)
                .flat_map(|position| {
                    frequencies.iter().map(move |frequency| turn(angle(position, *frequency)))
                })
                .collect()
        };
        Network { heads: Heads::of(&base.config), angles: [table(f32::cos), table(f32::sin)], base }
    }

    /// The losses alone.
    pub(super) fn losses(&self, adapter: &Adapter, sequences: &Sequences) -> Result<Vec<f32>> {
        Ok(self.run(adapter, sequences, false)?.losses)
    }

    pub(super) fn forward(&self, adapter: &Adapter, sequences: &Sequences) -> Result<Trace> {
        self.run(adapter, sequences, true)
    }

    /// Adds the gradients of all matrices of the adapter, where `importance` says how much the loss of each prediction counts.
    pub(super) fn backward(
        &self,
        adapter: &Adapter,
        sequences: &Sequences,
        trace: Trace,
        importance: &[f32],
        gradients: &mut Numbers,
    ) -> Result<()> {
        let Some(output_gradient) = trace.output_gradient else { return Ok(()) };
        let mut gradient = self.last_norm_gradient(sequences, &trace.last, &output_gradient, importance)?;
        drop(output_gradient);
        for (index, layer_trace) in trace.layers.into_iter().enumerate().rev() {
            let layer = adapter.shape.first_layer + index;
            let Some(adapters) = adapter.layer(layer)? else { break };
            gradient = self.layer_gradient(
                layer,
                &adapters,
                sequences,
                layer_trace,
                gradient,
                index == 0,
                gradients,
            )?;
        }
        Ok(())
    }

    fn run(&self, adapter: &Adapter, sequences: &Sequences, keep: bool) -> Result<Trace> {
        let width = self.base.config.hidden;
        let mut rows = {
            let embedding = self.base.embedding.values()?;
            Matrix::from_rows(sequences.rows(), width, |row, into| {
                into.copy_from_slice(row_of(&embedding, sequences.inputs[row] as usize, width));
            })?
        };
        let mut layers = Vec::new();
        for (index, layer) in self.base.layers.iter().enumerate() {
            let adapters = adapter.layer(index)?;
            let (output, trace) = self.layer(layer, adapters.as_ref(), sequences, rows, keep)?;
            layers.extend(trace);
            rows = output;
        }
        let (losses, output_gradient) = self.output(sequences, &rows, keep)?;
        Ok(Trace { losses, layers, last: rows, output_gradient })
    }

    fn layer(
        &self,
        layer: &BaseLayer,
        adapters: Option<&LayerAdapter>,
        sequences: &Sequences,
        input: Matrix,
        keep: bool,
    ) -> Result<(Matrix, Option<LayerTrace>)> {
        let epsilon = self.base.config.rms_eps;
        let normed = normed(&input, &layer.first_norm, epsilon)?;
        let (rotated, low_attention_in) =
            project(&normed, &layer.attention_in, adapters.map(|adapters| &adapters.attention_in))?;
        drop(normed);
        if let Some(bias) = &layer.attention_bias {
            rotated.change_rows(|_, row| kernels::add_scaled(row, 1.0, bias))?;
        }
        let projected = match &layer.head_norms {
            Some(norms) => {
                let projected = copy(&rotated)?;
                self.norm_heads(&rotated, &projected, norms)?;
                Some(projected)
            }
            None => None,
        };
        self.rotate(&rotated, sequences, kernels::rotate)?;
        let attended = attend(&rotated, sequences, self.heads)?;
        let (between, low_attention_out) =
            project(&attended, &layer.attention_out, adapters.map(|adapters| &adapters.attention_out))?;
        add(&between, &input)?;
        let normed = self::normed(&between, &layer.second_norm, epsilon)?;
        let (mlp_in, low_mlp_in) =
            project(&normed, &layer.mlp_in, adapters.map(|adapters| &adapters.mlp_in))?;
        drop(normed);
        let (output, low_mlp_out) =
            project(&gated(&mlp_in)?, &layer.mlp_out, adapters.map(|adapters| &adapters.mlp_out))?;
        add(&output, &between)?;
        let low = [low_attention_in, low_attention_out, low_mlp_in, low_mlp_out];
        let trace = match low {
            [Some(first), Some(second), Some(third), Some(fourth)] if keep => Some(LayerTrace {
                input,
                projected,
                rotated,
                attended,
                between,
                mlp_in,
                low: [first, second, third, fourth],
            }),
            _ => None,
        };
        Ok((output, trace))
    }

    #[expect(clippy::too_many_arguments, reason = "the state of the way back")]
    fn layer_gradient(
        &self,
        index: usize,
        adapters: &LayerAdapter,
        sequences: &Sequences,
        trace: LayerTrace,
        gradient: Matrix,
        is_last_stop: bool,
        gradients: &mut Numbers,
    ) -> Result<Matrix> {
        let layer = &self.base.layers[index];
        let epsilon = self.base.config.rms_eps;
        let [low_attention_in, low_attention_out, low_mlp_in, low_mlp_out] = &trace.low;

        let inner = gated(&trace.mlp_in)?;
        let of_inner =
            project_gradient(&inner, low_mlp_out, &gradient, &layer.mlp_out, &adapters.mlp_out, gradients)?;
        drop(inner);
        let of_mlp_in = gated_gradient(&trace.mlp_in, &of_inner)?;
        drop(of_inner);
        let normed = normed(&trace.between, &layer.second_norm, epsilon)?;
        let of_normed =
            project_gradient(&normed, low_mlp_in, &of_mlp_in, &layer.mlp_in, &adapters.mlp_in, gradients)?;
        drop(of_mlp_in);
        add_norm_gradient(&gradient, &trace.between, &layer.second_norm, &of_normed, epsilon)?;

        let of_attended = project_gradient(
            &trace.attended,
            low_attention_out,
            &gradient,
            &layer.attention_out,
            &adapters.attention_out,
            gradients,
        )?;
        let of_projected = attend_gradient(&trace.rotated, &of_attended, sequences, self.heads)?;
        self.rotate(&of_projected, sequences, kernels::rotate_back)?;
        if let (Some(norms), Some(projected)) = (&layer.head_norms, &trace.projected) {
            self.norm_heads_gradient(&of_projected, projected, norms)?;
        }
        let normed = self::normed(&trace.input, &layer.first_norm, epsilon)?;
        if is_last_stop {
            adapter_gradient(&normed, low_attention_in, &of_projected, &adapters.attention_in, gradients)?;
            return Ok(gradient);
        }
        let of_normed = project_gradient(
            &normed,
            low_attention_in,
            &of_projected,
            &layer.attention_in,
            &adapters.attention_in,
            gradients,
        )?;
        add_norm_gradient(&gradient, &trace.input, &layer.first_norm, &of_normed, epsilon)?;
        Ok(gradient)
    }

    /// The loss of every counted prediction; and the gradient of each at the normed rows, if it is wanted.
    fn output(
        &self,
        sequences: &Sequences,
        rows: &Matrix,
        with_gradient: bool,
    ) -> Result<(Vec<f32>, Option<Matrix>)> {
        let Config { hidden, rms_eps, .. } = self.base.config;
        let answers = &sequences.answers;
        let vocabulary = self.base.output();
        let mut losses = Vec::with_capacity(answers.len());
        let mut gradient = Vec::with_capacity(if with_gradient { answers.len() * hidden } else { 0 });
        let rows = rows.values()?;
        for answers in answers.chunks(OUTPUT_ROWS) {
            let normed = Matrix::from_rows(answers.len(), hidden, |row, into| {
                kernels::norm(into, row_of(&rows, answers[row].0, hidden), &self.base.last_norm, rms_eps);
            })?;
            let logits = normed.times(&vocabulary.transposed()?)?;
            let of_rows: Vec<AtomicU32> = answers.iter().map(|_| AtomicU32::new(0)).collect();
            logits.change_rows(|row, logits| {
                let right = answers[row].1 as usize;
                let (highest, of_right) = (kernels::max(logits), logits[right]);
                for value in logits.iter_mut() {
                    *value = kernels::exp(*value - highest);
                }
                let sum = kernels::sum(logits);
                of_rows[row].store((highest + sum.ln() - of_right).to_bits(), Ordering::Relaxed);
                let inverse = 1.0 / sum;
                for value in logits.iter_mut() {
                    *value *= inverse;
                }
                logits[right] -= 1.0;
            })?;
            losses.extend(of_rows.iter().map(|loss| f32::from_bits(loss.load(Ordering::Relaxed))));
            if with_gradient {
                gradient.extend_from_slice(&logits.times(vocabulary)?.values()?);
            }
        }
        let gradient = with_gradient.then(|| Matrix::new(gradient, answers.len(), hidden)).transpose()?;
        Ok((losses, gradient))
    }

    fn last_norm_gradient(
        &self,
        sequences: &Sequences,
        last: &Matrix,
        output_gradient: &Matrix,
        importance: &[f32],
    ) -> Result<Matrix> {
        let Config { hidden, rms_eps, .. } = self.base.config;
        let mut answer_of_row = vec![None; sequences.rows()];
        for (answer, (row, _)) in sequences.answers.iter().enumerate() {
            answer_of_row[*row] = Some(answer);
        }
        let (last, output_gradient) = (last.values()?, output_gradient.values()?);
        Matrix::from_rows(sequences.rows(), hidden, |row, into| {
            let Some(answer) = answer_of_row[row] else { return };
            let gradient = row_of(&output_gradient, answer, hidden);
            kernels::add_norm_gradient(
                into,
                row_of(&last, row, hidden),
                &self.base.last_norm,
                gradient,
                rms_eps,
            );
            for value in into.iter_mut() {
                *value *= importance[answer];
            }
        })
    }

    /// Turns queries and keys by their positions, or back.
    fn rotate(
        &self,
        rows: &Matrix,
        sequences: &Sequences,
        turn: impl Fn(&mut [f32], &[f32], &[f32]) + Sync,
    ) -> Result<()> {
        let half = self.heads.size / 2;
        let turned = (self.heads.queries + self.heads.keys) * self.heads.size;
        rows.change_rows(|row, values| {
            let position = sequences.place(row).1;
            let [cosines, sines] = self.angles.each_ref().map(|table| row_of(table, position, half));
            for head in values[..turned].chunks_exact_mut(self.heads.size) {
                turn(head, cosines, sines);
            }
        })
    }

    fn norm_heads(&self, into: &Matrix, projected: &Matrix, norms: &[Vec<f32>; 2]) -> Result<()> {
        let Heads { queries, keys, size } = self.heads;
        let (columns, projected) = (projected.columns(), projected.values()?);
        into.change_rows(|row, into| {
            let from = row_of(&projected, row, columns).chunks_exact(size);
            for (head, (into, from)) in into.chunks_exact_mut(size).zip(from).take(queries + keys).enumerate()
            {
                kernels::norm(into, from, &norms[usize::from(head >= queries)], self.base.config.rms_eps);
            }
        })
    }

    fn norm_heads_gradient(
        &self,
        gradient: &Matrix,
        projected: &Matrix,
        norms: &[Vec<f32>; 2],
    ) -> Result<()> {
        let Heads { queries, keys, size } = self.heads;
        let (columns, projected) = (projected.columns(), projected.values()?);
        gradient.change_rows(|row, gradient| {
            let from = row_of(&projected, row, columns).chunks_exact(size);
            for (head, (gradient, from)) in
                gradient.chunks_exact_mut(size).zip(from).take(queries + keys).enumerate()
            {
                let of_normed = gradient.to_vec();
                gradient.fill(0.0);
                let norm = &norms[usize::from(head >= queries)];
                kernels::add_norm_gradient(gradient, from, norm, &of_normed, self.base.config.rms_eps);
            }
        })
    }
}

/// The output of a frozen projection with its adapter, and the scaled product with `A`.
fn project(rows: &Matrix, frozen: &Matrix, adapter: Option<&Group>) -> Result<(Matrix, Option<Matrix>)> {
    let output = rows.times(&frozen.transposed()?)?;
    let Some(adapter) = adapter else { return Ok((output, None)) };
    let low = rows.times(&adapter.down)?;
    low.change_rows(|_, row| {
        for value in row {
            *value *= adapter.scale;
        }
    })?;
    {
        let low = low.values()?;
        let up: Vec<_> = adapter.up.iter().map(|up| up.matrix.values()).collect::<Result<_>>()?;
        let width = adapter.rank * adapter.up.len();
        output.change_rows(|row, into| {
            let low = row_of(&low, row, width).chunks_exact(adapter.rank);
            for ((low, values), up) in low.zip(&up).zip(&adapter.up) {
                add_product(&mut into[up.columns.clone()], low, values);
            }
        })?;
    }
    Ok((output, Some(low)))
}

/// The gradient of the rows that a projection read; the gradients of its adapter are added to the list.
fn project_gradient(
    rows: &Matrix,
    low: &Matrix,
    gradient: &Matrix,
    frozen: &Matrix,
    adapter: &Group,
    gradients: &mut Numbers,
) -> Result<Matrix> {
    let of_low = adapter_gradient(rows, low, gradient, adapter, gradients)?;
    let of_rows = gradient.times(frozen)?;
    let (width, of_low) = (of_low.columns(), of_low.values()?);
    of_rows
        .change_rows(|row, into| add_product(into, row_of(&of_low, row, width), &adapter.down_transposed))?;
    Ok(of_rows)
}

/// Adds the gradients of an adapter to the list, and returns the gradient of the products with `A`.
fn adapter_gradient(
    rows: &Matrix,
    low: &Matrix,
    gradient: &Matrix,
    adapter: &Group,
    gradients: &mut Numbers,
) -> Result<Matrix> {
    let rank = adapter.rank;
    let mut parts = Vec::with_capacity(adapter.up.len());
    for (part, up) in adapter.up.iter().enumerate() {
        let gradient = gradient.columns_from(up.columns.start, up.columns.len())?;
        let low = low.columns_from(part * rank, rank)?;
        add_to(&mut gradients[adapter.first + 2 * part + 1], &low.transposed()?.times(&gradient)?)?;
        parts.push(gradient.times(&up.matrix.transposed()?)?);
    }
    let of_low = {
        let parts: Vec<_> = parts.iter().map(Matrix::values).collect::<Result<_>>()?;
        Matrix::from_rows(rows.rows(), rank * parts.len(), |row, into| {
            for (into, part) in into.chunks_exact_mut(rank).zip(&parts) {
                kernels::add_scaled(into, adapter.scale, row_of(part, row, rank));
            }
        })?
    };
    let of_down = rows.transposed()?.times(&of_low)?;
    for (row, values) in of_down.values()?.chunks_exact(rank * adapter.up.len()).enumerate() {
        for (part, values) in values.chunks_exact(rank).enumerate() {
            let into = &mut gradients[adapter.first + 2 * part][row * rank..(row + 1) * rank];
            kernels::add_scaled(into, 1.0, values);
        }
    }
    Ok(of_low)
}

/// `into += low · up`, for one row.
#[inline(always)]
fn add_product(into: &mut [f32], low: &[f32], up: &[f32]) {
    let columns = into.len();
    let fours = low.chunks_exact(4);
    let done = low.len() - fours.remainder().len();
    for (index, low) in fours.enumerate() {
        let rows = &up[index * 4 * columns..(index + 1) * 4 * columns];
        let (first, rest) = rows.split_at(columns);
        let (second, rest) = rest.split_at(columns);
        let (third, fourth) = rest.split_at(columns);
        for ((((into, first), second), third), fourth) in
            into.iter_mut().zip(first).zip(second).zip(third).zip(fourth)
        {
            *into += (low[0] * first + low[1] * second) + (low[2] * third + low[3] * fourth);
        }
    }
    for index in done..low.len() {
        kernels::add_scaled(into, low[index], &up[index * columns..(index + 1) * columns]);
    }
}

fn normed(rows: &Matrix, weight: &[f32], epsilon: f32) -> Result<Matrix> {
    let (columns, values) = (rows.columns(), rows.values()?);
    Matrix::from_rows(rows.rows(), columns, |row, into| {
        kernels::norm(into, row_of(&values, row, columns), weight, epsilon);
    })
}

fn add_norm_gradient(
    into: &Matrix,
    rows: &Matrix,
    weight: &[f32],
    gradient: &Matrix,
    epsilon: f32,
) -> Result<()> {
    let (columns, rows, gradient) = (rows.columns(), rows.values()?, gradient.values()?);
    into.change_rows(|row, into| {
        let (row, gradient) = (row_of(&rows, row, columns), row_of(&gradient, row, columns));
        kernels::add_norm_gradient(into, row, weight, gradient, epsilon);
    })
}

fn gated(mlp_in: &Matrix) -> Result<Matrix> {
    let (columns, values) = (mlp_in.columns(), mlp_in.values()?);
    Matrix::from_rows(mlp_in.rows(), columns / 2, |row, into| {
        let (gate, up) = row_of(&values, row, columns).split_at(columns / 2);
        kernels::gated(into, gate, up);
    })
}

fn gated_gradient(mlp_in: &Matrix, gradient: &Matrix) -> Result<Matrix> {
    let (columns, values, gradient) = (mlp_in.columns(), mlp_in.values()?, gradient.values()?);
    Matrix::from_rows(mlp_in.rows(), columns, |row, into| {
        let (gate, up) = row_of(&values, row, columns).split_at(columns / 2);
        let (into_gate, into_up) = into.split_at_mut(columns / 2);
        kernels::gated_gradient(into_gate, into_up, gate, up, row_of(&gradient, row, columns / 2));
    })
}

fn add(into: &Matrix, other: &Matrix) -> Result<()> {
    let (columns, other) = (other.columns(), other.values()?);
    into.change_rows(|row, into| kernels::add_scaled(into, 1.0, row_of(&other, row, columns)))
}

fn add_to(into: &mut [f32], other: &Matrix) -> Result<()> {
    kernels::add_scaled(into, 1.0, &other.values()?);
    Ok(())
}

fn copy(matrix: &Matrix) -> Result<Matrix> {
    Matrix::new(matrix.values()?.to_vec(), matrix.rows(), matrix.columns())
}

fn row_of(values: &[f32], row: usize, columns: usize) -> &[f32] {
    &values[row * columns..(row + 1) * columns]
}

//! A base with an adapter, for whoever wants losses and gradients without a whole run.

use super::adapter::{Adapter, Shape};
use super::base::Base;
use super::network::Network;
use super::sequences::{Sample, Sequences};
use crate::Result;
use crate::weights::Weights;

#[derive(Debug)]
pub struct Tuned {
    network: Network,
    adapter: Adapter,
}

impl Tuned {
    /// A fresh adapter on the weights, for sequences of at most `longest` tokens.
    pub fn new(
        weights: &Weights,
        rank: usize,
        scale: f32,
        layers: Option<usize>,
        seed: u64,
        longest: usize,
    ) -> Result<Tuned> {
        let shape = Shape::new(weights.config(), rank, scale, layers);
        Ok(Tuned { network: Network::new(Base::load(weights)?, longest), adapter: Adapter::new(shape, seed) })
    }

    /// Name, rows and columns of each matrix of the adapter, in order.
    pub fn matrices(&self) -> Vec<(String, usize, usize)> {
        self.adapter.shape.matrices().collect()
    }

    /// The numbers of each matrix of the adapter, row after row.
    pub fn numbers(&self) -> &[Vec<f32>] {
        &self.adapter.numbers
    }

    pub fn numbers_mut(&mut self) -> &mut [Vec<f32>] {
        &mut self.adapter.numbers
    }

    /// The loss of every answer token, sample by sample.
    pub fn losses(&self, samples: &[Sample]) -> Result<Vec<Vec<f32>>> {
        let sequences = Sequences::of(samples);
        let losses = self.network.losses(&self.adapter, &sequences)?;
        Ok(sequences.answer_ranges.iter().map(|range| losses[range.clone()].to_vec()).collect())
    }

    /// The gradients of the sum of all losses, each multiplied by its importance, for each matrix of the adapter.
    pub fn gradients(&self, samples: &[Sample], importance: &[Vec<f32>]) -> Result<Vec<Vec<f32>>> {
        let sequences = Sequences::of(samples);
        let trace = self.network.forward(&self.adapter, &sequences)?;
        let mut gradients = self.adapter.zeros();
        self.network.backward(&self.adapter, &sequences, trace, &importance.concat(), &mut gradients)?;
        Ok(gradients)
    }
}

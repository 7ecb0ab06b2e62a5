//! Losses and gradients of the trainer, beside candle's own gradients in double precision and beside finite differences.

use std::collections::HashMap;

use candle_core::{D, DType, Device, Result, Tensor, Var};
use grail_local::train::{Sample, Tuned};
use grail_local::weights::{Config, Weights};

use crate::train_toy::{self, Numbers};

const RANK: usize = 3;
const SCALE: f32 = 2.5;

/// Every matrix of the adapter gets numbers, `B` too, so that all gradients are there.
fn tuned(weights: &Weights, layers: Option<usize>) -> Tuned {
    let mut tuned = Tuned::new(weights, RANK, SCALE, layers, 3, 64).unwrap();
    let mut random = Numbers(11);
    for value in tuned.numbers_mut().iter_mut().flatten() {
        *value += 0.1 * random.next();
    }
    tuned
}

fn samples() -> Vec<Sample> {
    let sample = |seed: u32, length: u32, answer: usize| Sample {
        tokens: (0..length).map(|index| (seed * 31 + index * index * 7 + index) % 258).collect(),
        answer,
        opening_end: length as usize,
    };
    vec![sample(1, 17, 9), sample(2, 33, 1), sample(3, 5, 4)]
}

/// Different for every token, negative too.
fn importance(samples: &[Sample]) -> Vec<Vec<f32>> {
    let mut random = Numbers(5);
    samples.iter().map(|sample| (0..sample.answer_tokens()).map(|_| random.next()).collect()).collect()
}

#[test]
fn losses_and_gradients_are_those_of_a_plain_network_in_double_precision() {
    for (architecture, layers) in [("llama", None), ("llama", Some(2)), ("qwen2", None), ("qwen3", None)] {
        let folder = train_toy::model(architecture);
        let weights = Weights::open(folder.path()).unwrap();
        let tuned = tuned(&weights, layers);
        let samples = samples();
        let importance = importance(&samples);
        let losses = tuned.losses(&samples).unwrap();
        let gradients = tuned.gradients(&samples, &importance).unwrap();

        let plain = Plain::new(&weights, &tuned).unwrap();
        let mut total = Tensor::zeros((), DType::F64, &Device::Cpu).unwrap();
        for ((sample, losses), importance) in samples.iter().zip(&losses).zip(&importance) {
            let expected = plain.losses(sample).unwrap();
            for (found, expected) in losses.iter().zip(expected.to_vec1::<f64>().unwrap()) {
                assert!(
                    (f64::from(*found) - expected).abs() < 2e-4,
                    "{architecture}: {found} for {expected}"
                );
            }
            let importance: Vec<f64> = importance.iter().map(|value| f64::from(*value)).collect();
            let importance = Tensor::new(importance, &Device::Cpu).unwrap();
            total = (total + (expected * importance).unwrap().sum_all().unwrap()).unwrap();
        }
        let expected = total.backward().unwrap();
        for ((name, _, _), found) in tuned.matrices().iter().zip(&gradients) {
            let expected =
                expected.get(&plain.adapter[name]).unwrap().flatten_all().unwrap().to_vec1::<f64>().unwrap();
            let size = expected.iter().map(|value| value * value).sum::<f64>().sqrt();
            let distance =
                expected.iter().zip(found).map(|(a, b)| (a - f64::from(*b)).powi(2)).sum::<f64>().sqrt();
            assert!(size > 1e-3, "{architecture} {name}: the gradient is nothing");
            assert!(distance < 2e-4 * size, "{architecture} {name}: off by {distance} of {size}");
        }
    }
}

#[test]
fn gradients_are_the_slopes_of_the_loss() {
    let folder = train_toy::model("llama");
    let weights = Weights::open(folder.path()).unwrap();
    let mut tuned = tuned(&weights, None);
    let samples = samples();
    let importance = importance(&samples);
    let gradients = tuned.gradients(&samples, &importance).unwrap();
    let start: Vec<Vec<f32>> = tuned.numbers().to_vec();
    let mut random = Numbers(23);
    for _ in 0..5 {
        let direction: Vec<Vec<f32>> =
            start.iter().map(|numbers| numbers.iter().map(|_| random.next()).collect()).collect();
        let expected: f64 =
            gradients.iter().flatten().zip(direction.iter().flatten()).map(|(a, b)| f64::from(a * b)).sum();
        let mut loss_at = |distance: f32| -> f64 {
            for ((numbers, start), direction) in tuned.numbers_mut().iter_mut().zip(&start).zip(&direction) {
                for ((number, start), direction) in numbers.iter_mut().zip(start).zip(direction) {
                    *number = start + distance * direction;
                }
            }
            let losses = tuned.losses(&samples).unwrap();
            losses.iter().flatten().zip(importance.iter().flatten()).map(|(a, b)| f64::from(a * b)).sum()
        };
        let step = 1e-3;
        // Four points, so that the curvature does not count.
        let near = loss_at(step) - loss_at(-step);
        let far = loss_at(2.0 * step) - loss_at(-2.0 * step);
        let slope = (8.0 * near - far) / (12.0 * f64::from(step));
        let size = gradients.iter().flatten().map(|value| f64::from(value * value)).sum::<f64>().sqrt();
        assert!((slope - expected).abs() < 5e-3 * size, "{slope} for {expected}, gradient {size}");
    }
}

#[test]
fn sequences_beside_each_other_do_not_see_each_other() {
    let folder = train_toy::model("llama");
    let weights = Weights::open(folder.path()).unwrap();
    let tuned = tuned(&weights, None);
    let samples = samples();
    let together = tuned.losses(&samples).unwrap();
    for (sample, together) in samples.iter().zip(together) {
        let alone = tuned.losses(std::slice::from_ref(sample)).unwrap();
        for (together, alone) in together.iter().zip(&alone[0]) {
            assert!((together - alone).abs() < 1e-5, "{together} together, {alone} alone");
        }
    }
}

#[test]
fn only_tokens_of_the_answer_are_predicted() {
    let folder = train_toy::model("llama");
    let weights = Weights::open(folder.path()).unwrap();
    let tuned = tuned(&weights, None);
    let whole = Sample { answer: 1, ..samples()[0].clone() };
    let part = samples()[0].clone();
    let (whole_losses, part_losses) = (
        tuned.losses(std::slice::from_ref(&whole)).unwrap(),
        tuned.losses(std::slice::from_ref(&part)).unwrap(),
    );
    assert_eq!((whole_losses[0].len(), part_losses[0].len()), (16, 8));
    for (whole, part) in whole_losses[0][8..].iter().zip(&part_losses[0]) {
        assert!((whole - part).abs() < 1e-5);
    }
    // A prediction of the prompt that counts nothing has no gradient either.
    let mut importance = vec![0.0; 8];
    importance.extend(vec![1.0; 8]);
    let whole = tuned.gradients(&[whole], &[importance]).unwrap();
    let part = tuned.gradients(&[part], &[vec![1.0; 8]]).unwrap();
    for (whole, part) in whole.iter().flatten().zip(part.iter().flatten()) {
        assert!((whole - part).abs() < 1e-4 * part.abs().max(1.0), "{whole} for {part}");
    }
}

#[test]
fn a_sequence_that_counts_nothing_is_as_good_as_not_there() {
    for architecture in ["llama", "qwen3"] {
        let folder = train_toy::model(architecture);
        let weights = Weights::open(folder.path()).unwrap();
        let tuned = tuned(&weights, None);
        let samples = samples();
        for ignored in 0..samples.len() {
            let (mut importance, mut left) = (importance(&samples), samples.clone());
            importance[ignored].fill(0.0);
            let together = tuned.gradients(&samples, &importance).unwrap();
            importance.remove(ignored);
            left.remove(ignored);
            let alone = tuned.gradients(&left, &importance).unwrap();
            for (together, alone) in together.iter().flatten().zip(alone.iter().flatten()) {
                assert!((together - alone).abs() < 1e-4 * alone.abs().max(1.0), "{together} for {alone}");
            }
        }
        let nothing: Vec<Vec<f32>> = importance(&samples).iter().map(|one| vec![0.0; one.len()]).collect();
        assert!(tuned.gradients(&samples, &nothing).unwrap().iter().flatten().all(|value| *value == 0.0));
    }
}

/// The same network as anybody would write it, in double precision, with gradients by candle.
struct Plain<'a> {
    weights: &'a Weights,
    adapter: HashMap<String, Var>,
}

impl<'a> Plain<'a> {
    fn new(weights: &'a Weights, tuned: &Tuned) -> Result<Self> {
        let adapter = tuned
            .matrices()
            .into_iter()
            .zip(tuned.numbers())
            .map(|((name, rows, columns), numbers)| {
                let values: Vec<f64> = numbers.iter().map(|value| f64::from(*value)).collect();
                Ok((name, Var::from_vec(values, (rows, columns), &Device::Cpu)?))
            })
            .collect::<Result<_>>()?;
        Ok(Plain { weights, adapter })
    }

    fn weight(&self, name: &str) -> Result<Tensor> {
        self.weights.tensor(name).unwrap().to_dtype(DType::F64)
    }

    fn project(&self, rows: &Tensor, name: &str) -> Result<Tensor> {
        let mut output = rows.matmul(&self.weight(&format!("{name}.weight"))?.t()?)?;
        if self.weights.has(&format!("{name}.bias")) {
            output = output.broadcast_add(&self.weight(&format!("{name}.bias"))?)?;
        }
        let Some(down) = self.adapter.get(&format!("{name}.lora_a")) else { return Ok(output) };
        let low =
            rows.matmul(down.as_tensor())?.matmul(self.adapter[&format!("{name}.lora_b")].as_tensor())?;
        output + (low * f64::from(SCALE))?
    }

    fn norm(&self, rows: &Tensor, name: &str) -> Result<Tensor> {
        let squares = (rows.sqr()?.mean_keepdim(D::Minus1)? + f64::from(self.weights.config().rms_eps))?;
        rows.broadcast_div(&squares.sqrt()?)?.broadcast_mul(&self.weight(&format!("{name}.weight"))?)
    }

    /// Heads by positions by size.
    fn heads(&self, rows: &Tensor, heads: usize, size: usize) -> Result<Tensor> {
        rows.reshape((rows.dim(0)?, heads, size))?.transpose(0, 1)?.contiguous()
    }

    fn rotate(&self, heads: &Tensor) -> Result<Tensor> {
        let (_, positions, size) = heads.dims3()?;
        let frequencies = self.weights.config().inverse_frequencies();
        let angles: Vec<f64> = (0..positions)
            .flat_map(|position| {
                frequencies.iter().map(move |frequency| position as f64 * f64::from(*frequency))
            })
            .collect();
        let angles = Tensor::from_vec(angles, (positions, size / 2), &Device::Cpu)?;
        let (cosines, sines) = (angles.cos()?, angles.sin()?);
        let (first, second) = (heads.narrow(2, 0, size / 2)?, heads.narrow(2, size / 2, size / 2)?);
        let turned_first = (first.broadcast_mul(&cosines)? - second.broadcast_mul(&sines)?)?;
        let turned_second = (second.broadcast_mul(&cosines)? + first.broadcast_mul(&sines)?)?;
        Tensor::cat(&[turned_first, turned_second], 2)
    }

    fn attention(&self, rows: &Tensor, prefix: &str) -> Result<Tensor> {
        let Config { heads, kv_heads, head_dim, qk_norm, .. } = *self.weights.config();
        let mut queries = self.heads(&self.project(rows, &format!("{prefix}.q_proj"))?, heads, head_dim)?;
        let mut keys = self.heads(&self.project(rows, &format!("{prefix}.k_proj"))?, kv_heads, head_dim)?;
        let values = self.heads(&self.project(rows, &format!("{prefix}.v_proj"))?, kv_heads, head_dim)?;
        if qk_norm {
            queries = self.norm(&queries, &format!("{prefix}.q_norm"))?;
            keys = self.norm(&keys, &format!("{prefix}.k_norm"))?;
        }
        let (queries, keys) = (self.rotate(&queries)?, self.rotate(&keys)?);
        let positions = rows.dim(0)?;
        let mask: Vec<f64> = (0..positions * positions)
            .map(|index| if index % positions > index / positions { f64::NEG_INFINITY } else { 0.0 })
            .collect();
        let mask = Tensor::from_vec(mask, (positions, positions), &Device::Cpu)?;
        let mut seen = vec![];
        for head in 0..heads {
            let shared = head / (heads / kv_heads);
            let scores = (queries.get(head)?.matmul(&keys.get(shared)?.t()?)? / (head_dim as f64).sqrt())?;
            let scores = (scores + &mask)?;
            let exponentials = scores.broadcast_sub(&scores.max_keepdim(1)?.detach())?.exp()?;
            let shares = exponentials.broadcast_div(&exponentials.sum_keepdim(1)?)?;
            seen.push(shares.matmul(&values.get(shared)?)?);
        }
        self.project(&Tensor::cat(&seen, 1)?, &format!("{prefix}.o_proj"))
    }

    fn losses(&self, sample: &Sample) -> Result<Tensor> {
        let inputs = &sample.tokens[..sample.tokens.len() - 1];
        let embedding = self.weight("model.embed_tokens.weight")?;
        let mut rows = embedding.index_select(&Tensor::new(inputs, &Device::Cpu)?, 0)?;
        for layer in 0..self.weights.config().layers {
            let prefix = format!("model.layers.{layer}");
            let normed = self.norm(&rows, &format!("{prefix}.input_layernorm"))?;
            rows = (&rows + self.attention(&normed, &format!("{prefix}.self_attn"))?)?;
            let normed = self.norm(&rows, &format!("{prefix}.post_attention_layernorm"))?;
            let gate = self.project(&normed, &format!("{prefix}.mlp.gate_proj"))?;
            let gate = (&gate / (gate.neg()?.exp()? + 1.0)?)?;
            let inner = (gate * self.project(&normed, &format!("{prefix}.mlp.up_proj"))?)?;
            rows = (&rows + self.project(&inner, &format!("{prefix}.mlp.down_proj"))?)?;
        }
        let logits = self.norm(&rows, "model.norm")?.matmul(&embedding.t()?)?;
        let logits = logits.narrow(0, sample.answer - 1, sample.answer_tokens())?;
        let highest = logits.max_keepdim(1)?.detach();
        let sums = (logits.broadcast_sub(&highest)?.exp()?.sum_keepdim(1)?.log()? + highest)?;
        let targets = Tensor::new(&sample.tokens[sample.answer..], &Device::Cpu)?.unsqueeze(1)?;
        (sums - logits.gather(&targets, 1)?)?.squeeze(1)
    }
}

//! The frozen weights of a model as 32-bit floats, whatever their format on disk. Projections that read the same rows lie in one matrix.

use super::matrix::Matrix;
use crate::weights::{Config, Weights};
use crate::{LocalError, Result};

#[derive(Debug)]
pub(super) struct Base {
    pub(super) config: Config,
    /// Vocabulary by width.
    pub(super) embedding: Matrix,
    /// The output's own weights, if it does not share the embedding's.
    output: Option<Matrix>,
    pub(super) last_norm: Vec<f32>,
    pub(super) layers: Vec<BaseLayer>,
}

/// Matrices are outputs by inputs.
#[derive(Debug)]
pub(super) struct BaseLayer {
    pub(super) first_norm: Vec<f32>,
    /// Queries, keys, values.
    pub(super) attention_in: Matrix,
    pub(super) attention_bias: Option<Vec<f32>>,
    /// The norms of each head of queries and of keys.
    pub(super) head_norms: Option<[Vec<f32>; 2]>,
    pub(super) attention_out: Matrix,
    pub(super) second_norm: Vec<f32>,
    /// Gate, up.
    pub(super) mlp_in: Matrix,
    pub(super) mlp_out: Matrix,
}

impl Base {
    pub(super) fn load(weights: &Weights) -> Result<Base> {
        let config = weights.config().clone();
        let row = |name: &str| weights.raw(name)?.values();
        let stacked = |names: &[String]| -> Result<Matrix> {
            let mut values = Vec::new();
            let mut rows = 0;
            let mut columns = 0;
            for name in names {
                let tensor = weights.raw(name)?;
                let &[more_rows, width] = tensor.shape.as_slice() else {
                    return Err(LocalError::NoTensor { path: weights.path().to_owned(), name: name.clone() });
                };
                values.reserve_exact(more_rows * width * (names.len() - rows.min(1)));
                values.extend(tensor.values()?);
                rows += more_rows;
                columns = width;
            }
            Ok(Matrix::new(values, rows, columns)?)
        };
        let layers = (0..config.layers)
            .map(|layer| {
                let name = |part: &str| format!("model.layers.{layer}.{part}");
                let attention = ["q", "k", "v"].map(|part| name(&format!("self_attn.{part}_proj")));
                let with = |names: &[String], end: &str| -> Vec<String> {
                    names.iter().map(|name| format!("{name}.{end}")).collect()
                };
                let attention_bias = if config.attention_bias {
                    let mut values = Vec::new();
                    for name in with(&attention, "bias") {
                        values.extend(row(&name)?);
                    }
                    Some(values)
                } else {
                    None
                };
                let head_norms = if config.qk_norm {
                    Some([row(&name("self_attn.q_norm.weight"))?, row(&name("self_attn.k_norm.weight"))?])
                } else {
                    None
                };
                Ok(BaseLayer {
                    first_norm: row(&name("input_layernorm.weight"))?,
                    attention_in: stacked(&with(&attention, "weight"))?,
                    attention_bias,
                    head_norms,
                    attention_out: stacked(&[name("self_attn.o_proj.weight")])?,
                    second_norm: row(&name("post_attention_layernorm.weight"))?,
                    mlp_in: stacked(&[name("mlp.gate_proj.weight"), name("mlp.up_proj.weight")])?,
                    mlp_out: stacked(&[name("mlp.down_proj.weight")])?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Base {
            embedding: stacked(&["model.embed_tokens.weight".to_owned()])?,
            output: if config.tied_embeddings {
                None
            } else {
                Some(stacked(&["lm_head.weight".to_owned()])?)
            },
            last_norm: row("model.norm.weight")?,
            layers,
            config,
        })
    }

    /// Vocabulary by width.
    pub(super) fn output(&self) -> &Matrix {
        self.output.as_ref().unwrap_or(&self.embedding)
    }
}

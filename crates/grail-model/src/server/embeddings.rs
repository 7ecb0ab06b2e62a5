//! Texts as vectors, over `/embeddings`. Nothing a server returns is believed: one vector for each text, all of one size, finite.

use serde::Deserialize;
use serde_json::json;

use super::identity::is_same_model;
use super::{Server, Shape};
use crate::ModelError;

/// Texts in one request. Servers differ in how many they take; all take this many.
const BATCH: usize = 32;
/// Longer vectors are refused.
const MAX_DIMENSIONS: usize = 1 << 16;

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    model: Option<String>,
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Server {
    /// One vector for each text, in their order.
    pub async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            vectors.extend(self.embed_batch(batch).await?);
        }
        let dimensions = vectors.first().map_or(0, Vec::len);
        match vectors.iter().find(|vector| vector.len() != dimensions) {
            Some(odd) => Err(self.odd(format!("vectors of {dimensions} and of {} numbers", odd.len()))),
            None => Ok(vectors),
        }
    }

    async fn embed_batch(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let (client, call) = self.call(Shape::Whole);
        let body = json!({"model": self.settings.model, "input": texts, "encoding_format": "float"});
        let answer: Result<Answer, _> = client.embeddings().create_byot(body).await;
        let answer = answer.map_err(|error| call.explain(error))?;
        if let Some(name) =
            answer.model.filter(|name| !is_same_model(&self.settings.model, &self.settings.aliases, name))
        {
            return Err(ModelError::OtherModel {
                asked: self.settings.model.clone(),
                answered: call.clean(&name),
            });
        }
        if answer.data.len() != texts.len() {
            return Err(self.odd(format!("{} vectors for {} texts", answer.data.len(), texts.len())));
        }
        let mut places: Vec<Option<Vec<f32>>> = vec![None; texts.len()];
        for (position, item) in answer.data.into_iter().enumerate() {
            let index = item.index.unwrap_or(position);
            if item.embedding.is_empty() || item.embedding.len() > MAX_DIMENSIONS {
                return Err(self.odd(format!("a vector of {} numbers", item.embedding.len())));
            }
            if !item.embedding.iter().all(|number| number.is_finite()) {
                return Err(self.odd("a vector with a number that is not finite".to_owned()));
            }
            match places.get_mut(index) {
                Some(place @ None) => *place = Some(item.embedding),
                _ => return Err(self.odd(format!("a vector for text {index}, which has one or is none"))),
            }
        }
        // As many as places, and none twice: all are taken.
        Ok(places.into_iter().flatten().collect())
    }

    fn odd(&self, reason: String) -> ModelError {
        ModelError::NotUnderstood { model: self.settings.model.clone(), reason }
    }
}

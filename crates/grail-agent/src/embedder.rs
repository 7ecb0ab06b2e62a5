//! A server's vectors for the search of skills.

use std::sync::Arc;
use std::thread;

use grail_model::{ModelError, Server, ServerSettings, connect};
use grail_project::Project;
use grail_skills::SkillError;
use grail_skills::search::{Embedder, SearchIndex};

use crate::AgentError;
use crate::models::server_settings;

/// The search index of a project, with the vectors that its settings choose.
pub fn search_index(project: &Project) -> Result<SearchIndex, AgentError> {
    let Some(name) = &project.config.generate.embeddings else {
        return Ok(SearchIndex::open(Some(&project.root)));
    };
    let unknown = || AgentError::UnknownModel {
        name: name.clone(),
        known: project.config.models.keys().cloned().collect(),
    };
    let config = project.config.models.get(name).filter(|config| config.url.is_some()).ok_or_else(unknown)?;
    let embedder = ServerEmbedder::connect(&server_settings(name, config))?;
    Ok(SearchIndex::open_with(Some(&project.root), Arc::new(embedder)))
}

/// An embedder whose model is on a server.
pub struct ServerEmbedder {
    server: Server,
    name: String,
    dimensions: usize,
}

impl ServerEmbedder {
    /// Asks once, for how long its vectors are.
    pub fn connect(settings: &ServerSettings) -> Result<Self, ModelError> {
        let server = connect(settings)?;
        let vectors = wait_for(&server, &["How long is a vector?"])?;
        let dimensions = vectors.first().map_or(0, Vec::len);
        Ok(Self { name: format!("{} at {}", settings.model, settings.url), dimensions, server })
    }
}

impl Embedder for ServerEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, SkillError> {
        wait_for(&self.server, texts)
            .map_err(|error| SkillError::Embedder { embedder: self.name.clone(), reason: error.to_string() })
    }
}

/// Waits on a thread of its own: whoever searches may be in the middle of asynchronous work, where nobody may wait.
fn wait_for(server: &Server, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
    let broken = |reason: String| ModelError::Interrupted { model: server.settings().model.clone(), reason };
    thread::scope(|scope| {
        let work = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|error| broken(error.to_string()))?.block_on(server.embed(texts))
        });
        work.join().unwrap_or_else(|_| Err(broken("the thread that asked has died".to_owned())))
    })
}

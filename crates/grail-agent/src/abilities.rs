//! What servers were found to be able to do, remembered for a while: `.grail/models/HASH.json`, one file for each model on each server.
//!
//! What lies there may have been written by anybody. It decides only in which form a server is asked, so it is believed if it can be read.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use grail_model::{Abilities, ModelError, Server};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::clock::Clock;

/// Servers are replaced by newer ones, and models by others of the same name.
const FRESH_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);
const MAX_FILE_BYTES: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Remembered {
    url: String,
    model: String,
    probed: String,
    abilities: Abilities,
}

/// The server with its abilities: as remembered, else as a probe finds them.
pub(crate) async fn with_abilities(
    server: Server,
    root: &Path,
    clock: &dyn Clock,
) -> Result<Server, ModelError> {
    let (url, model) = (server.settings().url.clone(), server.settings().model.clone());
    let path = place(root, &url, &model);
    if let Some(abilities) = recall(&path, &url, &model, clock) {
        return Ok(server.with_abilities(abilities));
    }
    let abilities = server.probe().await?;
    // Whoever cannot remember asks again.
    let _ = remember(&path, &Remembered { url, model, probed: clock.now(), abilities: abilities.clone() });
    Ok(server.with_abilities(abilities))
}

fn place(root: &Path, url: &str, model: &str) -> PathBuf {
    let hash = blake3::hash(format!("{url}\n{model}").as_bytes()).to_hex();
    root.join(".grail").join("models").join(format!("{}.json", &hash[..16]))
}

fn recall(path: &Path, url: &str, model: &str, clock: &dyn Clock) -> Option<Abilities> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    let remembered: Remembered = serde_json::from_str(&text).ok()?;
    let (probed, now): (Timestamp, Timestamp) = (remembered.probed.parse().ok()?, clock.now().parse().ok()?);
    let age = now.duration_since(probed);
    let is_fresh = !age.is_negative() && age < FRESH_FOR;
    (is_fresh && remembered.url == url && remembered.model == model).then_some(remembered.abilities)
}

fn remember(path: &Path, remembered: &Remembered) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    if folder.symlink_metadata()?.is_symlink() {
        return Err(std::io::Error::other("the folder is elsewhere"));
    }
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(serde_json::to_string_pretty(remembered)?.as_bytes())?;
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}

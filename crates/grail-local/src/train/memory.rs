//! How much memory a run needs, from the sizes of its matrices, and how much there is.

use super::adapter::Shape;
use super::network::OUTPUT_ROWS;
use crate::weights::Config;

const FLOAT: usize = size_of::<f32>();
/// The program itself, its tokenizer, buffers of products.
const REST: usize = 150 << 20;

/// The most bytes that a run takes when so many items go through the network at once, with at most `rows` rows each.
pub fn needed(config: &Config, shape_of: (usize, Option<usize>), at_once: usize, rows: usize) -> u64 {
    let (rank, layers) = shape_of;
    let shape = Shape::new(config, rank, 1.0, layers);
    let attention = (config.heads + 2 * config.kv_heads) * config.head_dim;
    let low = super::adapter::TARGETS * rank;
    let projected = if config.qk_norm { attention } else { 0 };
    let kept =
        2 * config.hidden + config.heads * config.head_dim + attention + projected + 2 * config.ffn + low;
    // Beside what is kept, one layer on its way back.
    let passing = 5 * config.hidden + 2 * attention + 5 * config.ffn;
    let of_each = shape.parameters()
        + rows * (shape.layers * kept + passing + 2 * config.hidden)
        + OUTPUT_ROWS.min(rows) * config.vocab;
    let numbers = config.parameters() as usize
        // While it is read, the embedding is there in several forms.
        + 2 * config.vocab * config.hidden
        // Weights, gradients, two moments, and a copy of one layer.
        + 5 * shape.parameters()
        + at_once * of_each;
    (numbers * FLOAT + REST) as u64
}

/// What the machine can give without swapping; `None` where it does not say.
pub fn available() -> Option<u64> {
    let free = kibibytes("/proc/meminfo", "MemAvailable:")?;
    let read = |file: &str| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let allowed = match (read("/sys/fs/cgroup/memory.max"), read("/sys/fs/cgroup/memory.current")) {
        (Some(most), Some(used)) => most.saturating_sub(used),
        _ => u64::MAX,
    };
    Some(free.min(allowed))
}

/// The most memory that this process has had.
pub fn peak() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM:")
}

fn kibibytes(file: &str, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

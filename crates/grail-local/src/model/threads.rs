//! Who does the work: one thread, or a pool of some.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::lanes::Processor;

/// More chunks than threads, so that a thread that is held up does not hold up the others.
const CHUNKS_PER_THREAD: usize = 4;

pub(crate) struct Threads {
    pub(super) processor: Processor,
    count: usize,
    pool: Option<ThreadPool>,
}

impl Threads {
    pub(crate) fn new(count: usize) -> Self {
        Self::with_processor(count, Processor::detect())
    }

    pub(crate) fn with_processor(count: usize, processor: Processor) -> Self {
        let pool = if count > 1 { ThreadPoolBuilder::new().num_threads(count).build().ok() } else { None };
        Self { processor, count: if pool.is_some() { count } else { 1 }, pool }
    }

    /// Runs work of which parts may go to the other threads.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Cuts `items`, of which `size` belong together, into chunks of at least `least` such, and calls `work` with the number of the first.
    pub(super) fn each_chunk<T: Send>(
        &self,
        items: &mut [T],
        size: usize,
        least: usize,
        work: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let per_chunk = self.per_chunk(items.len() / size, least);
        if self.count == 1 || items.len() <= per_chunk * size {
            return work(0, items);
        }
        items
            .par_chunks_mut(per_chunk * size)
            .with_max_len(1)
            .enumerate()
            .for_each(|(index, chunk)| work(index * per_chunk, chunk));
    }

    /// The same over two slices in step.
    pub(super) fn each_pair<A: Send, B: Send>(
        &self,
        left: &mut [A],
        left_size: usize,
        right: &mut [B],
        right_size: usize,
        work: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        let per_chunk = self.per_chunk(left.len() / left_size, 1);
        if self.count == 1 || left.len() <= per_chunk * left_size {
            return work(0, left, right);
        }
        left.par_chunks_mut(per_chunk * left_size)
            .zip(right.par_chunks_mut(per_chunk * right_size))
            .with_max_len(1)
            .enumerate()
            .for_each(|(index, (left, right))| work(index * per_chunk, left, right));
    }

    /// Calls `work` with every item.
    pub(crate) fn each<T: Send>(&self, items: &mut [T], work: impl Fn(&mut T) + Send + Sync) {
        if self.count == 1 || items.len() < 2 {
            return items.iter_mut().for_each(work);
        }
        items.par_iter_mut().with_max_len(1).for_each(work);
    }

    fn per_chunk(&self, count: usize, least: usize) -> usize {
        count.div_ceil(self.count * CHUNKS_PER_THREAD).max(least)
    }
}

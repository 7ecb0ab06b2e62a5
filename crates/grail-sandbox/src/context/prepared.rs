//! Checked programs, remembered by content: a program that is run again is not parsed and not type checked again.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::compat;
use crate::outcome::{Ending, Limit, LimitHit, Rejection, TypeProblem};
use crate::policy::Limits;
use crate::pool::{Lost, Workers};
use crate::program::{Program, ResultRule, prepare_with};

/// How many programs a context remembers, and how much source at most.
const MOST_PROGRAMS: usize = 1_024;
const MOST_BYTES: usize = 16 * 1024 * 1024;

#[derive(Default)]
pub(super) struct PreparedPrograms {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_content: HashMap<blake3::Hash, Arc<Prepared>>,
    /// Oldest first.
    order: VecDeque<(blake3::Hash, usize)>,
    bytes: usize,
}

pub(super) struct Prepared {
    pub(super) program: Result<Arc<Program>, Arc<[Rejection]>>,
    verdict: OnceCell<Arc<[TypeProblem]>>,
}

impl PreparedPrograms {
    /// `before` is source that has run before; it and `is_tool` tell which names are not what Python has by itself.
    pub(super) fn get(
        &self,
        code: &str,
        rule: ResultRule,
        before: &str,
        is_tool: &dyn Fn(&str) -> bool,
    ) -> Arc<Prepared> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[u8::from(rule == ResultRule::Required)]).update(&before.len().to_le_bytes());
        hasher.update(before.as_bytes()).update(code.as_bytes());
        let key = hasher.finalize();
        if let Some(prepared) = self.lock().by_content.get(&key) {
            return Arc::clone(prepared);
        }
        // Parsed outside the lock: a large program must not hold up the others.
        let prepared = Arc::new(Prepared {
            program: prepare_with(code, rule, &|name| is_tool(name) || compat::binds(before, name))
                .map(Arc::new)
                .map_err(Arc::from),
            verdict: OnceCell::new(),
        });
        let mut kept = self.lock();
        if kept.by_content.insert(key, Arc::clone(&prepared)).is_none() {
            kept.order.push_back((key, code.len()));
            kept.bytes += code.len();
        }
        while kept.order.len() > MOST_PROGRAMS || kept.bytes > MOST_BYTES {
            let Some((oldest, length)) = kept.order.pop_front() else { break };
            kept.by_content.remove(&oldest);
            kept.bytes -= length;
        }
        prepared
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Prepared {
    /// What the type checker says, in places of the original source. `before` is source that counts as checked; only a verdict that
    /// does not depend on any is kept.
    pub(super) async fn problems(
        &self,
        workers: &Workers,
        stubs: &str,
        before: &str,
        limits: &Limits,
    ) -> Result<Arc<[TypeProblem]>, Box<Ending>> {
        if before.is_empty() {
            self.verdict.get_or_try_init(|| self.type_check(workers, stubs, before, limits)).await.cloned()
        } else {
            self.type_check(workers, stubs, before, limits).await
        }
    }

    async fn type_check(
        &self,
        workers: &Workers,
        stubs: &str,
        before: &str,
        limits: &Limits,
    ) -> Result<Arc<[TypeProblem]>, Box<Ending>> {
        let Ok(program) = &self.program else { return Ok(Arc::from([])) };
        let source = if before.is_empty() {
            Cow::Borrowed(program.checked.as_ref())
        } else {
            Cow::Owned(format!("{before}{}", program.checked))
        };
        let checked = workers
            .type_check(stubs, &source, limits.check_timeout)
            .await
            .map_err(|error| Box::new(super::unavailable(&error)))?;
        let problems = checked.map_err(|lost| Box::new(unchecked(lost, limits)))?;
        let lines_before = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX);
        let in_original = |problem: TypeProblem| {
            let line = problem.line.checked_sub(lines_before).filter(|line| *line > 0)?;
            let (line, column) = program.original_position(line, problem.column);
            Some(TypeProblem { line, column, ..problem })
        };
        Ok(problems.into_iter().filter_map(in_original).collect())
    }
}

fn unchecked(lost: Lost, limits: &Limits) -> Ending {
    let message = match lost {
        Lost::Late => format!("the types could not be checked within {:?}", limits.check_timeout),
        Lost::OutOfMemory => "checking the types took too much memory".to_owned(),
        Lost::TooLarge(message) => message,
        Lost::Flooded | Lost::Crashed(_) => "the type checker gave up on this code".to_owned(),
    };
    Ending::LimitHit(LimitHit { limit: Limit::CheckTime, message, traceback: Vec::new() })
}

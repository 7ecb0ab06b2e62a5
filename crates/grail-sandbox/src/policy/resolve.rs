//! From named policies to the one answer of what a run may use.
//!
//! Composition takes the smaller limit, the smaller ceiling and the smaller permission of every part. That makes it commutative and
//! idempotent, so an ancestor that is reached twice counts once and the order of names means nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::Limits;
use super::access::{FileAccess, ToolAccess};
use super::amount::Field;
use super::document::Policy;
use super::error::PolicyError;
use super::guard::ResourceGuard;
use super::preset::Preset;

/// Policies by name: the presets and those of the project. Every one of them can be resolved.
///
/// `-` and `_` are the same in names, so `ai_agent` is `ai-agent`.
#[derive(Clone, Debug)]
pub struct Policies {
    by_name: BTreeMap<String, Policy>,
}

/// Everything a run may use. By default, that of the preset `default`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPolicy {
    /// The names it was made of, sorted.
    pub names: Vec<String>,
    pub limits: Limits,
    pub tools: ToolAccess,
    pub files: FileAccess,
    ceilings: [Ceiling; Field::ALL.len()],
}

/// How far later layers may loosen a limit, and which policy says so. Ordered by amount, then name, so that the strictest of several
/// does not depend on their order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ceiling {
    amount: u64,
    policy: String,
}

const MAX_NAME_LENGTH: usize = 64;

impl Default for Policies {
    fn default() -> Self {
        let presets = Preset::ALL.map(|preset| (preset.name().to_owned(), preset.policy()));
        Self { by_name: BTreeMap::from(presets) }
    }
}

impl Policies {
    /// The presets and these.
    ///
    /// # Errors
    /// A name is taken or malformed, a parent is unknown, or policies inherit from each other.
    pub fn define<N: Into<String>>(
        policies: impl IntoIterator<Item = (N, Policy)>,
    ) -> Result<Self, PolicyError> {
        let mut all = Self::default();
        for (name, policy) in policies {
            let name = canonical(&name.into())?;
            if Preset::ALL.iter().any(|preset| preset.name() == name) {
                return Err(PolicyError::PresetRedefined { name });
            }
            if all.by_name.insert(name.clone(), policy).is_some() {
                return Err(PolicyError::DefinedTwice { name });
            }
        }
        all.check_inheritance()?;
        Ok(all)
    }

    /// The presets and the tables of `[policies]` in `grail.toml`.
    ///
    /// # Errors
    /// As [`Self::define`]; also a table that is no policy.
    pub fn from_toml(table: &toml::Table) -> Result<Self, PolicyError> {
        let mut policies = Vec::new();
        for (name, value) in table {
            let policy = value.clone().try_into::<Policy>().map_err(|error| PolicyError::Malformed {
                policy: name.clone(),
                message: error.message().to_owned(),
            })?;
            policies.push((name.as_str(), policy));
        }
        Self::define(policies)
    }

    /// Sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    pub fn get(&self, name: &str) -> Option<&Policy> {
        self.by_name.get(&name.replace('_', "-"))
    }

    /// The strictest of the policy and all it inherits.
    ///
    /// # Errors
    /// There is no policy of that name.
    pub fn resolve(&self, name: &str) -> Result<ResolvedPolicy, PolicyError> {
        self.compose(&[name])
    }

    /// The strictest of several policies.
    ///
    /// # Errors
    /// There is no policy of one of these names, or there are no names.
    pub fn compose(&self, names: &[&str]) -> Result<ResolvedPolicy, PolicyError> {
        let mut pending = Vec::new();
        for name in names {
            let (name, _) = self.find(name)?;
            pending.push(name);
        }
        let names: BTreeSet<&str> = pending.iter().copied().collect();
        let names = names.into_iter().map(str::to_owned).collect();
        let mut seen = BTreeSet::new();
        let mut layers = Vec::new();
        while let Some(name) = pending.pop() {
            let (name, policy) = self.find(name)?;
            if seen.insert(name) {
                layers.push((name, policy));
                pending.extend(policy.inherits.iter().map(String::as_str));
            }
        }
        if layers.is_empty() {
            return Err(PolicyError::NothingToCompose);
        }
        Ok(strictest(names, &layers))
    }

    fn find(&self, name: &str) -> Result<(&str, &Policy), PolicyError> {
        let found = self.by_name.get_key_value(&name.replace('_', "-"));
        found.map(|(name, policy)| (name.as_str(), policy)).ok_or_else(|| PolicyError::Unknown {
            name: name.chars().take(MAX_NAME_LENGTH).collect(),
            known: self.names().map(str::to_owned).collect(),
        })
    }

    /// Depth first, with a path of its own instead of the stack: chains may be as long as the file.
    fn check_inheritance(&self) -> Result<(), PolicyError> {
        let mut done = BTreeSet::new();
        for start in self.by_name.keys() {
            let mut path: Vec<(&str, &[String])> = vec![(start, &self.by_name[start].inherits)];
            let mut on_path = BTreeSet::from([start.as_str()]);
            while let Some((name, parents)) = path.last_mut() {
                let Some((parent, rest)) = parents.split_first() else {
                    on_path.remove(*name);
                    done.insert(*name);
                    path.pop();
                    continue;
                };
                *parents = rest;
                let policy = *name;
                let Ok((parent, inherited)) = self.find(parent) else {
                    return Err(PolicyError::UnknownParent {
                        policy: policy.to_owned(),
                        parent: parent.chars().take(MAX_NAME_LENGTH).collect(),
                        known: self.names().filter(|name| *name != policy).map(str::to_owned).collect(),
                    });
                };
                if on_path.contains(parent) {
                    let cycle = path.iter().map(|(name, _)| *name).skip_while(|name| *name != parent);
                    return Err(PolicyError::Cycle {
                        path: cycle.chain([parent]).map(str::to_owned).collect(),
                    });
                }
                if !done.contains(parent) {
                    on_path.insert(parent);
                    path.push((parent, &inherited.inherits));
                }
            }
        }
        Ok(())
    }
}

impl Default for ResolvedPolicy {
    fn default() -> Self {
        let preset = Preset::Default;
        strictest(vec![preset.name().to_owned()], &[(preset.name(), &preset.policy())])
    }
}

impl ResolvedPolicy {
    /// Applies the limits of a call site or of a call. Both may go up to the ceilings of the policy: a guard that tightened a limit
    /// does not lower its ceiling.
    ///
    /// # Errors
    /// A limit is looser than it was and the policy does not allow that much.
    pub fn tighten(&self, guard: &ResourceGuard) -> Result<Self, PolicyError> {
        Ok(Self { limits: self.limits_under(guard)?, ..self.clone() })
    }

    /// The limits alone that [`ResolvedPolicy::tighten`] gives, for every run anew.
    pub(crate) fn limits_under(&self, guard: &ResourceGuard) -> Result<Limits, PolicyError> {
        let mut limits = self.limits.clone();
        for (field, amount) in guard.limits.iter() {
            let ceiling = &self.ceilings[field.index()];
            if amount > ceiling.amount {
                return Err(PolicyError::LoosensTooFar {
                    field,
                    value: field.show(amount),
                    ceiling: field.show(ceiling.amount),
                    policy: ceiling.policy.clone(),
                });
            }
            limits.set(field, amount);
        }
        Ok(limits)
    }

    /// The most a later layer may ask for, in microseconds, bytes or as a count. Never below the limit itself.
    pub fn ceiling(&self, field: Field) -> u64 {
        self.ceilings[field.index()].amount
    }

    /// `default`, or `default + strict`.
    pub fn name(&self) -> String {
        self.names.join(" + ")
    }

    /// Everything it says, one line per field.
    pub fn describe(&self) -> String {
        let mut lines = vec![format!("policy: {}", self.name())];
        for field in Field::ALL {
            let (limit, ceiling) = (self.limits.get(field), self.ceiling(field));
            let loosened = match ceiling > limit {
                true => format!(", may be loosened to {}", field.show(ceiling)),
                false => String::new(),
            };
            lines.push(format!("{}: {}{loosened}", field.name(), field.show(limit)));
        }
        lines.push(format!("tools: {}", self.tools));
        lines.push(format!("files: {}", self.files.name()));
        lines.push("network: none".to_owned());
        lines.join("\n")
    }
}

/// A policy without parents is completed from `default` before it is compared. Completed afterwards, a field that it leaves open could
/// come out looser in company than alone.
fn strictest(names: Vec<String>, layers: &[(&str, &Policy)]) -> ResolvedPolicy {
    let default = Preset::Default.policy();
    let mut limits = BTreeMap::new();
    let mut ceilings = BTreeMap::new();
    let mut lower = |field, limit: u64, ceiling: Ceiling| {
        let held = limits.entry(field).or_insert(limit);
        *held = limit.min(*held);
        let held = ceilings.entry(field).or_insert_with(|| ceiling.clone());
        if ceiling < *held {
            *held = ceiling;
        }
    };
    let mut tools = ToolAccess::all();
    let mut files = FileAccess::Write;
    for (name, policy) in layers {
        let is_root = policy.inherits.is_empty();
        let completion = |field| if is_root { default.limits.get(field) } else { None };
        for field in Field::ALL {
            let ceiling = policy.may_loosen.get(field);
            let (limit, ceiling) = match (policy.limits.get(field), ceiling) {
                (Some(limit), ceiling) => (limit, ceiling.unwrap_or(limit)),
                (None, Some(ceiling)) => (completion(field).unwrap_or(ceiling).min(ceiling), ceiling),
                (None, None) => match completion(field) {
                    Some(limit) => (limit, default.may_loosen.get(field).unwrap_or(limit)),
                    None => continue,
                },
            };
            lower(field, limit, Ceiling { amount: ceiling, policy: (*name).to_owned() });
        }
        let completion = |given: bool| is_root && !given;
        let own_tools = if completion(policy.tools.is_some()) { &default.tools } else { &policy.tools };
        if let Some(own) = own_tools {
            tools = tools.and(own);
        }
        let own_files = if completion(policy.files.is_some()) { default.files } else { policy.files };
        files = own_files.map_or(files, |own| own.min(files));
    }
    // Every chain ends in a root, which says everything, so nothing is left open here.
    let mut all = Limits {
        max_duration: std::time::Duration::ZERO,
        max_memory: 0,
        max_recursion: 0,
        max_suspensions: 0,
        max_output: 0,
        max_result: 0,
        max_source: 0,
        check_timeout: std::time::Duration::ZERO,
        tool_timeout: std::time::Duration::ZERO,
    };
    for (field, limit) in limits {
        all.set(field, limit);
    }
    let ceilings = Field::ALL.map(|field| {
        ceilings.remove(&field).unwrap_or(Ceiling { amount: all.get(field), policy: names.join(" + ") })
    });
    ResolvedPolicy { names, limits: all, tools, files, ceilings }
}

fn canonical(name: &str) -> Result<String, PolicyError> {
    let allowed = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    if name.is_empty() || name.len() > MAX_NAME_LENGTH || !name.chars().all(allowed) {
        return Err(PolicyError::Name { name: name.chars().take(MAX_NAME_LENGTH).collect() });
    }
    Ok(name.replace('_', "-"))
}

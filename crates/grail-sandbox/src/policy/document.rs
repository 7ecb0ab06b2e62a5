//! A policy as it is written down: in code or in `grail.toml`, with every field optional.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::access::{FileAccess, ToolAccess};
use super::amount::{Amounts, Field, Shown, microseconds};
use super::error::{PolicyError, unknown_key};

/// Some of what a run may use. What it leaves open comes from the policies it inherits, or, without any, from the preset `default`.
///
/// ```toml
/// [policies.reports]
/// description = "Monthly reports"
/// inherits = ["default"]
/// max-duration = "2s"            # or a number of seconds
/// max-memory = "32MiB"           # or a number of bytes
/// tools = ["fetch_*", "today"]   # or "all", "none"
/// files = "read"                 # "none", "read", "overlay", "write"
/// network = "none"               # there is nothing else; network goes through tools
/// may-loosen = { max-duration = "10s" }
/// ```
///
/// Inheritance can only tighten: of every field the strictest of the policy and all it inherits is taken. A limit is firm unless the
/// same policy gives it a ceiling in `may-loosen`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub(super) description: Option<String>,
    pub(super) inherits: Vec<String>,
    pub(super) limits: Amounts,
    pub(super) tools: Option<ToolAccess>,
    pub(super) files: Option<FileAccess>,
    pub(super) may_loosen: Amounts,
}

/// Collects a policy; the first mistake is reported by [`PolicyBuilder::build`].
#[derive(Clone, Debug, Default)]
pub struct PolicyBuilder {
    policy: Policy,
    problem: Option<PolicyError>,
}

impl Policy {
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder::default()
    }

    /// What the policy says, one line per field.
    pub fn describe(&self) -> String {
        let mut lines: Vec<String> = self.description.iter().cloned().collect();
        if !self.inherits.is_empty() {
            lines.push(format!("inherits: {}", self.inherits.join(", ")));
        }
        for (field, amount) in self.limits.iter() {
            let ceiling = self
                .may_loosen
                .get(field)
                .map(|ceiling| format!(", may be loosened to {}", field.show(ceiling)));
            lines.push(format!("{}: {}{}", field.name(), field.show(amount), ceiling.unwrap_or_default()));
        }
        for (field, ceiling) in self.may_loosen.iter().filter(|(field, _)| self.limits.get(*field).is_none())
        {
            lines.push(format!("{}: at most {}", field.name(), field.show(ceiling)));
        }
        lines.extend(self.tools.iter().map(|tools| format!("tools: {tools}")));
        lines.extend(self.files.iter().map(|files| format!("files: {}", files.name())));
        lines.push("network: none".to_owned());
        lines.join("\n")
    }

    fn validated(self) -> Result<Self, PolicyError> {
        for (field, ceiling) in self.may_loosen.iter() {
            if let Some(limit) = self.limits.get(field)
                && ceiling < limit
            {
                let (ceiling, limit) = (field.show(ceiling), field.show(limit));
                return Err(PolicyError::CeilingBelowLimit { field, ceiling, limit });
            }
        }
        Ok(self)
    }
}

impl PolicyBuilder {
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.policy.description = Some(text.into());
        self
    }

    /// Adds a parent.
    pub fn inherits(mut self, parent: impl Into<String>) -> Self {
        self.policy.inherits.push(parent.into());
        self
    }

    pub fn max_duration(self, time: Duration) -> Self {
        self.limit(Field::MaxDuration, microseconds(time))
    }

    pub fn max_memory(self, bytes: u64) -> Self {
        self.limit(Field::MaxMemory, bytes)
    }

    pub fn check_timeout(self, time: Duration) -> Self {
        self.limit(Field::CheckTimeout, microseconds(time))
    }

    pub fn tool_timeout(self, time: Duration) -> Self {
        self.limit(Field::ToolTimeout, microseconds(time))
    }

    /// Any limit: in microseconds, bytes or as a count.
    pub fn limit(mut self, field: Field, amount: u64) -> Self {
        self.store(field, amount, |policy| &mut policy.limits);
        self
    }

    /// Lets later layers loosen a limit up to this, in microseconds, bytes or as a count.
    pub fn may_loosen(mut self, field: Field, ceiling: u64) -> Self {
        self.store(field, ceiling, |policy| &mut policy.may_loosen);
        self
    }

    pub fn tools(mut self, tools: ToolAccess) -> Self {
        self.policy.tools = Some(tools);
        self
    }

    pub fn files(mut self, files: FileAccess) -> Self {
        self.policy.files = Some(files);
        self
    }

    /// # Errors
    /// A limit is outside its permitted range, or a ceiling is below its limit.
    pub fn build(self) -> Result<Policy, PolicyError> {
        match self.problem {
            Some(problem) => Err(problem),
            None => self.policy.validated(),
        }
    }

    fn store(&mut self, field: Field, amount: u64, place: fn(&mut Policy) -> &mut Amounts) {
        match field.validate(amount) {
            Ok(amount) => place(&mut self.policy).set(field, amount),
            Err(problem) => {
                self.problem.get_or_insert(problem);
            }
        }
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(description) = &self.description {
            map.serialize_entry("description", description)?;
        }
        if !self.inherits.is_empty() {
            map.serialize_entry("inherits", &self.inherits)?;
        }
        for (field, amount) in self.limits.iter() {
            map.serialize_entry(field.name(), &Shown(field, amount))?;
        }
        if let Some(tools) = &self.tools {
            map.serialize_entry("tools", tools)?;
        }
        if let Some(files) = &self.files {
            map.serialize_entry("files", files)?;
        }
        // Last, because TOML wants tables after values.
        if !self.may_loosen.is_empty() {
            map.serialize_entry("may-loosen", &self.may_loosen)?;
        }
        map.end()
    }
}

/// By hand: the limits are a table of fields here, and errors must name the field and its permitted range.
impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PolicyVisitor)
    }
}

struct PolicyVisitor;

const OTHER_KEYS: [&str; 6] = ["description", "inherits", "tools", "files", "network", "may-loosen"];

impl<'de> Visitor<'de> for PolicyVisitor {
    type Value = Policy;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a policy")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Policy, A::Error> {
        let mut policy = Policy::default();
        while let Some(key) = map.next_key::<String>()? {
            if let Some(field) = Field::from_name(&key) {
                policy.limits.set(field, map.next_value_seed(field)?);
                continue;
            }
            match key.as_str() {
                "description" => policy.description = Some(map.next_value()?),
                "inherits" => policy.inherits = map.next_value()?,
                "tools" => policy.tools = Some(map.next_value()?),
                "files" => policy.files = Some(map.next_value()?),
                "network" => check_network(&map.next_value::<String>()?).map_err(de::Error::custom)?,
                "may-loosen" => policy.may_loosen = map.next_value()?,
                _ => {
                    let known: Vec<&str> =
                        Field::ALL.map(Field::name).into_iter().chain(OTHER_KEYS).collect();
                    return Err(de::Error::custom(unknown_key(&key, &known)));
                }
            }
        }
        policy.validated().map_err(de::Error::custom)
    }
}

fn check_network(network: &str) -> Result<(), String> {
    if network == "none" {
        return Ok(());
    }
    let network: String = network.chars().take(40).collect();
    Err(format!(
        "`network` is `{network}`, only `none` is possible; give the code a tool that makes the request"
    ))
}

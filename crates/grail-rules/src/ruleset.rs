//! The rules in force, ready to look at files.
//!
//! A file is looked at by few rules: one pass over its text finds which rules' words it mentions, and each of these looks only at nodes of
//! the kinds its pattern can start with. So a rule costs what it finds to look at, not what there is.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use globset::GlobMatcher;
use grail_code::NodeId;
use rustc_hash::FxHashMap;

use crate::file::FileUnderCheck;
use crate::kind::{Artifact, ArtifactKind};
use crate::rule::{CompiledRule, Definition, Logic, Scene, Violation};
use crate::slice::IndexSlice;
use crate::suppression::Suppressions;
use crate::{Finding, Fix, Layer, Safety, Severity};

pub struct RuleSet {
    rules: Vec<ActiveRule>,
    kinds: Vec<Arc<ArtifactKind>>,
    words: Words,
    /// Artifacts of this kind are all that files hold, whatever they look like.
    forced_kind: Option<String>,
    /// What rules across files ask for; `None` if there are none.
    slice: Option<IndexSlice>,
}

struct ActiveRule {
    compiled: CompiledRule,
    /// Kinds it applies to; empty for all code.
    kinds: Vec<String>,
    /// Any of these sets of words, all of whose words a file must hold.
    needs: Vec<Vec<usize>>,
    /// Files it does not look at.
    except: Vec<GlobMatcher>,
}

/// The words of all rules, found in one pass.
struct Words {
    automaton: Option<AhoCorasick>,
    count: usize,
}

/// What rules say about one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileReport {
    pub findings: Vec<Finding>,
    pub artifacts: Vec<Artifact>,
    pub suppressions: Suppressions,
    /// Rules in Python that have yet to look at the file, by index.
    pub python: Vec<usize>,
}

/// Collects what a [`RuleSet`] is made of.
#[derive(Default)]
pub struct RuleSetBuilder {
    rules: Vec<(CompiledRule, Vec<GlobMatcher>)>,
    kinds: Vec<Arc<ArtifactKind>>,
    forced_kind: Option<String>,
}

impl RuleSetBuilder {
    pub fn rule(&mut self, rule: CompiledRule, except: Vec<GlobMatcher>) {
        self.rules.push((rule, except));
    }

    pub fn kind(&mut self, kind: Arc<ArtifactKind>) {
        self.kinds.push(kind);
    }

    pub fn force_kind(&mut self, name: Option<String>) {
        self.forced_kind = name;
    }

    pub fn build(self) -> RuleSet {
        let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
        let mut number = |word: &str| {
            let next = numbers.len();
            *numbers.entry(word.to_owned()).or_insert(next)
        };
        let kinds = self.kinds;
        let rules: Vec<ActiveRule> = self
            .rules
            .into_iter()
            .map(|(compiled, except)| {
                let rule = &compiled.rule;
                let named = |kind: &&Arc<ArtifactKind>| kind.rules.iter().any(|id| **id == *rule.id);
                let mut about = rule.applies_to.clone();
                about.extend(kinds.iter().filter(named).map(|kind| kind.name.clone()));
                let sets = needed_words(&compiled);
                let needs =
                    sets.iter().map(|words| words.iter().map(|word| number(word)).collect()).collect();
                ActiveRule { needs, kinds: about, except, compiled }
            })
            .collect();
        let mut words: Vec<(String, usize)> = numbers.into_iter().collect();
        words.sort_by_key(|(_, number)| *number);
        let words: Vec<String> = words.into_iter().map(|(word, _)| word).collect();
        let mut slice: Option<IndexSlice> = None;
        for python in rules.iter().filter_map(|active| active.compiled.rule.python()) {
            if let Some(query) = &python.project {
                slice.get_or_insert_default().add(query);
            }
        }
        RuleSet { rules, kinds, words: Words::new(&words), forced_kind: self.forced_kind, slice }
    }
}

/// Sets of words, one of which a file must hold whole for the rule to find anything; none means any file.
fn needed_words(compiled: &CompiledRule) -> Vec<Vec<String>> {
    if !compiled.rule.mentions.is_empty() {
        return compiled.rule.mentions.clone();
    }
    let Logic::Patterns(definition) = &*compiled.logic else { return Vec::new() };
    let sets: Vec<Vec<String>> =
        definition.subjects.iter().map(|subject| subject.pattern.required_words().to_vec()).collect();
    // One alternative without words may match anywhere.
    if sets.iter().any(Vec::is_empty) { Vec::new() } else { sets }
}

impl RuleSet {
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &CompiledRule> {
        self.rules.iter().map(|active| &active.compiled)
    }

    pub(crate) fn rule(&self, index: usize) -> Option<&CompiledRule> {
        self.rules.get(index).map(|active| &active.compiled)
    }

    /// What rules across files have to know of a file.
    pub(crate) fn slice(&self) -> Option<&IndexSlice> {
        self.slice.as_ref()
    }

    /// The rules that look at the project as a whole.
    pub fn project_rules(&self) -> impl Iterator<Item = &CompiledRule> {
        self.rules().filter(|rule| rule.rule.python().is_some_and(|python| python.project.is_some()))
    }

    /// Changes when the rules, their options, their severities or where they hold change.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for active in &self.rules {
            hasher.update(active.compiled.hash.as_bytes());
            for text in active
                .except
                .iter()
                .map(|glob| glob.glob().glob())
                .chain(active.kinds.iter().map(String::as_str))
            {
                hasher.update(text.as_bytes()).update(b"\0");
            }
        }
        for kind in &self.kinds {
            hasher.update(kind.name.as_bytes()).update(kind.hash.as_bytes());
        }
        hasher.update(self.forced_kind.as_deref().unwrap_or_default().as_bytes());
        hasher.finalize()
    }

    /// Whether settings let a rule look at a file.
    pub(crate) fn looks_at(&self, rule: &CompiledRule, path: &str) -> bool {
        let is_excepted = |active: &ActiveRule| {
            Arc::ptr_eq(&active.compiled.rule, &rule.rule)
                && active.except.iter().any(|glob| glob.is_match(path))
        };
        !self.rules.iter().any(is_excepted)
    }

    pub fn kinds(&self) -> &[Arc<ArtifactKind>] {
        &self.kinds
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Looks at one file with every rule that is patterns. Suppressed findings are among those found: rules in Python and rules that
    /// span files may yet add theirs. [`RuleSet::settle`] comes last.
    pub fn look(&self, file: &FileUnderCheck<'_>) -> FileReport {
        let mentioned = self.words.mentioned(file.parsed.text());
        let is_candidate = |active: &&ActiveRule| {
            let is_mentioned = |words: &Vec<usize>| words.iter().all(|word| mentioned[*word]);
            (active.needs.is_empty() || active.needs.iter().any(is_mentioned))
                && !active.except.iter().any(|glob| glob.is_match(file.path.as_ref()))
        };
        let mut report =
            FileReport { suppressions: Suppressions::read(file.parsed), ..FileReport::default() };
        let mut artifacts: FxHashMap<&str, Vec<Artifact>> = FxHashMap::default();
        for (index, active) in self.rules.iter().enumerate().filter(|(_, active)| is_candidate(active)) {
            let about = (!active.kinds.is_empty()).then(|| self.artifact_nodes(active, file, &mut artifacts));
            if about.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            match &*active.compiled.logic {
                Logic::Patterns(definition) => {
                    self.look_with(active, definition, about.as_deref(), file, &mut report.findings);
                }
                Logic::Python { rule, occurs, .. } => {
                    let has_some =
                        || occurs.is_empty() || occurs.iter().any(|pattern| !file.find(pattern).is_empty());
                    if rule.project.is_none() && has_some() {
                        report.python.push(index);
                    }
                }
            }
        }
        report.artifacts = artifacts.into_values().flatten().collect();
        report.artifacts.sort_by(|a, b| (a.node, &a.kind).cmp(&(b.node, &b.kind)));
        report
    }

    /// Takes suppressed findings out, adds those about suppressions, and puts all in the order of their places.
    pub fn settle(&self, report: &mut FileReport, path: &Arc<str>) {
        self.settle_with(report, path, |_| true);
    }

    /// As [`RuleSet::settle`], where only the rules that `has_run` names had their say: a comment about another one may be right.
    pub fn settle_with(
        &self,
        report: &mut FileReport,
        path: &Arc<str>,
        has_run: impl Fn(&CompiledRule) -> bool,
    ) {
        let suppressions = std::mem::take(&mut report.suppressions);
        suppressions.apply(path, &mut report.findings, |id| {
            self.rules().any(|compiled| *compiled.rule.id == *id && has_run(compiled))
        });
        report.findings.sort_by(|a, b| (a.start, a.end, &a.rule).cmp(&(b.start, b.end, &b.rule)));
    }

    /// Every artifact of a file, of all kinds.
    pub fn recognise(&self, file: &FileUnderCheck<'_>) -> Vec<Artifact> {
        let mut all: Vec<Artifact> =
            self.kinds.iter().flat_map(|kind| kind.artifacts(file, self.is_forced(kind))).collect();
        all.sort_by(|a, b| (a.node, &a.kind).cmp(&(b.node, &b.kind)));
        all
    }

    fn is_forced(&self, kind: &ArtifactKind) -> bool {
        self.forced_kind.as_deref() == Some(kind.name.as_str())
    }

    fn artifact_nodes<'s>(
        &'s self,
        active: &ActiveRule,
        file: &FileUnderCheck<'_>,
        known: &mut FxHashMap<&'s str, Vec<Artifact>>,
    ) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        for kind in self.kinds.iter().filter(|kind| active.kinds.contains(&kind.name)) {
            let artifacts =
                known.entry(&kind.name).or_insert_with(|| kind.artifacts(file, self.is_forced(kind)));
            nodes.extend(artifacts.iter().map(|artifact| artifact.node));
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    fn look_with(
        &self,
        active: &ActiveRule,
        definition: &Definition,
        about: Option<&[NodeId]>,
        file: &FileUnderCheck<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let parsed = file.parsed;
        let is_about = |node: NodeId| match about {
            None => true,
            Some(artifacts) if definition.is_about_artifacts => artifacts.binary_search(&node).is_ok(),
            Some(artifacts) => artifacts.iter().any(|artifact| {
                *artifact == node || parsed.node(*artifact).is_ancestor_of(parsed.node(node))
            }),
        };
        let mut judge = None;
        for subject in &definition.subjects {
            for found in file.find(&subject.pattern).into_iter().filter(|found| is_about(found.node)) {
                let judge = judge.get_or_insert_with(|| {
                    let semantic = definition.needs_names().then(|| file.semantic());
                    definition.judge(parsed, semantic)
                });
                for violation in judge.violations(&found, parsed.node(found.node)) {
                    findings.push(self.finding(active, definition, &violation, file));
                }
            }
        }
    }

    fn finding(
        &self,
        active: &ActiveRule,
        definition: &Definition,
        violation: &Violation,
        file: &FileUnderCheck<'_>,
    ) -> Finding {
        let CompiledRule { rule, severity, .. } = &active.compiled;
        let scene = Scene {
            parsed: file.parsed,
            subject: &violation.subject,
            occurrence: violation.occurrence.as_ref(),
        };
        let fix = definition.recipe.as_ref().and_then(|recipe| {
            let edits = recipe.edits(&scene, file.semantic())?;
            Some(Fix { title: recipe.title(&scene), safety: rule.fix.unwrap_or(Safety::DisplayOnly), edits })
        });
        let source = file.parsed.source();
        Finding {
            path: Arc::clone(&file.path),
            layer: Layer::Rules,
            rule: Arc::clone(&rule.id),
            severity: *severity,
            message: violation.message.clone(),
            help: violation.help.clone(),
            span: Some(violation.span),
            start: source.position(violation.span.start),
            end: source.position(violation.span.end),
            fix,
        }
    }
}

impl Words {
    fn new(words: &[String]) -> Self {
        // A table of states, because overlapping words are wanted and the text is walked once whatever it holds.
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .match_kind(MatchKind::Standard)
            .build(words)
            .ok()
            .filter(|_| !words.is_empty());
        Self { automaton, count: words.len() }
    }

    fn mentioned(&self, text: &str) -> Vec<bool> {
        let mut mentioned = vec![self.automaton.is_none(); self.count];
        if let Some(automaton) = &self.automaton {
            for found in automaton.find_overlapping_iter(text) {
                mentioned[found.pattern().as_usize()] = true;
            }
        }
        mentioned
    }
}

/// Syntax errors as findings.
pub fn syntax_findings(file: &FileUnderCheck<'_>) -> Vec<Finding> {
    let finding = |problem: &grail_code::Diagnostic| Finding {
        path: Arc::clone(&file.path),
        layer: Layer::Syntax,
        rule: SYNTAX_ERROR.into(),
        severity: Severity::Error,
        message: problem.message.clone(),
        help: None,
        span: Some(problem.span),
        start: problem.start,
        end: problem.end,
        fix: None,
    };
    file.parsed.diagnostics().iter().map(finding).collect()
}

/// The rule id of syntax errors.
pub const SYNTAX_ERROR: &str = "syntax-error";

//! `grail eval`, `compare`, `promote`, `rollback`, `learn`, `improve` and `skills eval` on scratch projects. `template` answers everything; what a phase
//! answered is put where `grail eval` would have put it.

use std::fs;

use grail_flywheel::dataset::build::prompt_hash;
use grail_flywheel::dataset::{Draft, freeze};
use grail_flywheel::evaluation::{Answer, Evaluation, keep_evaluation, list_evaluations};
use grail_flywheel::event::Problem;
use grail_flywheel::example::{Example, ExampleType, Origin, Weight};
use grail_flywheel::phase::{Base, Phase, PhaseState, Phases, hash_adapter};
use grail_flywheel::suite::load_suite;

use crate::guides::mask;
use crate::scratch::Scratch;

const SETTINGS: &str = "[learn]\nsuite = \"cards\"\nseeds = 1\n";
const THINGS: [&str; 12] = [
    "user", "product", "invoice", "parcel", "ticket", "room", "course", "plant", "recipe", "engine",
    "planet", "bridge",
];
const FIELDS: [[&str; 2]; 4] =
    [["title", "price"], ["label", "amount"], ["caption", "rating"], ["name", "email"]];

/// A suite of so many prompts, half for components and half for services.
pub(crate) fn suite(count: usize) -> String {
    let mut text = "name = \"cards\"\n".to_owned();
    for number in 0..count {
        let (thing, [one, other]) = (THINGS[number % 12], FIELDS[number / 12]);
        let (kind, noun) =
            if number % 2 == 1 { ("service", "service") } else { ("component", "card component") };
        text.push_str(&format!(
            "\n[[prompts]]\nid = \"{kind}-{number:02}\"\nkind = \"{kind}\"\nprompt = \"a {thing} {noun} with {one} and {other}\"\n\
             checks = {{ name = \"{thing}\", mentions = [\"{one}\", \"{other}\"] }}\n"
        ));
    }
    text
}

fn project(prompts: usize) -> Scratch {
    Scratch::new(&[("grail.toml", SETTINGS), ("evals/cards.toml", &suite(prompts))])
}

#[test]
fn a_model_is_evaluated_with_its_controls() {
    let scratch = project(6);
    let first = scratch.run(&["eval", "template", "--no-types", "--no-render"]);
    insta::assert_snapshot!(first, @"
    cards 6 prompts, 1 seed, judged by syntax, rules

                               first try    likely   with fixes    likely  mended  likely  retries  tokens  s/answer
    template                 100 % (6/6)  61–100 %  100 % (6/6)  61–100 %       -             0.00       0       0.0
    template with the skill  100 % (6/6)  61–100 %  100 % (6/6)  61–100 %       -             0.00       0       0.0

    template        first try    likely   with fixes    likely  mended  likely
    component     100 % (3/3)  44–100 %  100 % (3/3)  44–100 %       -
    service       100 % (3/3)  44–100 %  100 % (3/3)  44–100 %       -
    seen-pattern  100 % (6/6)  61–100 %  100 % (6/6)  61–100 %       -

    exit 0
    ");
    // Nobody is asked twice.
    assert_eq!(scratch.run(&["eval", "template", "--no-types", "--no-render"]), first);
    let output = scratch
        .command(&["eval", "template", "--no-types", "--no-render", "--format", "json"])
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["remembered"], 12);
    assert_eq!(told["arms"][0]["score"]["all"]["first_try"]["passed"], 6);
    assert_eq!(told["arms"][1]["arm"]["control"], "base_with_skill");
    insta::assert_snapshot!(mask(&scratch.run(&["eval", "--list"])), @"
    evaluation                        arm  suite    first try   with fixes
    HASH  template with the skill  cards  100 % (6/6)  100 % (6/6)
    HASH                 template  cards  100 % (6/6)  100 % (6/6)

    exit 0
    ");
}

#[test]
fn a_page_of_an_evaluation_needs_no_network() {
    let scratch = project(4);
    scratch.run(&["eval", "template", "--no-types", "--no-render", "--html", "report.html"]);
    let page = scratch.read("report.html");
    assert!(page.contains("<svg") && page.contains("template with the skill"));
    let links = regex::Regex::new(r#"(src|href)="|url\(|@import|<script"#).unwrap();
    assert!(!links.is_match(&page), "nothing is loaded from anywhere");
    insta::assert_snapshot!(scratch.run(&["eval", "template", "--no-types", "--no-render", "--html", "no/where.html"]), @"
    ! error: `no/where.html` cannot be written: entity not found
    ! hint: name a file in a folder that is there
    exit 2
    ");
}

#[test]
fn what_cannot_be_evaluated_is_said() {
    let scratch = project(2);
    insta::assert_snapshot!(scratch.run(&["eval", "template", "--suite", "none"]), @"
    ! error: there is no suite `none`
    ! hint: there are cards, held-out, quick; a project's own are in `.grail/suites/` or `evals/`
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["eval", "p7"]), @"
    ! error: there is no phase `p7`
    ! hint: `grail train` makes the first one
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["eval", "template", "--temperature", "3"]), @"
    ! error: the temperature 3 is out of range
    ! hint: from 0, which is no chance at all, to 2
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["eval", "--list"]), @"
    ! nothing was evaluated yet; `grail eval MODEL` does
    exit 0
    ");
}

#[test]
fn two_models_are_compared() {
    let scratch = project(6);
    insta::assert_snapshot!(scratch.run(&["compare", "template", "template+skill", "--no-types", "--no-render"]), @"
    cards 6 prompts, 6 pairs of answers: passed at the first try

                                         passed    likely
    before: template                100 % (6/6)  61–100 %
    after: template with the skill  100 % (6/6)  61–100 %

    +0.0 points [0.0, 0.0]: no difference beyond chance; 0 prompts won, 0 lost, p = 1.000
    sequentially: not decided

                       before        after              difference  won  lost
    component     100 % (3/3)  100 % (3/3)  +0.0 points [0.0, 0.0]    0     0
    service       100 % (3/3)  100 % (3/3)  +0.0 points [0.0, 0.0]    0     0
    seen-pattern  100 % (6/6)  100 % (6/6)  +0.0 points [0.0, 0.0]    0     0

    exit 0
    ");
}

#[test]
fn the_text_of_a_project_s_skill_is_measured_and_the_lift_is_kept() {
    let skill = "---\nname: house-cards\ndescription: Cards as this house builds them.\n---\n\nClose every element.\n";
    let pack = "[kinds.house-card]\ndescription = \"A card\"\nwords = [\"house card\"]\nfile = \"cards/{name}.py\"\ntemplate = \"card.py.jinja\"\nfiles = [\"cards/*.py\"]\n";
    let template = "{% set artifact = name.pascal %}\n{{ docstring }}\n\n\ndef {{ artifact }}() -> str:\n    return \"card\"\n";
    let suite = "name = \"house\"\n\n[[prompts]]\nid = \"one\"\nkind = \"house-card\"\nprompt = \"a house card for a room\"\n\n[[prompts]]\nid = \"two\"\nkind = \"house-card\"\nprompt = \"a house card for a bed\"\n";
    let scratch = Scratch::new(&[
        ("grail.toml", "[learn]\nsuite = \"house\"\nseeds = 1\n"),
        (".agents/skills/house-cards/SKILL.md", skill),
        (".agents/skills/house-cards/rules/pack.toml", pack),
        (".agents/skills/house-cards/templates/card.py.jinja", template),
        ("evals/house.toml", suite),
    ]);
    scratch.run(&["skills", "trust", "house-cards"]);
    let arguments = ["skills", "eval", "house-cards", "--no-types", "--no-render", "--examples", "0"];
    insta::assert_snapshot!(scratch.run(&arguments), @"
    house 2 prompts, 2 pairs of answers: passed at the first try

                                             passed    likely
    before: template without the skill  100 % (2/2)  34–100 %
    after: template with the skill      100 % (2/2)  34–100 %

    +0.0 points [0.0, 0.0]: no difference beyond chance; 0 prompts won, 0 lost, p = 1.000
    sequentially: not decided

                       before        after              difference  won  lost
    house-card    100 % (2/2)  100 % (2/2)  +0.0 points [0.0, 0.0]    0     0
    seen-pattern  100 % (2/2)  100 % (2/2)  +0.0 points [0.0, 0.0]    0     0

    ! kept in `evals/benchmark.json` of `house-cards`: +0 points [0, 0], model template, 2 pairs
    exit 0
    ");
    let kept: serde_json::Value =
        serde_json::from_str(&scratch.read(".agents/skills/house-cards/evals/benchmark.json")).unwrap();
    assert_eq!(
        (&kept["n"], &kept["model"], &kept["difference"]),
        (&2.into(), &"template".into(), &0.0.into())
    );
    let listed = scratch.run(&["skills", "list"]);
    assert!(listed.contains("house-cards") && !listed.contains("changed"), "{listed}");
    insta::assert_snapshot!(scratch.run(&["skills", "eval", "view-conventions", "--no-types", "--no-render"]), @"
    ! error: no prompt of the suite `house` asks for a kind of the skill `view-conventions`
    ! hint: name a suite that does with `--suite`; a project's own are in `.grail/suites/` or `evals/`
    exit 2
    ");
}

/// A phase that was trained on these requests, and evaluations in which it passes what `passes` says. The base passes every fourth.
struct Trained {
    scratch: Scratch,
    phase: String,
}

const IDENTITY: &str = "0123456789abcdef+fedcba9876543210";
const LEARNED: [&str; 2] = ["a lamp badge component with colour", "a map legend component with scale"];

impl Trained {
    fn new(requests: Option<&[&str]>, answered: &str, passes: impl Fn(usize) -> bool) -> Self {
        let scratch = project(48);
        scratch.run(&["eval", "template", "--no-types", "--no-render"]);
        let root = scratch.root();
        let suite = load_suite(root, "cards").unwrap();
        let dataset = requests.map(|requests| {
            let mut draft =
                Draft { train: requests.iter().map(|it| example(it)).collect(), ..Draft::default() };
            let held_out = &mut draft.sources.held_out_prompts;
            held_out.extend(suite.prompts.iter().map(|prompt| prompt_hash(&prompt.prompt)));
            held_out.sort();
            freeze(root, &draft).unwrap().manifest.hash
        });
        let phase = trained(&scratch, dataset);
        let known: Vec<Evaluation> =
            list_evaluations(root).unwrap().into_iter().map(Result::unwrap).collect();
        for mut evaluation in known {
            evaluation.arm.name = evaluation.arm.name.replace("template", "smollm2-135m");
            evaluation.arm.model = "local:smollm2-135m".to_owned();
            evaluation.arm.identity = "0123456789abcdef".to_owned();
            answers(&mut evaluation, |number| number % 4 == 0);
            let is_base = evaluation.arm.skill.is_none();
            keep_evaluation(root, evaluation.clone()).unwrap();
            if is_base {
                evaluation.arm.name.clone_from(&phase);
                evaluation.arm.model = format!("phase:{phase}");
                evaluation.arm.identity = answered.to_owned();
                evaluation.arm.phase = Some(phase.clone());
                evaluation.arm.control = None;
                answers(&mut evaluation, &passes);
                keep_evaluation(root, evaluation).unwrap();
            }
        }
        Self { scratch, phase }
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.scratch.run(arguments).replace(&self.phase, "PHASE")
    }

    /// What the gate says, without the tables.
    fn promote(&self, more: &[&str]) -> String {
        let seen = self.run(&[&["promote", "p1", "--no-types", "--no-render"], more].concat());
        let at = seen.find("\nPHASE after").map_or(0, |at| at + 1);
        seen[at..].to_owned()
    }
}

fn answers(evaluation: &mut Evaluation, passes: impl Fn(usize) -> bool) {
    for (number, answer) in evaluation.answers.iter_mut().enumerate() {
        let passes = passes(number);
        let problem = Problem {
            layer: "rules".to_owned(),
            rule: "component-return-annotation".to_owned(),
            message: "it does not".to_owned(),
            line: 1,
            hint: None,
        };
        *answer = Answer {
            first_try_passed: passes,
            passed_with_fixes: passes,
            problems: if passes { Vec::new() } else { vec![problem] },
            ..answer.clone()
        };
    }
}

fn trained(scratch: &Scratch, dataset: Option<String>) -> String {
    let phases = Phases::new(scratch.root());
    let begun = Phase {
        format: 0,
        id: String::new(),
        parent: None,
        foreign_adapter: None,
        base: Base { name: "smollm2-135m".to_owned(), sha256: "0123456789abcdef0123".to_owned() },
        adapter: None,
        identity: None,
        dataset,
        trainer: "local".to_owned(),
        hyper_parameters: serde_json::Value::Null,
        seed: 0,
        machine: Default::default(),
        started: "2026-11-16T00:00:00Z".to_owned(),
        ended: None,
        curves: Vec::new(),
        evaluations: Vec::new(),
        refusals: Vec::new(),
        state: PhaseState::Training,
    };
    let mut phase = phases.begin(begun).unwrap();
    let folder = phases.adapter_folder(&phase.id);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("adapters.safetensors"), "weights").unwrap();
    phase.adapter = Some(hash_adapter(&folder).unwrap());
    phase.identity = Some(IDENTITY.to_owned());
    phase.state = PhaseState::Trained;
    phases.save(&phase).unwrap();
    phase.id
}

fn example(request: &str) -> Example {
    Example {
        id: request.replace(' ', "-"),
        example_type: ExampleType::Positive,
        artifact: Some("component".to_owned()),
        rules: Vec::new(),
        tools: Vec::new(),
        context: None,
        window: Vec::new(),
        request: request.to_owned(),
        chosen: Some("x = 1\n".to_owned()),
        calls: Vec::new(),
        rejected: None,
        problems: Vec::new(),
        path: None,
        weight: Weight { base: 1.0, outcome: 1.0, balance: 1.0 },
        origin: Origin::default(),
    }
}

#[test]
fn a_phase_that_wins_is_promoted_and_can_be_rolled_back() {
    let trained = Trained::new(Some(&LEARNED), IDENTITY, |number| number % 10 != 1);
    insta::assert_snapshot!(trained.promote(&["--dry-run"]), @"
    PHASE after smollm2-135m: +64.6 points [50.0, 77.1]
    it would be promoted: it wins +64.6 points [50, 77.1] on 48 prompts
    exit 0
    ");
    insta::assert_snapshot!(trained.run(&["promote", "p1", "--no-types", "--no-render"]), @"
    cards 48 prompts, 1 seed, judged by syntax, rules

                                    first try   likely    with fixes   likely      mended  likely  retries  tokens  s/answer
    PHASE                    90 % (43/48)  78–95 %  90 % (43/48)  78–95 %   0 % (0/5)  0–43 %     0.00       0       0.0
    smollm2-135m                 25 % (12/48)  15–39 %  25 % (12/48)  15–39 %  0 % (0/36)  0–10 %     0.00       0       0.0
    smollm2-135m with the skill  25 % (12/48)  15–39 %  25 % (12/48)  15–39 %  0 % (0/36)  0–10 %     0.00       0       0.0

    PHASE        first try   likely    with fixes   likely     mended  likely
    component     88 % (21/24)  69–96 %  88 % (21/24)  69–96 %  0 % (0/3)  0–56 %
    service       92 % (22/24)  74–98 %  92 % (22/24)  74–98 %  0 % (0/2)  0–66 %
    seen-pattern  90 % (43/48)  78–95 %  90 % (43/48)  78–95 %  0 % (0/5)  0–43 %

    broken                           answers  likely
    component-return-annotation  10 % (5/48)  5–22 %

    PHASE after smollm2-135m: +64.6 points [50.0, 77.1]
    promoted: it wins +64.6 points [50, 77.1] on 48 prompts
    exit 0
    ");
    insta::assert_snapshot!(trained.run(&["promote", "p1", "--no-types", "--no-render"]), @"
    ! error: phase `PHASE` answers already
    ! hint: there is nothing to do
    exit 2
    ");
    insta::assert_snapshot!(trained.run(&["rollback"]), @"
    no phase answers any more: the base does
    exit 0
    ");
    insta::assert_snapshot!(trained.run(&["rollback"]), @"
    ! error: there is nothing to roll back: no phase was promoted
    ! hint: the base model answers already
    exit 2
    ");
    insta::assert_snapshot!(trained.run(&["promote", "p1", "--challenge", "0.2"]), @"
    PHASE answers 20 % of the intents
    ! `grail events stats --by phase` compares them; `grail promote --end-challenge` ends it
    exit 0
    ");
    insta::assert_snapshot!(trained.run(&["promote", "p1", "--challenge", "0.99"]), @"
    ! error: 0.99 is no share for a challenger, which has passed no gate
    ! hint: a number above 0 and at most 0.5, such as 0.1 for every tenth intent
    exit 2
    ");
    insta::assert_snapshot!(trained.run(&["promote", "--end-challenge"]), @"
    the challenge has ended
    exit 0
    ");
    insta::assert_snapshot!(trained.run(&["promote", "p9"]), @"
    ! error: there is no phase `p9`
    ! hint: there are PHASE
    exit 2
    ");
}

#[test]
fn an_overfitted_adapter_is_refused() {
    let trained = Trained::new(Some(&LEARNED), IDENTITY, |number| number == 0);
    insta::assert_snapshot!(trained.promote(&[]), @"
    PHASE after smollm2-135m: -22.9 points [-35.4, -12.5]
      refused: it is no win: -22.9 points, and as little as -35.4 are possible (mid-p 0.000)
      refused: `component` loses 20.8 points, more than 5
      refused: `service` loses 25 points, more than 5
    nothing has changed
    exit 1
    ");
    insta::assert_snapshot!(trained.promote(&["--force"]), @"
    PHASE after smollm2-135m: -22.9 points [-35.4, -12.5]
      refused: it is no win: -22.9 points, and as little as -35.4 are possible (mid-p 0.000)
      refused: `component` loses 20.8 points, more than 5
      refused: `service` loses 25 points, more than 5
    promoted by force, which is recorded
    exit 0
    ");
    let current = trained.scratch.read(".grail/phases/current.json");
    assert!(current.contains("\"forced\": true") && current.contains("it is no win"), "{current}");
}

#[test]
fn a_random_adapter_is_refused() {
    let trained = Trained::new(Some(&LEARNED), IDENTITY, |_| false);
    insta::assert_snapshot!(trained.promote(&[]), @"
    PHASE after smollm2-135m: -25.0 points [-37.5, -12.5]
      refused: it is no win: -25 points, and as little as -37.5 are possible (mid-p 0.000)
      refused: `component` loses 25 points, more than 5
      refused: `service` loses 25 points, more than 5
    nothing has changed
    exit 1
    ");
}

#[test]
fn a_phase_of_unknown_lineage_is_refused_whatever_its_score() {
    let trained = Trained::new(None, IDENTITY, |_| true);
    insta::assert_snapshot!(trained.promote(&[]), @"
    PHASE after smollm2-135m: +75.0 points [62.5, 87.5]
      refused: nobody knows what it learned: it names no dataset
    nothing has changed
    exit 1
    ");
}

#[test]
fn a_phase_that_has_seen_the_suite_is_refused_whatever_its_score() {
    let seen = ["a lamp badge component with colour", "a user card component with title and price"];
    let trained = Trained::new(Some(&seen), IDENTITY, |_| true);
    insta::assert_snapshot!(trained.promote(&[]), @"
    PHASE after smollm2-135m: +75.0 points [62.5, 87.5]
      refused: 1 of the examples it learned from are near prompts of the suite: `a-user-card-component-with-title-and-price` is 100 % like `a user card component with title and price`
    nothing has changed
    exit 1
    ");
}

#[test]
fn a_swapped_model_behind_the_same_name_is_refused() {
    let trained = Trained::new(Some(&LEARNED), "0123456789abcdef+0000000000000000", |_| true);
    insta::assert_snapshot!(trained.promote(&[]), @"
    PHASE after smollm2-135m: +75.0 points [62.5, 87.5]
      refused: `0123456789abcdef+0000000000000000` answered, and the phase is `0123456789abcdef+fedcba9876543210`
    nothing has changed
    exit 1
    ");
}

#[test]
fn an_adapter_that_changed_after_training_is_not_even_asked() {
    let trained = Trained::new(Some(&LEARNED), IDENTITY, |_| true);
    let file = format!(".grail/phases/{}/adapter/adapters.safetensors", trained.phase);
    fs::write(trained.scratch.path(&file), "others").unwrap();
    insta::assert_snapshot!(trained.promote(&[]), @"
    ! error: the adapter of phase `PHASE` is not what it was
    ! hint: its files changed after training; train again
    exit 2
    ");
}

#[test]
fn learning_waits_for_enough_that_is_new() {
    let scratch = project(4);
    insta::assert_snapshot!(scratch.run(&["learn", "--dry-run"]), @"
    ! error: there is nothing to learn from yet
    ! hint: `grail generate` and the tools of `grail mcp` leave events; `grail dataset import --skills` gives a beginning
    exit 2
    ");
    scratch.run(&["dataset", "import", "--skills"]);
    let seen = |arguments: &[&str]| {
        let seen = mask(&scratch.run(arguments));
        regex::Regex::new(r"\d+ examples to train with, \d+|took \d+ s")
            .unwrap()
            .replace_all(&seen, "N")
            .into_owned()
    };
    insta::assert_snapshot!(seen(&["learn", "--dry-run"]), @"
    HASH N of them new
    a phase would be trained on it, and weighed
    ! build N: dataset HASH, which is kept although nothing else is done
    exit 0
    ");
    insta::assert_snapshot!(seen(&["learn", "--new-examples", "100000"]), @"
    HASH N of them new
    nothing was trained: 100000 examples would have to be new
    ! build N: dataset HASH
    exit 0
    ");
}

#[test]
fn only_one_turn_of_the_wheel_goes_on_at_a_time() {
    let scratch = project(4);
    fs::create_dir_all(scratch.path(".grail")).unwrap();
    let file = fs::File::create(scratch.path(".grail/learn.lock")).unwrap();
    file.lock().unwrap();
    insta::assert_snapshot!(scratch.run(&["learn", "--dry-run"]), @"
    ! error: another `grail learn` is at work in this project
    ! hint: wait for it; what it does is kept
    exit 2
    ");
}

#[test]
fn improvements_are_told_with_what_they_gain_and_cost() {
    let scratch = project(6);
    insta::assert_snapshot!(scratch.run(&["improve", "template", "--no-types", "--no-render"]), @"
    template
      nothing fails

    1. training: train a phase on what the project has taught
       `grail improve --train` trains one and weighs it as `grail promote` does; how much there is to learn from is known after `grail dataset build`, how long it takes is not known yet, minutes to hours
    exit 0
    ");
}

#[test]
fn a_training_that_comes_to_nothing_is_told_with_what_it_cost() {
    let scratch = project(6);
    fs::write(scratch.path("grail.toml"), format!("{SETTINGS}model = \"local:nowhere\"\n")).unwrap();
    scratch.run(&["dataset", "import", "--skills"]);
    let seen = scratch.run(&["improve", "template", "--train", "--no-types", "--no-render"]);
    let cost =
        regex::Regex::new(r"\n   cost 0 answers, 0 tokens, \d+\.\d s\n   nothing came of it: ").unwrap();
    assert!(cost.is_match(&seen) && seen.ends_with("exit 0\n"), "{seen}");
    // What was built is known from then on.
    let told = scratch.run(&["improve", "template", "--no-types", "--no-render"]);
    let known = regex::Regex::new(r"; (\d+) of (\d+) examples are new, how long it takes").unwrap();
    let counts = known.captures(&told).unwrap_or_else(|| panic!("{told}"));
    assert_eq!(counts[1], counts[2]);
}

//! Finding the skill that does what is asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use grail_rules::Origin;
use grail_skills::search::{
    Embedder, Half, SAME, SearchIndex, Update, WordEmbedder, calibrate, evaluate, fitted_for_words,
};
use grail_skills::{Catalogue, Limits, Scopes, Skill, SkillError};

fn skill(name: &str, description: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        origin: Origin::Project,
        folder: PathBuf::from(format!(".agents/skills/{name}")),
    }
}

fn office() -> Vec<Skill> {
    vec![
        skill(
            "send-email",
            "Send an email to one or more recipients, with a subject, a body and attachments.",
        ),
        skill(
            "email-validator",
            "Check whether an email address is well formed and whether its domain accepts mail.",
        ),
        skill("csv-to-json", "Convert CSV files to JSON, one object per row."),
        skill("extract-archive", "Unpack zip and tar archives into a folder."),
        skill("weather", "Look up the weather forecast for a place."),
    ]
}

fn index(skills: &[Skill]) -> SearchIndex {
    let mut index = SearchIndex::open(None);
    index.update(skills).unwrap();
    index
}

fn names(index: &SearchIndex, query: &str) -> Vec<String> {
    index.search(query, 10).unwrap().into_iter().map(|hit| hit.skill.name).collect()
}

fn best(index: &SearchIndex, query: &str) -> (String, f32) {
    let hit = index.search(query, 1).unwrap().remove(0);
    (hit.skill.name, hit.score)
}

#[test]
fn the_same_thing_in_other_words_is_found() {
    let index = index(&office());
    assert_eq!(best(&index, "send an email").0, "send-email");
    assert!(best(&index, "send an email").1 >= SAME);
    assert_eq!(best(&index, "mail a message to somebody").0, "send-email");
    assert_eq!(best(&index, "is this e-mail address valid?").0, "email-validator");
    assert_eq!(best(&index, "do I need an umbrella tomorrow").0, "weather");
}

#[test]
fn a_near_miss_is_not_the_same_thing() {
    let index = index(&office());
    for query in ["delete an email", "convert json to csv", "zip a folder", "read my mail"] {
        let (name, score) = best(&index, query);
        assert!(score < SAME, "{query}: {name} {score}");
    }
}

#[test]
fn misspelt_words_are_understood() {
    let index = index(&office());
    assert_eq!(best(&index, "snd an emial").0, "send-email");
    assert_eq!(best(&index, "wheather forcast").0, "weather");
}

#[test]
fn a_hit_says_why() {
    let index = index(&office());
    let hit = index.search("zip files into an archive", 1).unwrap().remove(0);
    insta::assert_snapshot!(hit.why, @"has `zip`, `archive`; `file` is near `archive`");
}

#[test]
fn a_score_depends_on_the_query_and_the_skill_alone() {
    let office = office();
    let alone = index(&office[..1]).search("write to a customer", 1).unwrap().remove(0);
    let among = index(&office).search("write to a customer", 5).unwrap();
    let among = among.into_iter().find(|hit| hit.skill.name == "send-email").unwrap();
    assert_eq!(alone, among);
}

#[test]
fn what_a_search_returns_is_between_0_and_1_and_sorted() {
    let index = index(&office());
    for query in ["send", "json", "a", "the of and", "send send send send", "zip unzip zip unzip"] {
        let hits = index.search(query, 10).unwrap();
        assert_eq!(hits.len(), 5);
        assert!(
            hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score) && (0.0..=1.0).contains(&hit.lexical))
        );
        assert!(hits.is_sorted_by(|left, right| left.score >= right.score));
    }
    assert_eq!(index.search("send", 2).unwrap().len(), 2);
    assert_eq!(index.search("send", 0).unwrap().len(), 0);
}

// Figures.

#[test]
fn scores_do_not_get_worse_on_pairs_that_nothing_was_fitted_on() {
    let report = evaluate(&WordEmbedder, &fitted_for_words(), Half::HeldOut).unwrap();
    assert!(report.precision() >= 0.93, "{report}");
    assert!(report.recall() >= 0.086, "{report}");
    assert!(report.first() >= 0.79, "{report}");
    assert!(report.strangers_found == 0, "{report}");
}

#[test]
fn the_coefficients_are_those_that_fitting_gives() {
    assert_eq!(calibrate(&WordEmbedder).unwrap().rounded(), fitted_for_words());
}

#[test]
fn built_in_skills_are_found_by_plain_sentences() {
    let scopes = Scopes { project: None, home: None, state: None, limits: Limits::default() };
    let skills: Vec<Skill> =
        Catalogue::discover(&scopes).entries.into_iter().map(|entry| entry.skill).collect();
    let index = index(&skills);
    let questions = [
        ("write a test for the cart", "pytest-tests"),
        ("my test is flaky", "pytest-tests"),
        ("add a fixture to conftest", "pytest-tests"),
        ("run the code blocks in our documentation", "pytest-tests"),
        ("add a header to every response", "middleware"),
        ("requests hang since yesterday", "middleware"),
        ("log the time that each request takes", "middleware"),
        ("register a factory for a service", "svcs-services"),
        ("ServiceNotFoundError when I get the clock", "svcs-services"),
        ("make a new service class", "svcs-services"),
        ("add a new page with its own URL", "routes-and-wiring"),
        ("my page is not found", "routes-and-wiring"),
        ("wire the application at start", "routes-and-wiring"),
        ("write a component that shows a card in HTML", "tdom-components"),
        ("escape user input in markup", "tdom-components"),
        ("build HTML with t-strings", "tdom-components"),
        ("what should the name of a view end in", "view-conventions"),
        ("write a view that renders a page", "view-conventions"),
        ("make a tool from a python script that agents can call", "python-skill"),
        ("the handshake of my skill fails", "python-skill"),
        ("write a manifest.toml", "python-skill"),
    ];
    let wrong: Vec<String> = questions
        .into_iter()
        .filter(|(query, expected)| best(&index, query).0 != *expected)
        .map(|(query, expected)| format!("{query}: {:?} instead of {expected}", best(&index, query)))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());

    for nonsense in [
        "colourless green ideas sleep",
        "xyzzy plugh",
        "asdf jkl qwertz",
        "bake a chocolate cake",
        "42",
        "lorem ipsum dolor",
    ] {
        let (name, score) = best(&index, nonsense);
        assert!(score < 0.5, "{nonsense}: {name} {score}");
    }
}

// Bad input.

#[test]
fn a_query_without_a_word_is_an_error() {
    let index = index(&office());
    for query in ["", "   ", "\n\t", "?!…—", "🎉🎉", "\u{0}\u{7}\u{1b}[31m".trim_end_matches("[31m")]
    {
        let error = index.search(query, 5).unwrap_err();
        assert!(matches!(error, SkillError::EmptyQuery { .. }), "{query:?}: {error}");
    }
    let long = "!".repeat(1 << 20);
    assert_eq!(
        index.search(&long, 5).unwrap_err().to_string().len(),
        "there is nothing to search for in ``".len() + 40
    );
}

#[test]
fn a_query_of_a_megabyte_is_cut() {
    let index = index(&office());
    assert_eq!(names(&index, &"send an email ".repeat(80_000))[0], "send-email");
    assert_eq!(index.search(&"x".repeat(1 << 20), 5).unwrap().len(), 5);
}

#[test]
fn other_scripts_and_control_characters_are_searched_as_they_are() {
    let mut skills = office();
    skills.push(skill("tenki", "天気予報を調べる"));
    skills.push(skill("escape", "Ring the \u{7} bell\u{1b}[31m in red"));
    let index = index(&skills);
    assert_eq!(best(&index, "天気").0, "tenki");
    assert_eq!(best(&index, "ring\u{0}the\u{1b}bell").0, "escape");
    assert_eq!(best(&index, "send an email 📧").0, "send-email");
}

#[test]
fn a_skill_that_is_given_twice_is_found_once_and_two_of_one_name_both() {
    let mut skills = office();
    skills.push(skills[0].clone());
    let mut other = skills[0].clone();
    other.folder = PathBuf::from("elsewhere/send-email");
    skills.push(other);
    let index = index(&skills);
    assert_eq!(index.len(), 6);
    let found: Vec<PathBuf> =
        index.search("send an email", 2).unwrap().into_iter().map(|hit| hit.skill.folder).collect();
    assert_eq!(found, [Path::new(".agents/skills/send-email"), Path::new("elsewhere/send-email")]);
}

#[test]
fn a_skill_that_says_nothing_is_no_problem() {
    let index = index(&[skill("x", ""), skill("", "???"), skill("the", "of the and")]);
    assert_eq!(index.search("send an email", 5).unwrap().len(), 3);
    assert!(index.search("send an email", 1).unwrap()[0].score < 0.5);
}

#[test]
fn an_empty_index_finds_nothing() {
    assert_eq!(SearchIndex::open(None).search("send an email", 5).unwrap(), []);
    assert_eq!(index(&[]).search("send an email", 5).unwrap(), []);
}

// Embedders.

/// Says what it is told to say.
struct Scripted {
    dimensions: usize,
    vector: Vec<f32>,
    surplus: usize,
    asked: AtomicUsize,
}

impl Scripted {
    fn new(dimensions: usize, vector: Vec<f32>) -> Self {
        Self { dimensions, vector, surplus: 0, asked: AtomicUsize::new(0) }
    }
}

impl Embedder for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, SkillError> {
        self.asked.fetch_add(texts.len(), Ordering::Relaxed);
        Ok(vec![self.vector.clone(); texts.len() + self.surplus])
    }
}

fn refusal(embedder: Scripted) -> String {
    let mut index = SearchIndex::open_with(None, Arc::new(embedder));
    index.update(&office()).unwrap_err().to_string()
}

#[test]
fn vectors_that_are_none_are_refused() {
    assert_eq!(
        refusal(Scripted::new(3, vec![1.0, 0.0])),
        "the embedder `scripted` returned a vector of 2 numbers instead of 3"
    );
    assert_eq!(
        refusal(Scripted::new(2, vec![f32::NAN, 1.0])),
        "the embedder `scripted` returned a vector with something in it that is no number"
    );
    assert_eq!(
        refusal(Scripted::new(2, vec![f32::INFINITY, 1.0])),
        "the embedder `scripted` returned a vector with something in it that is no number"
    );
    for length in [0.0, 1e-30, f32::MAX] {
        assert_eq!(
            refusal(Scripted::new(2, vec![0.0, length])),
            "the embedder `scripted` returned a vector without a direction: its length is 0 or beyond measure"
        );
    }
    assert_eq!(
        refusal(Scripted::new(0, Vec::new())),
        "the embedder `scripted` returned a vector without a direction: its length is 0 or beyond measure"
    );
}

#[test]
fn too_many_vectors_are_refused() {
    let embedder = Scripted { surplus: 1, ..Scripted::new(2, vec![1.0, 0.0]) };
    let message = refusal(embedder);
    assert!(
        message.starts_with("the embedder `scripted` returned ") && message.contains(" vectors for "),
        "{message}"
    );
}

#[test]
fn a_refused_update_leaves_the_index_as_it_was() {
    let embedder = Arc::new(Scripted::new(2, vec![1.0, 0.0]));
    let mut index = SearchIndex::open_with(None, embedder);
    index.update(&office()[..2]).unwrap();
    // Nothing is embedded for skills that are known, so this succeeds with any embedder.
    assert_eq!(index.update(&office()[..1]).unwrap(), Update { embedded: 0, kept: 1, forgotten: 1 });
    assert_eq!(index.len(), 1);
}

// The index on disk.

fn open(root: &Path) -> SearchIndex {
    SearchIndex::open(Some(root))
}

fn cache_file(root: &Path) -> PathBuf {
    let folder = fs::read_dir(root.join(".grail/cache/skills")).unwrap();
    folder.map(|entry| entry.unwrap().path()).find(|path| path.extension().is_some()).unwrap()
}

#[test]
fn only_what_changed_is_embedded_anew() {
    let root = tempfile::tempdir().unwrap();
    let mut skills = office();
    let mut first = open(root.path());
    assert_eq!(first.update(&skills).unwrap(), Update { embedded: 5, kept: 0, forgotten: 0 });
    first.save(root.path());

    skills[0].description.push_str(" Use when somebody has to be written to.");
    skills.pop();
    let mut second = open(root.path());
    assert_eq!(second.update(&skills).unwrap(), Update { embedded: 1, kept: 3, forgotten: 2 });
    second.save(root.path());

    let mut third = open(root.path());
    assert_eq!(third.update(&skills).unwrap(), Update { embedded: 0, kept: 4, forgotten: 0 });
    assert_eq!(third.search("send an email", 3).unwrap(), second.search("send an email", 3).unwrap());
    assert_eq!(fs::read_to_string(root.path().join(".grail/cache/skills/.gitignore")).unwrap(), "*\n");
}

#[test]
fn an_index_of_another_embedder_is_made_anew() {
    let root = tempfile::tempdir().unwrap();
    let mut index = open(root.path());
    index.update(&office()).unwrap();
    index.save(root.path());

    let embedder = Arc::new(Scripted::new(2, vec![1.0, 0.5]));
    let mut other = SearchIndex::open_with(Some(root.path()), embedder.clone());
    assert_eq!(other.update(&office()).unwrap(), Update { embedded: 5, kept: 0, forgotten: 0 });
    other.save(root.path());
    let asked = embedder.asked.load(Ordering::Relaxed);

    // Remembered with its coefficients: nothing is asked a second time.
    let mut again = SearchIndex::open_with(Some(root.path()), embedder.clone());
    assert_eq!(again.update(&office()).unwrap().kept, 5);
    assert_eq!(embedder.asked.load(Ordering::Relaxed), asked);

    // The same name with another size is another embedder.
    let mut wider =
        SearchIndex::open_with(Some(root.path()), Arc::new(Scripted::new(3, vec![1.0, 0.5, 0.1])));
    assert_eq!(wider.update(&office()).unwrap().embedded, 5);
}

#[test]
fn a_broken_index_file_is_as_good_as_none() {
    let root = tempfile::tempdir().unwrap();
    let mut index = open(root.path());
    index.update(&office()).unwrap();
    index.save(root.path());
    let path = cache_file(root.path());
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[100] ^= 1;
    let broken: [&[u8]; 5] = [b"", b"GRAILSX1", &whole[..whole.len() / 2], &flipped, &[0xff; 4096]];
    for bytes in broken {
        fs::write(&path, bytes).unwrap();
        assert_eq!(open(root.path()).update(&office()).unwrap().embedded, 5);
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(open(root.path()).update(&office()).unwrap().kept, 5);
}

#[cfg(unix)]
#[test]
fn an_index_folder_that_leads_elsewhere_is_left_alone() {
    let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(root.path().join(".grail")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), root.path().join(".grail/cache")).unwrap();
    let mut index = open(root.path());
    index.update(&office()).unwrap();
    index.save(root.path());
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    assert_eq!(names(&index, "send an email").len(), 5);
}

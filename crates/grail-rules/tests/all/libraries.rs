//! Which versions of a library a project uses, by the files it has.

use std::str::FromStr;

use grail_project::Project;
use grail_rules::Usage;
use grail_rules::libraries::{Applicability, ProjectLibraries, Target, normalize_name};
use pep440_rs::VersionSpecifiers;

use crate::tool_project::ToolProject;

/// `VERSION (SOURCE)` of a library in a project with these files.
fn known(files: &[(&str, &str)], library: &str) -> Option<String> {
    let libraries = ProjectLibraries::read(ToolProject::new(files).root(), &[]);
    libraries.get(library).map(|found| format!("{} ({})", found.constraint, found.source))
}

#[test]
fn every_place_that_names_versions_is_read() {
    let cases: &[(&str, &str, &str)] = &[
        (
            ".venv/lib/python3.14/site-packages/tdom-0.1.20.dist-info/METADATA",
            "",
            "0.1.20 (the project's .venv)",
        ),
        (".venv/Lib/site-packages/TDom-0.1.20.dist-info/METADATA", "", "0.1.20 (the project's .venv)"),
        (
            ".venv/lib/python3.14/site-packages/odd.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: tdom\nVersion: 0.1.9\n\nVersion: 7\n",
            "0.1.9 (the project's .venv)",
        ),
        ("uv.lock", "version = 1\n[[package]]\nname = \"tdom\"\nversion = \"0.1.20\"\n", "0.1.20 (uv.lock)"),
        ("poetry.lock", "[[package]]\nname = \"tdom\"\nversion = \"0.1.20\"\n", "0.1.20 (poetry.lock)"),
        ("pdm.lock", "[[package]]\nname = \"tdom\"\nversion = \"0.1.20\"\n", "0.1.20 (pdm.lock)"),
        ("pylock.toml", "[[packages]]\nname = \"tdom\"\nversion = \"0.1.20\"\n", "0.1.20 (pylock.toml)"),
        (
            "uv.lock",
            "[[package]]\nname = \"tdom\"\nversion = \"0.1.9\"\n[[package]]\nname = \"tdom\"\nversion = \"0.1.10\"\n",
            "0.1.10 (uv.lock)",
        ),
        ("requirements.txt", "# ours\ntdom==0.1.20 \\\n    --hash=sha256:00\n", "0.1.20 (requirements.txt)"),
        (
            "requirements-dev.txt",
            "-r requirements.txt\nTdom[x, y] >=0.1.5, <0.2 ; python_version > '3' # why\n",
            ">=0.1.5, <0.2 (requirements-dev.txt)",
        ),
        ("requirements/base.txt", "tdom~=0.1.5\n", "~=0.1.5 (requirements/base.txt)"),
        (
            "requirements.txt",
            "tdom @ git+https://example.org/tdom.git@main\n",
            "any version (requirements.txt)",
        ),
        ("pyproject.toml", "[project]\ndependencies = [\"tdom>=0.1.15\"]\n", ">=0.1.15 (pyproject.toml)"),
        ("pyproject.toml", "[project]\ndependencies = [\"tdom (==0.1.15)\"]\n", "0.1.15 (pyproject.toml)"),
        ("pyproject.toml", "[project]\ndependencies = [\"tdom\"]\n", "any version (pyproject.toml)"),
        (
            "pyproject.toml",
            "[project.optional-dependencies]\nweb = [\"tdom>=0.1.15\"]\n",
            ">=0.1.15 (pyproject.toml)",
        ),
        (
            "pyproject.toml",
            "[project]\ndependencies = [\"tdom>=0.1\"]\n[dependency-groups]\ndev = [{include-group = \"web\"}, \"tdom<0.2\"]\n",
            ">=0.1, <0.2 (pyproject.toml)",
        ),
        ("pyproject.toml", "[tool.uv]\ndev-dependencies = [\"tdom>=0.1.15\"]\n", ">=0.1.15 (pyproject.toml)"),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\npython = \"^3.14\"\ntdom = \"^0.1.15\"\n",
            ">=0.1.15, <0.2 (pyproject.toml)",
        ),
        ("pyproject.toml", "[tool.poetry.dependencies]\ntdom = \"^1.2.3\"\n", ">=1.2.3, <2 (pyproject.toml)"),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\ntdom = \"~1.2.3\"\n",
            ">=1.2.3, <1.3 (pyproject.toml)",
        ),
        ("pyproject.toml", "[tool.poetry.dependencies]\ntdom = \"0.1.*\"\n", "==0.1.* (pyproject.toml)"),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\ntdom = {version = \"0.1.9\", extras = [\"x\"]}\n",
            "0.1.9 (pyproject.toml)",
        ),
        (
            "pyproject.toml",
            "[tool.poetry.group.dev.dependencies]\ntdom = \"*\"\n",
            "any version (pyproject.toml)",
        ),
        ("pyproject.toml", "[tool.pdm.dev-dependencies]\ndev = [\"tdom>1\"]\n", ">1 (pyproject.toml)"),
    ];
    for (path, text, expected) in cases {
        assert_eq!(known(&[(path, text)], "tdom").as_deref(), Some(*expected), "{path}: {text}");
    }
}

#[test]
fn the_most_exact_place_decides() {
    let files = [
        (".venv/lib/python3.14/site-packages/tdom-0.1.20.dist-info/METADATA", ""),
        (
            "uv.lock",
            "[[package]]\nname = \"tdom\"\nversion = \"0.1.19\"\n[[package]]\nname = \"svcs\"\nversion = \"26.1.0\"\n",
        ),
        ("requirements.txt", "tdom==0.1.18\nsvcs==25\nstarlette==1.0\n"),
        ("pyproject.toml", "[project]\ndependencies = [\"tdom\", \"svcs\", \"starlette\", \"flask>3\"]\n"),
    ];
    let project = ToolProject::new(&files);
    let targets = ["svcs-di=0.3.0".parse::<Target>().unwrap(), Target::from_str("Flask == 2").unwrap()];
    let libraries = ProjectLibraries::read(project.root(), &targets);
    let shown: Vec<String> = libraries
        .iter()
        .map(|(name, found)| format!("{name} {} ({})", found.constraint, found.source))
        .collect();
    assert_eq!(
        shown,
        [
            "flask 2 (--target)",
            "starlette 1.0 (requirements.txt)",
            "svcs 26.1.0 (uv.lock)",
            "svcs-di 0.3.0 (--target)",
            "tdom 0.1.20 (the project's .venv)",
        ]
    );
}

#[test]
fn the_settings_speak_where_other_files_are_silent() {
    let with = |settings: &str| {
        let project = ToolProject::new(&[("grail.toml", settings), ("requirements.txt", "svcs==26.2\n")]);
        let libraries = ProjectLibraries::of(&Project::discover(project.root()).unwrap(), &[]);
        libraries.map_err(|problem| problem.message).map(|libraries| {
            ["svcs", "tdom"].map(|name| {
                libraries.get(name).map(|found| format!("{} ({})", found.constraint, found.source))
            })
        })
    };
    assert_eq!(
        with("[check.target]\nsvcs = \"1\"\ntdom = \"0.1.9\"\n").unwrap(),
        [Some("26.2 (requirements.txt)".to_owned()), Some("0.1.9 (grail.toml)".to_owned())]
    );
    assert_eq!(
        with("[check.target]\ntdom = \"old\"\n").unwrap_err(),
        "`tdom=old` is not a library with a version: the version is no Python version"
    );
}

#[test]
fn one_version_stands_for_a_range() {
    let project =
        ToolProject::new(&[("requirements.txt", "tdom<0.1.15\nsvcs>=26\nflask==3.1\nbroken>2,<1\n")]);
    let mut libraries = ProjectLibraries::read(project.root(), &[]);
    libraries.add_defaults(&["flask=2".parse().unwrap(), "starlette=1".parse().unwrap()], "grail.toml");
    let version = |text: &str| Usage::Version(text.parse().unwrap());
    for (library, usage) in [
        ("tdom", version("0.1.14.999999999")),
        ("svcs", Usage::AnyVersion),
        ("Flask", version("3.1")),
        ("starlette", version("1")),
        ("broken", Usage::AnyVersion),
        ("django", Usage::Absent),
    ] {
        assert_eq!(libraries.usage(library), usage, "{library}");
    }
}

#[test]
fn what_makes_no_sense_says_nothing() {
    let cases = [
        ("uv.lock", "[[package"),
        ("uv.lock", "package = 7"),
        ("uv.lock", "package = [1, {name = 2}, {name = \"tdom\"}, {name = \"tdom\", version = \"new\"}]"),
        ("pyproject.toml", "project = \"x\"\n[tool]\npoetry = []\nuv = 3"),
        ("pyproject.toml", "[project]\ndependencies = [\"tdom>=banana\", 3, [], \"\"]"),
        ("requirements.txt", "==\n@\n[x]\n-e .\nhttps://example.org/tdom.whl\ntdom >= \ntdom[\n\\"),
        (".venv/lib/python3.14/site-packages/tdom-new.dist-info/METADATA", "Name: tdom"),
    ];
    for (path, text) in cases {
        assert_eq!(known(&[(path, text)], "tdom"), None, "{path}: {text}");
    }
    let deep = format!("a = {}", "[".repeat(100_000));
    assert_eq!(known(&[("pyproject.toml", &deep)], "tdom"), None);
}

#[test]
fn targets_are_written_with_an_equals_sign() {
    for (text, expected) in [
        ("tdom", "`tdom` is not a library with a version: write it as `tdom=0.1.20`"),
        ("tdom=new", "`tdom=new` is not a library with a version: the version is no Python version"),
        ("=1", "`=1` is not a library with a version: the name is no name of a Python package"),
    ] {
        assert_eq!(text.parse::<Target>().unwrap_err().to_string(), expected);
    }
}

#[test]
fn names_are_normalised() {
    for (name, normal) in [("Svcs_DI", "svcs-di"), ("a.-_b", "a-b"), ("tdom", "tdom")] {
        assert_eq!(normalize_name(name), normal);
    }
}

#[test]
fn a_range_stands_for_the_newest_version_it_allows() {
    use Applicability::{No, Unknown, Yes};
    let old = "<0.1.15";
    let new = ">=0.1.15";
    let cases = [
        ("==0.1.14", old, Yes),
        ("==0.1.14", new, No),
        ("==0.1.15", old, No),
        ("==0.1.15", new, Yes),
        ("==0.1.15rc1", new, No),
        ("==0.2.0+local", new, Yes),
        (">=0.1.15", old, No),
        (">=0.1.15", new, Yes),
        (">=0.1.10", old, No),
        (">=0.1.10", new, Yes),
        ("", old, No),
        ("", new, Yes),
        ("<0.1.15", old, Yes),
        ("<0.1.15", new, No),
        ("<=0.1.15", new, Yes),
        ("<0.1.10", old, Yes),
        ("<0.2", new, Yes),
        ("~=0.1.10", new, Yes),
        ("~=0.1.10", old, No),
        ("~=0.1.10,!=0.1.15", new, Yes),
        ("==0.1.*", new, Yes),
        ("==0.0.*", old, Yes),
        (">0.1.14,<0.1.15", old, Yes),
        (">0.1.14,<0.1.15", new, No),
        (">=1", ">=0.1.15,<1", No),
        (">=0.5", ">=0.1.15,<1", No),
        (">=0.5,<0.6", ">=0.1.15,<1", Yes),
        ("!=0.1.15", "==0.1.15", No),
        (">2,<1", new, Unknown),
        ("<0", old, Unknown),
        ("==0.1.14", "", Yes),
        (">=1!1", ">=0.1.15", Yes),
    ];
    for (range, wanted, expected) in cases {
        let line = format!("tdom {range}");
        let project = ToolProject::new(&[("requirements.txt", line.as_str())]);
        let libraries = ProjectLibraries::read(project.root(), &[]);
        let wanted_range = VersionSpecifiers::from_str(wanted).unwrap();
        assert_eq!(libraries.applies("tdom", &wanted_range), expected, "{range} for {wanted}");
        assert_eq!(libraries.applies("svcs", &wanted_range), Unknown);
    }
}

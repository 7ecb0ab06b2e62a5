//! What a test is about: a function or class that somebody found in the project.

use serde::{Deserialize, Serialize};

use super::field::{Field, FieldView, read_type};
use super::name::Name;
use super::words::{Token, tokens};

/// A function or class under test, as it is passed to the model in `<subject>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// `services.order_service`.
    pub module: String,
    /// `OrderService`.
    pub name: String,
    pub is_class: bool,
    pub is_async: bool,
    /// What it is called with, `self` apart.
    pub parameters: Vec<SubjectParameter>,
    /// As written; empty if it is not.
    pub returns: String,
    /// The methods of a class that anybody may call, in the order of the source.
    pub methods: Vec<SubjectMethod>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubjectParameter {
    pub name: String,
    /// As written; empty if there is none.
    pub annotation: String,
    pub has_default: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubjectMethod {
    pub name: String,
    pub is_async: bool,
    pub parameters: Vec<SubjectParameter>,
    pub returns: String,
    /// Attributes of what it returns, where that is a class whose fields are known.
    pub gives: Vec<String>,
}

/// A subject as a template sees it. Parameters that need not be given are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SubjectView {
    module: String,
    name: String,
    snake: String,
    is_class: bool,
    /// It gives a template, and is used as `<{Name} …>`.
    is_component: bool,
    /// It gives a page as text.
    is_view: bool,
    /// All values that it needs are known how to make.
    is_callable: bool,
    parameters: Vec<FieldView>,
    returns: String,
    /// The first method that can be called.
    method: Option<MethodView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct MethodView {
    name: String,
    parameters: Vec<FieldView>,
    returns: String,
    /// Parameters that come back as attributes of the result.
    gives: Vec<FieldView>,
}

const MAX_PARAMETERS: usize = 30;

impl Subject {
    /// Whether its names can stand in Python; one that is not so is no subject.
    pub(crate) fn is_usable(&self) -> bool {
        let is_identifier = |text: &str| {
            text.chars().next().is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c))
                && text.chars().all(unicode_ident::is_xid_continue)
        };
        let parameters = self.methods.iter().flat_map(|method| &method.parameters).chain(&self.parameters);
        self.module.split('.').all(is_identifier)
            && is_identifier(&self.name)
            && self.methods.iter().all(|method| is_identifier(&method.name))
            && parameters.clone().count() <= MAX_PARAMETERS * 4
            && parameters.into_iter().all(|parameter| is_identifier(&parameter.name))
    }

    pub(crate) fn view(&self) -> SubjectView {
        let parameters = views(&self.parameters, 0);
        let last =
            |annotation: &str| annotation.rsplit('.').next().unwrap_or_default().trim_matches('"').to_owned();
        let method =
            self.methods.iter().filter(|method| !method.is_async && !method.name.starts_with('_')).find_map(
                |method| {
                    let parameters = views(&method.parameters, self.parameters.len())?;
                    let is_given = |field: &&FieldView| method.gives.contains(&field.name);
                    let gives = parameters.iter().filter(is_given).cloned().collect();
                    Some(MethodView {
                        name: method.name.clone(),
                        parameters,
                        returns: plain(&method.returns),
                        gives,
                    })
                },
            );
        let is_component = last(&self.returns) == "Template"
            || self
                .methods
                .iter()
                .any(|method| method.name == "__call__" && last(&method.returns) == "Template");
        SubjectView {
            module: self.module.clone(),
            name: self.name.clone(),
            snake: Name::read(&self.name).map_or_else(|| "subject".to_owned(), |name| name.snake()),
            is_class: self.is_class,
            is_component,
            is_view: !self.is_class && self.name.ends_with("_view") && self.returns == "str",
            is_callable: parameters.is_some() && !self.is_async,
            parameters: parameters.unwrap_or_default(),
            returns: plain(&self.returns),
            method,
        }
    }
}

/// The type that an assertion can name: built in, and nothing inside brackets.
fn plain(annotation: &str) -> String {
    let name = annotation.split('[').next().unwrap_or_default().trim();
    let known = ["None", "str", "int", "float", "bool", "bytes", "list", "tuple", "dict", "set"];
    if known.contains(&name) && !annotation.contains('|') { name.to_owned() } else { String::new() }
}

/// The parameters that must be given; `None` if one has a type that no sample is known for.
fn views(parameters: &[SubjectParameter], start: usize) -> Option<Vec<FieldView>> {
    let needed = parameters.iter().filter(|parameter| !parameter.has_default).take(MAX_PARAMETERS);
    needed.enumerate().map(|(place, parameter)| view(parameter, start + place)).collect()
}

fn view(parameter: &SubjectParameter, place: usize) -> Option<FieldView> {
    let mut field = Field::read(&parameter.name)?;
    if !parameter.annotation.is_empty() {
        let words: Vec<String> = tokens(&parameter.annotation)
            .into_iter()
            .filter_map(|token| match token {
                Token::Word(word) => Some(word),
                Token::Mark(mark) => Some(mark.to_string()),
                _ => None,
            })
            .collect();
        let mut joined: Vec<&str> = Vec::new();
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            match word {
                // `datetime.date` → `date`; `...` is three marks.
                "." if words.peek() == Some(&".") => {
                    words.by_ref().take(2).for_each(drop);
                    joined.push("...");
                }
                "." => {
                    joined.pop();
                }
                word => joined.push(word),
            }
        }
        let (of, is_optional) = read_type(&joined)?;
        field.of = of;
        field.is_optional = is_optional;
    }
    // As it is written there, whatever would be better here.
    let shown = field.view(place);
    let sample_keyword = format!("{}={}", parameter.name, shown.sample);
    Some(FieldView { name: parameter.name.clone(), sample_keyword, ..shown })
}

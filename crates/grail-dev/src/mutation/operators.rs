//! The ways in which good code is made bad: drop, swap, rename, retype, unwrap.
//!
//! Operators work on the tree and know the libraries, not the rules: none of them uses a rule's patterns. Each says which harm it does, and
//! for each harm the table [`HARMS`] says which rules may be the one to object.

use grail_code::{Edit, Field, Kind, Node, Parsed, Span};

/// One way of doing harm.
pub struct Harm {
    pub name: &'static str,
    /// The skill whose examples it is done to.
    pub skill: &'static str,
    /// The rules that may be the one to find it.
    pub rules: &'static [&'static str],
    /// Every place of a file where it can be done.
    pub mutate: fn(&Parsed) -> Vec<Mutation>,
}

/// Edits that do harm, and the lines on which they do.
pub struct Mutation {
    pub edits: Vec<Edit>,
    /// Where the harm is, in the file as it was: a finding may point anywhere into it.
    pub place: Span,
}

pub const HARMS: &[Harm] = &[
    Harm {
        name: "retype a returned template as an f-string",
        skill: TDOM,
        rules: &["component-returns-template", "no-f-string-in-template", "no-f-string-in-markup"],
        mutate: template_to_f_string,
    },
    Harm {
        name: "unwrap a returned template to a plain string",
        skill: TDOM,
        rules: &["component-returns-template", "template-prefix"],
        mutate: template_to_string,
    },
    Harm {
        name: "wrap a returned template in html()",
        skill: TDOM,
        rules: &["component-returns-no-html"],
        mutate: wrap_in_html,
    },
    Harm {
        name: "drop the return annotation",
        skill: TDOM,
        rules: &["component-return-annotation"],
        mutate: drop_return_annotation,
    },
    Harm {
        name: "retype the result as str",
        skill: TDOM,
        rules: &["component-return-annotation", "component-returns-template"],
        mutate: retype_return,
    },
    Harm {
        name: "drop the annotation of children",
        skill: TDOM,
        rules: &["component-children-annotated"],
        mutate: drop_children_annotation,
    },
    Harm {
        name: "retype children as str",
        skill: TDOM,
        rules: &["component-children-type"],
        mutate: retype_children,
    },
    Harm {
        name: "make parameters positional-only",
        skill: TDOM,
        rules: &["component-no-positional"],
        mutate: positional_only,
    },
    Harm {
        name: "drop frozen from a dataclass",
        skill: TDOM,
        rules: &["component-frozen"],
        mutate: drop_frozen,
    },
    Harm {
        name: "rename __call__ of a dataclass",
        skill: TDOM,
        rules: &["component-callable"],
        mutate: rename_call,
    },
    Harm {
        name: "rename an attribute where a component is used",
        skill: TDOM,
        rules: &["component-attributes"],
        mutate: rename_attribute,
    },
    Harm {
        name: "drop the star before dependencies",
        skill: SVCS,
        rules: &["keyword-only-dependencies"],
        mutate: drop_star,
    },
    Harm {
        name: "drop kw_only from a dataclass",
        skill: SVCS,
        rules: &["keyword-only-dataclass"],
        mutate: drop_kw_only,
    },
    Harm {
        name: "drop the registration",
        skill: SVCS,
        rules: &["service-registered"],
        mutate: drop_registration,
    },
    Harm {
        name: "swap the registered type",
        skill: SVCS,
        rules: &["factory-return-type", "value-is-instance"],
        mutate: swap_registered_type,
    },
    Harm {
        name: "rename the container parameter of a factory",
        skill: SVCS,
        rules: &["factory-parameters"],
        mutate: rename_container,
    },
    Harm {
        name: "make __call__ synchronous",
        skill: MIDDLEWARE,
        rules: &["asgi-signature", "tdom-middleware-signature"],
        mutate: drop_async,
    },
    Harm {
        name: "swap receive and send",
        skill: MIDDLEWARE,
        rules: &["asgi-signature"],
        mutate: swap_channels,
    },
    Harm {
        name: "drop every call of the next application",
        skill: MIDDLEWARE,
        rules: &["asgi-answers"],
        mutate: drop_forwarding,
    },
    Harm {
        name: "drop the priority",
        skill: MIDDLEWARE,
        rules: &["middleware-priority"],
        mutate: drop_priority,
    },
    Harm {
        name: "swallow exceptions of the next application",
        skill: MIDDLEWARE,
        rules: &["no-swallowed-exceptions"],
        mutate: swallow,
    },
    Harm {
        name: "drop a parameter of __call__",
        skill: MIDDLEWARE,
        rules: &["asgi-signature", "tdom-middleware-signature"],
        mutate: drop_parameter,
    },
];

const TDOM: &str = "tdom-components";
const SVCS: &str = "svcs-services";
const MIDDLEWARE: &str = "middleware";

/// Functions whose return annotation names a template: what the examples call components.
fn components(parsed: &Parsed) -> impl Iterator<Item = Node<'_>> {
    parsed
        .nodes_of(Kind::FunctionDef)
        .filter(|function| function.child(Field::Returns).is_some_and(|returns| returns.text() == "Template"))
}

/// `return t"…"` statements of a component, not those of functions within it.
fn returned_templates(parsed: &Parsed) -> impl Iterator<Item = Node<'_>> {
    components(parsed).flat_map(|function| {
        function.descendants().filter(move |node| {
            node.kind() == Kind::TString
                && node.field() == Field::Value
                && node.parent().is_some_and(|parent| parent.kind() == Kind::Return)
                && enclosing_function(*node).is_some_and(|owner| owner.id() == function.id())
        })
    })
}

fn template_to_f_string(parsed: &Parsed) -> Vec<Mutation> {
    // Without an interpolation an f-string is only a plain string; that harm is another one.
    returned_templates(parsed)
        .filter(|template| has_interpolation(*template) && is_plain_prefix(template.text()))
        .map(|template| replace(template, format!("f{}", &template.text()[1..])))
        .collect()
}

fn template_to_string(parsed: &Parsed) -> Vec<Mutation> {
    returned_templates(parsed)
        .filter(|template| is_plain_prefix(template.text()))
        .map(|template| replace(template, template.text()[1..].to_owned()))
        .collect()
}

fn wrap_in_html(parsed: &Parsed) -> Vec<Mutation> {
    let top = import_place(parsed);
    returned_templates(parsed)
        .map(|template| Mutation {
            edits: vec![
                Edit::insert(top, "from tdom import html\n"),
                Edit::replace(template.span(), format!("html({})", template.text())),
            ],
            place: template.span(),
        })
        .collect()
}

fn drop_return_annotation(parsed: &Parsed) -> Vec<Mutation> {
    components(parsed)
        .filter_map(|function| {
            let parameters = function.child(Field::Params)?;
            let returns = function.child(Field::Returns)?;
            let span = Span::new(parameters.span().end, returns.span().end);
            Some(Mutation { edits: vec![Edit::remove(span)], place: header(function) })
        })
        .collect()
}

fn retype_return(parsed: &Parsed) -> Vec<Mutation> {
    components(parsed)
        .filter_map(|function| {
            let returns = function.child(Field::Returns)?;
            Some(Mutation { edits: vec![Edit::replace(returns.span(), "str")], place: header(function) })
        })
        .collect()
}

fn children(parsed: &Parsed) -> impl Iterator<Item = Node<'_>> {
    components(parsed)
        .filter_map(|function| function.child(Field::Params))
        .flat_map(|parameters| parameters.list(Field::Params))
        .filter(|parameter| parameter.child(Field::Name).is_some_and(|name| name.text() == "children"))
}

fn drop_children_annotation(parsed: &Parsed) -> Vec<Mutation> {
    children(parsed)
        .filter_map(|parameter| {
            let (name, annotation) = (parameter.child(Field::Name)?, parameter.child(Field::Annotation)?);
            let span = Span::new(name.span().end, annotation.span().end);
            Some(Mutation { edits: vec![Edit::remove(span)], place: parameter.span() })
        })
        .collect()
}

fn retype_children(parsed: &Parsed) -> Vec<Mutation> {
    children(parsed)
        .filter_map(|parameter| parameter.child(Field::Annotation))
        .map(|annotation| replace(annotation, "str".to_owned()))
        .collect()
}

fn positional_only(parsed: &Parsed) -> Vec<Mutation> {
    components(parsed)
        .filter_map(|function| {
            let parameters = function.child(Field::Params)?;
            let star = parameters.list(Field::Params).find(|node| node.kind() == Kind::ParamStar)?;
            // `f(*, a)` becomes `f(a, /)` only for the first one; what follows keeps its star.
            let first = parameters.list(Field::Params).skip_while(|node| node.id() != star.id()).nth(1)?;
            let rest = parameters.list(Field::Params).skip_while(|node| node.id() != first.id()).nth(1);
            let text = match rest {
                Some(_) => format!("{}, /, *", first.text()),
                None => format!("{}, /", first.text()),
            };
            let span = Span::new(star.span().start, first.span().end);
            Some(Mutation { edits: vec![Edit::replace(span, text)], place: header(function) })
        })
        .collect()
}

fn decorator_arguments<'a>(parsed: &'a Parsed, name: &'a str) -> impl Iterator<Item = Node<'a>> {
    parsed.nodes_of(Kind::Keyword).filter(move |keyword| {
        keyword.child(Field::Keyword).is_some_and(|it| it.text() == name)
            && keyword.ancestors().any(|node| node.kind() == Kind::Decorator)
    })
}

fn drop_frozen(parsed: &Parsed) -> Vec<Mutation> {
    // A dataclass that only holds data is no component.
    decorator_arguments(parsed, "frozen")
        .filter(|argument| class_of(*argument).is_some_and(has_call))
        .filter_map(drop_argument)
        .collect()
}

fn drop_kw_only(parsed: &Parsed) -> Vec<Mutation> {
    // A dataclass that only holds data is no service.
    let is_service =
        |class: Node<'_>| class.child(Field::Name).is_some_and(|name| name.text().ends_with("Service"));
    decorator_arguments(parsed, "kw_only")
        .filter(|argument| class_of(*argument).is_some_and(is_service))
        .filter_map(drop_argument)
        .collect()
}

fn rename_call(parsed: &Parsed) -> Vec<Mutation> {
    call_methods(parsed)
        .filter_map(|method| {
            let name = method.child(Field::Name)?;
            let class = class_of(method)?;
            Some(Mutation { edits: vec![Edit::replace(name.span(), "render")], place: class.span() })
        })
        .collect()
}

fn rename_attribute(parsed: &Parsed) -> Vec<Mutation> {
    // `<{Card} title=`: an interpolation right behind `<`, then text with an attribute before the next interpolation.
    let mut mutations = Vec::new();
    for interpolation in parsed.nodes_of(Kind::Interpolation) {
        let start = interpolation.span().start as usize;
        let is_tag = parsed.text()[..start].ends_with('<');
        let is_local = interpolation.child(Field::Value).is_some_and(|value| {
            value.kind() == Kind::Name
                && parsed.nodes_of(Kind::FunctionDef).any(|function| {
                    function.child(Field::Name).is_some_and(|name| name.text() == value.text())
                })
        });
        if !is_tag || !is_local {
            continue;
        }
        let end = interpolation.span().end as usize;
        let behind = &parsed.text()[end..];
        let blanks = behind.len() - behind.trim_start().len();
        let name: String = behind
            .trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '-')
            .collect();
        if name.is_empty() || !behind.trim_start()[name.len()..].starts_with('=') {
            continue;
        }
        let at = (end + blanks + name.len()) as u32;
        mutations.push(Mutation {
            edits: vec![Edit::insert(at, "x")],
            place: Span::new(interpolation.span().start, at),
        });
    }
    mutations
}

fn drop_star(parsed: &Parsed) -> Vec<Mutation> {
    parsed
        .nodes_of(Kind::ParamStar)
        .filter_map(|star| {
            let function = enclosing_function(star)?;
            let class = function.parent().filter(|parent| parent.kind() == Kind::ClassDef)?;
            let is_service = class.child(Field::Name)?.text().ends_with("Service");
            let is_init = function.child(Field::Name)?.text() == "__init__";
            if !is_service || !is_init {
                return None;
            }
            let text = star.parsed().text();
            let behind = &text[star.span().end as usize..];
            let skipped = behind.len() - behind.trim_start_matches([',', ' ', '\n']).len();
            let span = Span::new(star.span().start, star.span().end + skipped as u32);
            Some(Mutation { edits: vec![Edit::remove(span)], place: header(function) })
        })
        .collect()
}

fn registrations(parsed: &Parsed) -> impl Iterator<Item = Node<'_>> {
    parsed.nodes_of(Kind::Call).filter(|call| {
        call.child(Field::Func).is_some_and(|function| {
            function.kind() == Kind::Attribute
                && function
                    .child(Field::Attr)
                    .is_some_and(|name| matches!(name.text(), "register_factory" | "register_value"))
        })
    })
}

fn drop_registration(parsed: &Parsed) -> Vec<Mutation> {
    // Only where nothing else registers the same type.
    let types: Vec<&str> = registrations(parsed).filter_map(first_argument).map(Node::text).collect();
    registrations(parsed)
        .filter_map(|call| {
            let kind = first_argument(call)?;
            let class = parsed
                .nodes_of(Kind::ClassDef)
                .find(|class| class.child(Field::Name).is_some_and(|name| name.text() == kind.text()))?;
            let is_only = types.iter().filter(|other| **other == kind.text()).count() == 1;
            let statement = call.statement()?;
            is_only.then(|| Mutation {
                edits: vec![Edit::replace(statement.span(), "pass")],
                place: class.child(Field::Name).map_or(class.span(), Node::span),
            })
        })
        .collect()
}

fn swap_registered_type(parsed: &Parsed) -> Vec<Mutation> {
    let classes: Vec<&str> = parsed
        .nodes_of(Kind::ClassDef)
        .filter_map(|class| class.child(Field::Name))
        .map(Node::text)
        .collect();
    registrations(parsed)
        .filter_map(|call| {
            let kind = first_argument(call)?;
            if !classes.contains(&kind.text()) {
                return None;
            }
            // Another class of the file if there is one that does not stand for the first; else something that is no service at all.
            let related = |name: &str| name.contains(kind.text()) || kind.text().contains(name);
            let other = classes.iter().copied().find(|name| !related(name) && !is_abstract(parsed, name));
            let text = other.unwrap_or("int");
            Some(Mutation { edits: vec![Edit::replace(kind.span(), text)], place: call.span() })
        })
        .collect()
}

/// Whether a class of the file is a protocol or an abstract base: what anything may be registered for.
fn is_abstract(parsed: &Parsed, name: &str) -> bool {
    parsed.nodes_of(Kind::ClassDef).any(|class| {
        class.child(Field::Name).is_some_and(|it| it.text() == name)
            && class.list(Field::Bases).any(|base| matches!(base.text(), "Protocol" | "ABC"))
    })
}

fn rename_container(parsed: &Parsed) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    for function in parsed.nodes_of(Kind::FunctionDef) {
        let Some(parameter) = function.child(Field::Params).and_then(|parameters| {
            parameters.list(Field::Params).find(|node| node.kind() == Kind::Parameter)
        }) else {
            continue;
        };
        if parameter.child(Field::Name).is_none_or(|name| name.text() != "svcs_container") {
            continue;
        }
        let uses = function
            .descendants()
            .filter(|node| node.kind() == Kind::Name && node.text() == "svcs_container");
        let mut edits: Vec<Edit> = uses.map(|node| Edit::replace(node.span(), "source")).collect();
        edits.push(Edit::replace(parameter.span(), "source"));
        mutations.push(Mutation { edits, place: function.span() });
    }
    mutations
}

/// `__call__` methods of classes.
fn call_methods(parsed: &Parsed) -> impl Iterator<Item = Node<'_>> {
    parsed.nodes_of(Kind::FunctionDef).filter(|function| {
        function.child(Field::Name).is_some_and(|name| name.text() == "__call__")
            && function.parent().is_some_and(|parent| parent.kind() == Kind::ClassDef)
    })
}

fn drop_async(parsed: &Parsed) -> Vec<Mutation> {
    call_methods(parsed)
        .filter(|method| method.is_async())
        .map(|method| {
            let start = method.span().start;
            let mut edits = vec![Edit::remove(Span::new(start, start + "async ".len() as u32))];
            for node in method.descendants().filter(|node| {
                node.kind() == Kind::Await
                    && enclosing_function(*node).is_some_and(|owner| owner.id() == method.id())
            }) {
                let start = node.span().start;
                edits.push(Edit::remove(Span::new(start, start + "await ".len() as u32)));
            }
            Mutation { edits, place: header(method) }
        })
        .collect()
}

fn swap_channels(parsed: &Parsed) -> Vec<Mutation> {
    call_methods(parsed)
        .filter_map(|method| {
            let parameters: Vec<Node<'_>> = method.child(Field::Params)?.list(Field::Params).collect();
            let named = |name: &str| {
                parameters
                    .iter()
                    .copied()
                    .find(|parameter| parameter.child(Field::Name).is_some_and(|it| it.text() == name))
            };
            let (receive, send) = (named("receive")?, named("send")?);
            Some(Mutation {
                edits: vec![
                    Edit::replace(receive.span(), send.text()),
                    Edit::replace(send.span(), receive.text()),
                ],
                place: header(method),
            })
        })
        .collect()
}

fn forwards(parsed: &Parsed) -> impl Iterator<Item = Node<'_>> {
    parsed.nodes_of(Kind::Await).filter(|node| {
        node.child(Field::Value)
            .and_then(|call| call.child(Field::Func))
            .is_some_and(|function| matches!(function.text(), "self.app" | "self._app" | "app"))
    })
}

fn drop_forwarding(parsed: &Parsed) -> Vec<Mutation> {
    let calls: Vec<Node<'_>> = forwards(parsed).collect();
    let Some(first) = calls.first() else { return Vec::new() };
    let Some(class) = class_of(*first) else { return Vec::new() };
    let edits = calls.iter().map(|call| Edit::replace(call.span(), "None")).collect();
    vec![Mutation { edits, place: class.span() }]
}

fn drop_priority(parsed: &Parsed) -> Vec<Mutation> {
    parsed
        .nodes()
        .filter(|node| matches!(node.kind(), Kind::Assign | Kind::AnnAssign))
        .filter_map(|statement| {
            let class = statement.parent().filter(|parent| parent.kind() == Kind::ClassDef)?;
            let target = statement.child(Field::Target).or_else(|| statement.list(Field::Targets).next())?;
            (target.text() == "priority").then(|| Mutation {
                edits: vec![Edit::replace(statement.span(), "pass")],
                place: class.span(),
            })
        })
        .collect()
}

fn swallow(parsed: &Parsed) -> Vec<Mutation> {
    forwards(parsed)
        .filter_map(|call| {
            let statement = call.statement().filter(|statement| statement.kind() == Kind::Expr)?;
            let source = parsed.source();
            let indent = source.indentation(statement.span().start).to_owned();
            if statement.text().contains('\n') {
                return None;
            }
            let text = format!(
                "try:\n{indent}    {}\n{indent}except Exception:\n{indent}    pass",
                statement.text()
            );
            Some(Mutation { edits: vec![Edit::replace(statement.span(), text)], place: statement.span() })
        })
        .collect()
}

fn drop_parameter(parsed: &Parsed) -> Vec<Mutation> {
    call_methods(parsed)
        .filter_map(|method| {
            let parameters: Vec<Node<'_>> = method.child(Field::Params)?.list(Field::Params).collect();
            let [.., before, last] = parameters.as_slice() else { return None };
            let span = Span::new(before.span().end, last.span().end);
            (parameters.len() == 4)
                .then(|| Mutation { edits: vec![Edit::remove(span)], place: header(method) })
        })
        .collect()
}

fn replace(node: Node<'_>, text: String) -> Mutation {
    Mutation { edits: vec![Edit::replace(node.span(), text)], place: node.span() }
}

/// Takes an argument out of a call, with its comma.
fn drop_argument(argument: Node<'_>) -> Option<Mutation> {
    let call = argument.parent()?;
    let list = grail_code::layout::CommaList::of(call)?;
    let index = call.list(Field::Args).position(|other| other.id() == argument.id())?;
    let edits = grail_code::layout::remove_list_items(argument.parsed(), &list, &[index]);
    Some(Mutation { edits, place: class_of(argument)?.span() })
}

fn class_of(node: Node<'_>) -> Option<Node<'_>> {
    node.ancestors().find(|node| node.kind() == Kind::ClassDef)
}

fn has_call(class: Node<'_>) -> bool {
    class.list(Field::Body).any(|node| {
        node.kind() == Kind::FunctionDef
            && node.child(Field::Name).is_some_and(|name| name.text() == "__call__")
    })
}

fn first_argument(call: Node<'_>) -> Option<Node<'_>> {
    call.list(Field::Args).next()
}

/// From the decorators to the end of the header: where a finding about a function as a whole may point.
fn header(function: Node<'_>) -> Span {
    let end = function.list(Field::Body).next().map_or(function.span().end, |body| body.span().start);
    Span::new(function.span().start, end)
}

fn enclosing_function(node: Node<'_>) -> Option<Node<'_>> {
    node.ancestors().find(|node| matches!(node.kind(), Kind::FunctionDef | Kind::Lambda))
}

fn has_interpolation(template: Node<'_>) -> bool {
    template.descendants().any(|node| node.kind() == Kind::Interpolation)
}

fn is_plain_prefix(text: &str) -> bool {
    text.starts_with("t\"") || text.starts_with("t'")
}

/// Behind the docstring and the `__future__` imports.
fn import_place(parsed: &Parsed) -> u32 {
    let first_import =
        parsed.root().list(Field::Body).find(|node| matches!(node.kind(), Kind::Import | Kind::ImportFrom));
    first_import.map_or(0, |node| node.span().start)
}

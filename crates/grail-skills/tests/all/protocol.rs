//! The runner's words are those of the template that skills are made from.

use grail_skills::runnable::protocol;

const TEMPLATE: &str = include_str!("../../../../skills/python-skill/templates/skill.py");

#[test]
fn the_template_answers_every_method_the_runner_asks_for() {
    let answered: Vec<&str> = TEMPLATE.split('"').filter(|text| text.starts_with("skill.")).collect();
    let asked: Vec<&str> = protocol::METHODS.to_vec();
    assert_eq!(answered.iter().filter(|name| asked.contains(name)).count(), answered.len());
    assert!(asked.iter().all(|name| answered.contains(name)));
}

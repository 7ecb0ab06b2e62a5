//! How alike texts are.

use grail_flywheel::likeness::{code_shingles, masked_shingles, plain_shingles, token_shingles};

/// Percent, by words and without names.
fn requests(one: &str, other: &str) -> (u32, u32) {
    let percent = |share: f64| (share * 100.0).round() as u32;
    (
        percent(plain_shingles(one).jaccard(&plain_shingles(other))),
        percent(masked_shingles(one).jaccard(&masked_shingles(other))),
    )
}

#[test]
fn disguises_of_requests_do_not_count() {
    let request = "Create a UserCard. It shows the name of a member.";
    for copy in [
        "create a usercard. it shows the name of a member.",
        "  Create  a\nUserCard.\tIt shows the name of a member. ",
        "It shows the name of a member! Create a UserCard.",
        "Create a User\u{200b}Card. It sh\u{ad}ows the name of a member.",
        "Create a UserCard. It shows the nаmе of a member.",
        "Ｃｒｅａｔｅ a UserCard. It shows the name of a member.",
        "Please create the UserCard. It shows name of a member.",
    ] {
        assert_eq!(requests(request, copy).0, 100, "{copy:?}");
    }
}

#[test]
fn names_of_things_are_left_out_of_the_second_measure() {
    let request = "Create a UserCard that shows the name of a member";
    assert_eq!(requests(request, "Create an OrderRow that shows the name of a member"), (57, 100));
    assert_eq!(requests(request, "Create `orders` that shows the name of a member").1, 100);
    assert_eq!(requests(request, "Create order_row that shows the name of a member").1, 100);
    // Without names nothing would be left to compare, so they keep their last word.
    assert_eq!(requests("Create the UserCard", "Create the OrderCard").1, 100);
    assert_eq!(requests("Create the UserCard", "Create the OrderService").1, 20);
    assert_eq!(requests(request, "Delete everything that is older than a week"), (4, 4));
    assert_eq!(requests("", ""), (0, 0));
}

#[test]
fn code_is_compared_without_comments_quotes_and_its_own_names() {
    let code = "class UserCard:\n    # shows a user\n    title = 'user-card'\n\n    def show(self):\n        return f'<b>{self.title}</b>'\n";
    let renamed = code
        .replace("UserCard", "OrderRow")
        .replace("user-card", "order-row")
        .replace("shows a user", "an order");
    let restyled = code.replace('\'', "\"").replace("    ", "\t").replace("# shows a user", "#");
    let share = |other: &str| code_shingles(code).jaccard(&code_shingles(other));
    assert!(share(&renamed) > 0.99, "{}", share(&renamed));
    assert!(share(&restyled) > 0.99, "{}", share(&restyled));
    assert!(share("def total(items):\n    return sum(item.price for item in items)\n") < 0.05);
    // What is learned twice is another question: there, names count.
    assert!(token_shingles(code).jaccard(&token_shingles(&renamed)) < 0.8);
}

#[test]
fn hostile_texts_cost_nothing_but_their_length() {
    for text in [
        "\u{200b}".repeat(10_000),
        "a".repeat(200_000),
        "a ".repeat(100_000),
        "'\"#\\".repeat(10_000),
        "\u{0}\u{1}".to_owned(),
    ] {
        plain_shingles(&text);
        masked_shingles(&text);
        code_shingles(&text);
    }
}

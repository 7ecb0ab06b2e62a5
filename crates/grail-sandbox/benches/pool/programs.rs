//! What is run. `benches/sandbox.py` has the same programs for the peers.

pub(crate) const TOOL_CALL: &str = "a tool call and its answer";
pub(crate) const SNAPSHOT: &str = "dump and load of a paused run";
pub(crate) const CALLS: usize = 50;

/// Row and program.
pub(crate) const PROGRAMS: [(&str, &str); 2] =
    [("`1 + 1`", "1 + 1"), ("a program of twenty lines", TWENTY_LINES)];

pub(crate) const TWENTY_LINES: &str = r#"def is_prime(number):
    if number < 2:
        return False
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 1
    return True

primes = [number for number in range(200) if is_prime(number)]
by_digit = {}
for prime in primes:
    digit = prime % 10
    if digit not in by_digit:
        by_digit[digit] = []
    by_digit[digit].append(prime)
words = ["the", "quick", "brown", "fox"]
sentence = " ".join([word.capitalize() for word in words])
{"count": len(primes), "digits": sorted(by_digit), "sentence": sentence}
"#;

/// Pauses at its last line, with some data at hand.
pub(crate) const PAUSING: &str = r#"orders = [{"id": number, "name": "order " + str(number), "tags": ["a", "b"]} for number in range(200)]
total = len(orders)
add(total, 1)
"#;

pub(crate) fn calls(times: usize) -> String {
    format!("total = 0\nfor number in range({times}):\n    total = add(total, number)\ntotal\n")
}

pub(crate) fn quick_calls(times: usize) -> String {
    calls(times).replace("add(", "add_quickly(")
}

pub(crate) fn awaited_calls(times: usize) -> String {
    format!("total = 0\nfor number in range({times}):\n    total = await add_later(total, number)\ntotal\n")
}

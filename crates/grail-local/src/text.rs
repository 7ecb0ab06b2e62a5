//! Tokens as text that can be shown: whole characters only, and nothing that may be the beginning of a stop string.

/// The text of one answer as it comes.
#[derive(Clone, Debug, Default)]
pub struct TextStream {
    stops: Vec<Vec<u8>>,
    held: Vec<u8>,
    is_stopped: bool,
}

impl TextStream {
    pub fn new(stops: &[String]) -> Self {
        let stops =
            stops.iter().filter(|stop| !stop.is_empty()).map(|stop| stop.as_bytes().to_vec()).collect();
        Self { stops, ..Self::default() }
    }

    /// Whether a stop string was found; nothing comes after it.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Takes the bytes of a token and gives back what can be shown.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        if self.is_stopped {
            return String::new();
        }
        self.held.extend_from_slice(bytes);
        let found = self.stops.iter().filter_map(|stop| find(&self.held, stop)).min();
        if let Some(at) = found {
            self.is_stopped = true;
            self.held.truncate(at);
            return self.finish();
        }
        let beginnings = self.stops.iter().map(|stop| overlap(&self.held, stop));
        let safe = self.held.len() - beginnings.max().unwrap_or(0);
        let whole = whole_characters(&self.held[..safe]);
        let shown = self.held.drain(..whole).collect::<Vec<u8>>();
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// What was held back, at the end.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// How many bytes at the end of the text may be the beginning of the stop string.
fn overlap(text: &[u8], stop: &[u8]) -> usize {
    let longest = text.len().min(stop.len() - 1);
    (1..=longest).rev().find(|length| text.ends_with(&stop[..*length])).unwrap_or(0)
}

/// How many bytes there are before a character that is not whole yet.
fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let length = match byte {
            0b1100_0000..=0b1101_1111 => 2,
            0b1110_0000..=0b1110_1111 => 3,
            0b1111_0000..=0b1111_0111 => 4,
            0b1000_0000..=0b1011_1111 => continue,
            _ => 1,
        };
        return if length > back { bytes.len() - back } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::TextStream;

    #[test]
    fn characters_are_shown_when_they_are_whole() {
        let mut text = TextStream::new(&[]);
        let shown: Vec<String> = "a🦀é".as_bytes().iter().map(|byte| text.push(&[*byte])).collect();
        assert_eq!(shown, ["a", "", "", "", "🦀", "", "é"]);
        assert_eq!(text.push(&[0xf0, 0x9f]), "");
        assert_eq!(text.finish(), "\u{fffd}");
    }

    #[test]
    fn a_stop_string_across_tokens_is_never_shown() {
        let mut text = TextStream::new(&["```\n".to_owned(), "END".to_owned()]);
        assert_eq!(text.push(b"x = 1\n``"), "x = 1\n");
        assert_eq!(text.push(b"y"), "``y");
        assert_eq!(text.push(b"E"), "");
        assert_eq!(text.push(b"NDING"), "");
        assert!(text.is_stopped());
        assert_eq!(text.push(b"more"), "");
    }

    proptest! {
        #[test]
        fn what_is_shown_does_not_depend_on_where_tokens_end(words in proptest::collection::vec("[ab🦀]{1,3}", 0..12)) {
            let whole = words.concat();
            let expected = whole.split("ab🦀").next().unwrap();
            let mut text = TextStream::new(&["ab🦀".to_owned()]);
            let mut shown = String::new();
            for byte in whole.as_bytes() {
                shown.push_str(&text.push(&[*byte]));
            }
            shown.push_str(&text.finish());
            prop_assert_eq!(shown, expected);
        }
    }
}

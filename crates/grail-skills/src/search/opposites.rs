//! Deeds that undo each other. Word vectors hold them for nearly the same, because people speak of both in the same company.

/// Two camps per line: who asks for one does not want the other.
const CAMPS: [(&str, &str); 27] = [
    ("compress zip pack archive bundle", "extract unzip unpack decompress unarchive"),
    ("encrypt lock protect", "decrypt unlock"),
    ("encode serialize", "decode deserialize"),
    ("upload", "download"),
    ("import load", "export dump"),
    ("push", "pull"),
    ("add create insert new make register write", "remove delete drop erase unregister"),
    ("install", "uninstall"),
    ("open", "close"),
    ("start run launch boot", "stop kill halt shutdown terminate"),
    ("enable activate allow", "disable deactivate forbid block"),
    ("subscribe", "unsubscribe"),
    ("book schedule invite", "cancel"),
    ("backup save dump", "restore recover"),
    ("send deliver mail", "receive read fetch"),
    ("deploy rollout upgrade bump", "rollback revert undo downgrade"),
    ("merge join combine concatenate append", "split separate divide"),
    ("increase enlarge grow extend expand", "decrease shrink reduce shorten"),
    ("charge bill", "refund reimburse"),
    ("show reveal", "hide conceal"),
    ("accept approve", "reject deny"),
    ("buy", "sell"),
    ("login", "logout"),
    ("lend", "borrow"),
    ("generate make create draw write", "detect recognise recognize read scan"),
    ("pin freeze", "update upgrade bump"),
    ("speak narrate aloud", "transcribe transcript transcription"),
];

/// Two words that stand in opposite camps, if one text has the one, the other text the other, and neither has both.
pub(crate) fn find_opposites<'a>(left: &[&'a str], right: &[&'a str]) -> Option<(&'a str, &'a str)> {
    CAMPS.iter().find_map(|(one, other)| {
        let (left_one, left_other) = (first_of(left, one), first_of(left, other));
        let (right_one, right_other) = (first_of(right, one), first_of(right, other));
        match (left_one, left_other, right_one, right_other) {
            (Some(left), None, None, Some(right)) | (None, Some(left), Some(right), None) => {
                Some((left, right))
            }
            _ => None,
        }
    })
}

fn first_of<'a>(words: &[&'a str], camp: &str) -> Option<&'a str> {
    words.iter().copied().find(|word| camp.split(' ').any(|member| member == *word))
}

//! The words that tell: phrases with their side and weight. The longest phrase at a place counts, and hides those inside it.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Verdict;

/// Words after which what comes counts more than what was.
const CONTRASTS: [&str; 10] =
    ["but", "however", "except", "though", "although", "unfortunately", "sadly", "yet", "only", "apart"];

/// What turns a cue round when it stands shortly before it.
const NEGATIONS: &[&str] = &[
    "not", "no", "never", "nothing", "none", "hardly", "without", "isnt", "arent", "wasnt", "werent", "dont",
    "doesnt", "didnt", "cant", "cannot", "couldnt", "wont", "wouldnt", "hasnt", "havent", "aint", "neither",
    "nor", "nobody", "barely", "nowhere",
];

/// What says of a thing that it does not do or is not something.
const DENIALS: &[&str] = &[
    "not", "isnt", "arent", "wasnt", "werent", "dont", "doesnt", "didnt", "cant", "cannot", "couldnt",
    "wont", "wouldnt", "hasnt", "havent", "hadnt", "never", "nowhere", "neither",
];

/// What people cannot do with something that is not right: "I don't see the filter".
const MISSED: &[&str] = &[
    "see",
    "find",
    "get",
    "want",
    "like",
    "need",
    "trust",
    "agree",
    "recognise",
    "recognize",
    "use",
    "open",
    "click",
    "select",
    "read",
    "log",
    "save",
    "reach",
    "scroll",
    "build",
    "import",
    "merge",
    "ask",
];

/// Beginnings of a wish to have something made different.
const CHANGES: &[&str] = &[
    "rename",
    "use",
    "remove",
    "drop",
    "delete",
    "change",
    "move",
    "undo",
    "revert",
    "replace",
    "swap",
    "fix",
    "correct",
    "stop",
    "dont",
    "never",
    "avoid",
    "renaming",
    "changing",
    "moving",
    "removing",
    "using",
    "replacing",
    "switch",
    "restore",
    "reverse",
    "shorten",
    "simplify",
    "split",
    "inline",
    "lose",
    "rewrite",
    "hide",
    "align",
    "reduce",
    "trim",
    "extract",
    "convert",
    "wrap",
    "shrink",
    "tighten",
    "reorder",
    "flip",
    "invert",
    "unify",
    "limit",
    "lowercase",
    "capitalise",
    "capitalize",
];

/// Beginnings of a wish for something new.
const TASKS: &[&str] = &[
    "create",
    "write",
    "generate",
    "build",
    "make",
    "add",
    "implement",
    "show",
    "list",
    "explain",
    "tell",
    "give",
    "draw",
    "design",
    "set",
    "develop",
    "produce",
    "extend",
    "document",
    "test",
    "find",
    "run",
    "open",
    "print",
    "describe",
    "sketch",
    "scaffold",
    "summarise",
];

/// Words that are mended when a letter is wrong, missing, doubled or changed places. All of them begin with their own letter.
const MENDED: &[&str] = &[
    "perfect",
    "great",
    "exactly",
    "looks",
    "works",
    "thanks",
    "should",
    "shouldnt",
    "instead",
    "wrong",
    "incorrect",
    "actually",
    "awesome",
    "excellent",
    "beautiful",
    "brilliant",
    "correct",
    "right",
    "meant",
    "wanted",
    "asked",
    "forgot",
    "missed",
    "missing",
    "rename",
    "remove",
    "revert",
    "broken",
    "doesnt",
    "please",
    "prefer",
    "rather",
    "supposed",
    "approved",
    "amazing",
    "fantastic",
    "better",
    "because",
    "working",
    "except",
];

/// Words near one of those that are words of their own.
const NOT_MENDED: &[&str] = &[
    "greet", "treat", "look", "looked", "work", "worked", "works", "thank", "should", "mean", "means",
    "want", "wants", "wanting", "ask", "asks", "miss", "mixed", "renamed", "renames", "removed", "removes",
    "reverts", "broke", "release", "prefers", "father", "letter", "butter", "expect", "accept", "exact",
    "walking", "wording",
];

#[derive(Clone, Copy, Debug)]
pub(super) struct Cue {
    pub side: Side,
    pub weight: f64,
    /// How many words it takes.
    pub length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Against what was made.
    Against,
    /// Against, unless negated: then for it.
    Fault,
    /// For what was made; negated, against it.
    For,
    /// For, negated or not.
    Going,
    /// Against, also where it is asked: a question that is a complaint.
    Doubt,
    /// Says nothing about it, and hides the words in it.
    Aside,
}

struct Phrase {
    words: Vec<&'static str>,
    cue: Cue,
}

static PHRASES: LazyLock<HashMap<&'static str, Vec<Phrase>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<Phrase>> = HashMap::new();
    for (side, weight, phrases) in LIST {
        for phrase in phrases.split(';') {
            let words: Vec<&str> = phrase.split_whitespace().collect();
            let Some(first) = words.first() else { continue };
            let cue = Cue { side: *side, weight: *weight, length: words.len() };
            table.entry(first).or_default().push(Phrase { words, cue });
        }
    }
    for phrases in table.values_mut() {
        phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.words.len()));
    }
    table
});

/// The longest phrase that begins at this place.
pub(super) fn at(words: &[String], place: usize) -> Option<Cue> {
    let rest = &words[place..];
    let phrases = PHRASES.get(rest.first()?.as_str())?;
    let fits = |phrase: &&Phrase| {
        phrase.words.len() <= rest.len()
            && phrase.words.iter().zip(rest).all(|(wanted, word)| *wanted == "*" || wanted == word)
    };
    phrases.iter().find(fits).map(|phrase| phrase.cue)
}

pub(super) fn is_contrast(word: &str) -> bool {
    CONTRASTS.contains(&word)
}

pub(super) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word)
}

pub(super) fn is_denial(word: &str) -> bool {
    DENIALS.contains(&word)
}

pub(super) fn is_missed(word: &str) -> bool {
    MISSED.contains(&word)
}

pub(super) fn is_change(word: &str) -> bool {
    CHANGES.contains(&word)
}

/// Whether somebody is said to have done something: "used", "put".
pub(super) fn is_deed(word: &str) -> bool {
    let is_regular = word.len() > 4
        && word.ends_with("ed")
        && !matches!(word, "need" | "nailed" | "fixed" | "solved" | "saved");
    is_regular
        || matches!(
            word,
            "put"
                | "made"
                | "took"
                | "wrote"
                | "left"
                | "built"
                | "gave"
                | "broke"
                | "kept"
                | "chose"
                | "threw"
                | "lost"
        )
}

pub(super) fn is_task(word: &str) -> bool {
    TASKS.contains(&word)
}

/// The word it was meant to be.
pub(super) fn mended(word: String) -> String {
    let length = word.chars().count();
    if !(4..=12).contains(&length) || !word.is_ascii() || NOT_MENDED.contains(&word.as_str()) {
        return word;
    }
    // Short words have too many neighbours.
    let is_near = |meant: &&&str| {
        meant.len() >= 5
            && meant.len().abs_diff(word.len()) <= 1
            && meant.as_bytes()[0] == word.as_bytes()[0]
            && **meant != word
            && is_one_slip(word.as_bytes(), meant.as_bytes())
    };
    if MENDED.contains(&word.as_str()) {
        return word;
    }
    match MENDED.iter().find(is_near) {
        Some(meant) => (*meant).to_owned(),
        None => word,
    }
}

/// One letter wrong, missing, too many, or two that changed places.
fn is_one_slip(word: &[u8], meant: &[u8]) -> bool {
    let front = word.iter().zip(meant).take_while(|(left, right)| left == right).count();
    let (word, meant) = (&word[front..], &meant[front..]);
    match word.len() as isize - meant.len() as isize {
        0 => {
            word.len() <= 1
                || word[1..] == meant[1..]
                || (word[0] == meant[1] && word[1] == meant[0] && word[2..] == meant[2..])
        }
        1 => word[1..] == *meant,
        -1 => *word == meant[1..],
        _ => false,
    }
}

pub(super) fn verdict_of(side: Side, is_negated: bool) -> Option<Verdict> {
    match (side, is_negated) {
        (Side::Against | Side::Doubt, _) | (Side::Fault, false) | (Side::For, true) => {
            Some(Verdict::Correction)
        }
        (Side::For, false) | (Side::Fault, true) | (Side::Going, _) => Some(Verdict::Confirmation),
        (Side::Aside, _) => None,
    }
}

/// Side, weight, and phrases between semicolons; `*` is any one word.
const LIST: &[(Side, f64, &str)] = &[
    // Praise.
    (Side::For, 1.6, "perfect; excellent; awesome; brilliant; fantastic; amazing; wonderful; superb; beautiful; lovely; love it;
        love this; love that; spot on; well done; lgtm; nailed it; flawless; 👍"),
    (Side::For, 1.2, "great; nice; cool; sweet; neat; exactly; precisely; good job; good work; nice work; great work; great job;
        looks good; looks great; looks fine; looks right; looks correct; sounds good; seems fine; i like; like it; im happy; happy with;
        much better; much cleaner; way better; far better; good to go"),
    (Side::For, 1.0, "right; correct; good; works; work fine; works fine; fine; better; thats it; the one; does the job; works for me"),
    (Side::For, 0.8, "thanks; thank you; thx; ty; cheers; happy; helpful"),
    (Side::For, 1.5, "is what i wanted; is what i meant; is what i asked; is what i had in mind; what i wanted; what i asked for;
        what i had in mind; what i was looking for; what i need; what i needed; what we need; as i wanted; as expected; as it should;
        what it should; how it should be"),
    (Side::For, 1.2, "that fixed; that fixes; fixed it; that solved; that solves; solved it; solves the problem; tests pass;
        test passes; passes now; all green; are green; is green; green now; it runs; runs now"),
    // Going on.
    (Side::Going, 1.5, "ship it; merge it; merge this; merge that; commit it; commit this; commit that; push it; push this; approved;
        approve; accept; accepted; go ahead; keep it; keep this; keep that; leave it; leave that; leave this; move on; moving on;
        lets continue; on to the; you can commit; you can merge"),
    (Side::Going, 1.5, "i meant what you; youre right; you are right; you were right; dont change a thing; dont change anything;
        as good as; not bad; no complaints; cant complain; nothing to complain; no objections; no objection; nothing wrong; nothing to add;
        no changes; no change needed; no issues; no problems; no errors; couldnt be better; could not be better; cannot complain;
        without errors; without problems; cant find anything wrong; could not find anything wrong; good catch; better than"),
    // What says nothing.
    (Side::Aside, 0.0, "no problem; no worries; no idea; no rush; no hurry; no preference; no matter; not sure; dont know; do not know;
        no need; good morning; good evening; good question; good afternoon; good night; right now; all right then; right away; right side;
        how about; what about; no longer; like to know; would like; nice to have; at least; thank you in advance; thanks in advance;
        dont worry; no one; not yet; the right; on the left; the correct; the wrong way to; better way"),
    (Side::For, 0.6, "great start; good start; nice start; good idea; nice idea; good try; nice try"),
    // Against it.
    (Side::Fault, 1.5, "wrong; incorrect; mistake; mistaken; hallucination; hallucinated; invented; broken; bug; bugs; useless; nonsense;
        terrible; awful; bad; horrible; ugly"),
    (Side::Fault, 1.2, "missing; unnecessary; redundant; superfluous; complicated; fails; failing; failed; crashes; crashed; crash; breaks;
        broke; complains; complain; traceback; error; errors; problem; problems; issue; issues; unclear; confusing"),
    (Side::Against, 1.8, "i meant; what i meant was; i asked for; i asked you; i said; i told you; i wanted; not what; not how we;
        how we do; you forgot; you missed; you left out; you misunderstood; you misread; you ignored; you got; you changed the wrong;
        misunderstood; try again; do it again; once more; start over; start again; not quite; not really; not like this; not like that;
        not that one; not this one; not the right; not the correct; not right; nope; nooo; noo; 👎; the other one; isnt what; i wasnt asking"),
    (Side::Against, 1.5, "should be; should have; should not; should never; should only; should return; should come; it should; they should;
        this should; that should; shouldnt; must be; must not; must never; must; needs to; need to be; need to stay; has to; have to be;
        ought to; supposed to; instead; rather have; i would prefer; id prefer; id rather; i prefer; would rather; i dont like;
        i do not like; dont like; dont want; do not want; i need it to; put it back; put them back; put back; go back; get rid of;
        take it out; take that out; out again; way it was; make it; make them; make that; call it; too long; too short;
        too many; too much; too slow; too complicated; too complex; too big; too early; too late; too generic; too clever; too verbose;
        way too; far too; a bit too; not needed; not necessary; no need for; there is no such; theres no such; no such method;
        didnt i say; didnt i ask; didnt we; did i not; isnt that supposed; wasnt this supposed; wasnt that supposed; the other way"),
    (Side::Against, 1.5, "doesnt work; does not work; didnt work; did not work; dont work; do not work; not working; isnt working;
        doesnt compile; does not compile; doesnt run; doesnt handle; does not handle; doesnt follow; dont follow; does not follow;
        doesnt match; does not match; dont match; dont test; doesnt test; doesnt do; does not do; wont work; not going to work;
        cant work; still fails; still broken; still not; still wrong; still get; still getting; nothing works; i get a; i get an;
        i get the; now i get; im getting; not good; not correct; not true; not acceptable; old api; lets not; we never;
        we dont; we do not; we always; in this project we"),
    (Side::Against, 0.5, "actually"),
    (Side::Against, 1.2, "was better; were better; i expected; id have expected; i would have expected; had expected; we already have;
        already exists; there already is; not there; not here; same problem; same error; same issue; same mistake; i cant merge;
        i cant use; cant accept; will break; will fail; will explode; would break; i was talking about; never told you; the spec says;
        spec says; ticket says; docs say; everywhere else; doesnt pass; does not pass; dont pass; is our convention; our convention;
        please let; please respect; please follow; please stick; stick to; follow our; why is there still; you should have; reads like;
        off by one; needs a; needs an; need a docstring; made up; makes no sense; doesnt make sense; does not make sense"),
    (Side::Fault, 1.0, "opposite; circular; overengineered; overengineering; overkill; ignores; swallows; loses; leaks; duplicates; skips;
        misses; lacks; forgets; overwrites; hides; misleading; inconsistent; outdated; deprecated; unused; hardcoded; insecure; slow;
        verbose; findings; violation; violations; violates"),
    (Side::Against, 0.5, "hmm; hm; nah"),
    (Side::Against, 0.45, "the old"),
    (Side::For, 1.4, "wow; impressive; impressed; thatll do; that will do; did the trick; does the trick; how i imagined; as i imagined;
        how i wanted; like i wanted; turned out well; turned out great; works well; works perfectly; good enough; take it; ship this;
        ship that"),
    (Side::For, 1.0, "clean; elegant; tidy; simpler; cleaner; nicer; readable; fair enough; makes sense; agreed; i agree; passes; satisfied;
        pleased; glad"),
    (Side::Going, 1.2, "no further; nothing further; that was the bug; was the bug; was the problem; dont touch it; carry on; please continue;
        go on; proceed; can be merged; can go in"),
    // What does not work, told as it is seen.
    (Side::Fault, 1.2, "hangs; freezes; froze; disappears; disappeared; vanishes; vanished; flickers; overlaps; overlap; overlapping; overflows;
        times out; timed out; blows up; blew up; throws; threw; stopped working; stops working; cut off; truncated; stuck; garbled; mangled;
        unreadable; unusable; invisible; misaligned; misplaced; stale; chokes; dies; died; exploded; explodes; regressed; regression;
        misspelled; misspelt; typo; typos; mixed up; messed up; swapped; out of date; out of order; out of sync; off by; upside down;
        reversed; inverted; backwards; unformatted; untested; undocumented; unhandled; unescaped; unrelated; irrelevant; pointless;
        unneeded; unwanted; duplicated; overcomplicated; bloated; convoluted; clumsy; sloppy; inefficient; laggy; sluggish; slower; worse;
        worst; disappointing; disappointed; annoying; rubbish; garbage; mess; hack; hacky; spaghetti"),
    (Side::Fault, 0.9, "ignored; empty; blank; twice; lost; rejects; rejected; red; undefined; nan; leaked; skipped; dropped; forgotten;
        overwritten; repeated; repeats; doubled; incomplete; unfinished; missed; wrongly; incorrectly; weird; odd; strange; funny"),
    (Side::Against, 1.2, "takes forever; takes ages; takes * seconds; takes * minutes; took * seconds; took * minutes; has no effect;
        have no effect; no effect; no difference; makes no difference; nothing happens; nothing happened; nothing changed; nothing comes;
        nothing shows; nothing appears; does nothing; did nothing; do nothing; is no; are no; has no; have no; there is no; theres no;
        there are no; no sign of; not anymore; not any more; used to work; was working; worked before; worked yesterday; worked fine before;
        as before; like before; same as before; same thing again; yet again; once again; i get nothing; i get no; i still; it still; its still;
        still has; still have; still shows; still says; still uses; still the; still a; still there; still missing; still no; still see;
        still does; still doesnt; still cant; still isnt; still in; is still; are still; no longer; out of place; in the wrong; to the wrong;
        on the wrong; at the wrong; for the wrong; with the wrong; the wrong"),
    (Side::Against, 1.2, "should; too *; i was thinking of; i was thinking more; i had thought; i imagined; i pictured; i was hoping; i hoped;
        i was expecting; i never wanted; i never asked; i never said; nobody asked; no one asked; nobody wanted; nobody needs; i only asked;
        i just asked; i only wanted; i just wanted; all i wanted; all i asked; id have; id keep; id leave; i would keep; i would leave; id call;
        i would call; id put; i would put; id use; i would use; id drop; i would drop; id move; id split; we have a; we have our; we call;
        we put; we keep; we name; we write; there is already; theres already; already have; already has; already does; already had;
        have it already; like everywhere; like the others; like the rest; as everywhere; as in the other; like in the other; consistent with;
        convention; conventions; style guide; back to; the way it was; as it was; how it was; what it was; what we had; the previous;
        the one before; the version before; the earlier; the original; other way round; other way around; lot of code; much code; so much;
        so many; hard to read; hard to follow; hard to understand; hard to test; no reason to; no point; for nothing; rather; better if;
        would be better; nicer if; would be nicer; cleaner if; would be cleaner; simpler if; not allowed; not permitted; against our"),
    (Side::Doubt, 1.4, "why on earth; why did you rename; why did you change; why did you remove; why did you delete; why did you move; why did you touch;
        why did you drop; why would you; why would anyone; why would we; why is there; why are there; why is it;
        why is the; why is this; why are they; why does it; why do i; why do we; why isnt; why arent; why doesnt; why dont; why so; why again;
        where did; how come; who told you; who asked; since when; do we really; do you really; is it really; is this really;
        is that really; are you sure that; are you sure this; are you sure it; are you serious; did you even; did you forget; didnt you; havent you; couldnt you; cant you; cant we;
        cant it; couldnt it; couldnt we; wouldnt it be; wouldnt that; isnt it; isnt this; isnt that; isnt there; arent these; arent they;
        arent we; dont we; dont you; doesnt this; doesnt that; doesnt it; shouldnt it; shouldnt we; shouldnt this; shouldnt that;
        shouldnt there; shouldnt the; would it be better; instead; rather than; could it; could they; could this be; could that be;
        can this be; can that be; any reason; what is this doing; whats this doing; really need;
        supposed to; seriously"),
    (Side::Against, 1.1, "youre missing; youre using; youre importing; youre calling; youre mixing; youre ignoring; youre still; youre not; you are missing;
        you are using; you are not; you are still; you dont; you didnt; you never; you havent; you still; you always; you keep; i see two;
        i see the same; i see nothing; i see no; all i see; all i get; according to; in the spec; in the mockup; in the design; the requirement was;
        the requirements say; every time; each time; all the time; on every; for every single; over and over; more than once; out of nowhere;
        for no reason; by mistake; by accident; at random; randomly; sometimes; only half; half of it; half the; the rest is; and then it;
        before it; instead it; now it; a bit *; a little *; slightly *; bit less; bit more; less of; more like; more of a; not enough; fewer"),
    // What works, told as it is seen.
    (Side::For, 1.4, "super; splendid; terrific; magnificent; stellar; outstanding; delightful; marvellous; marvelous; phenomenal; gorgeous;
        bravo; kudos; yay; hooray; hurray; woohoo; nicely done; good stuff; great stuff; nice one; top notch; first class; on point;
        like a charm; works as; everything works; it all works; all works; all good; all fine; all set; youre a star; lifesaver; you saved;
        saved me; saved my; made my day; couldnt ask for; could not ask for; just what i; just what we; just right; bang on; as i hoped;
        as hoped; as planned; as intended; as agreed; as described; as specified; as promised; suits me; delighted; thrilled; i am happy;
        were happy; is happy; are happy; everybody likes; everyone likes; they like; likes it; they love; loves it; loved it;
        tests are passing; everything passes; all pass; all tests pass; tests pass now; pipeline is green; ci is green; ci passes;
        build is green; resolved; signed off; tried it; tested it; as advertised; did what i; does what i; does what it; does exactly;
        did exactly; is gone now; error is gone; bug is gone; warning is gone; warnings are gone; errors are gone; problem is gone;
        issue is gone; much nicer; much simpler; much faster; much clearer; way nicer; way faster; so much better; far nicer; better now;
        faster now; cleaner now; correct now"),
    (Side::For, 1.2, "thats all; thats everything; were done; we are done; im done; all done; done here; that should do; will do nicely; good one;
        i approve; looks nice; looks clean; looks perfect; looks better; looks ok; looks okay; reads well; reads nicely; so good; that helps;
        very helpful; very good; very nice; very well; really good; really nice; really well; pretty good; pretty nice; quite good; quite nice;
        even better; couldnt have; could not have; well written; well structured; solid; smooth; smoothly; runs fine; runs well; runs great;
        works great; works now; works again; it works; this works; that works; it worked; that worked; this worked; verified; confirmed;
        checks out; can confirm; to my liking; compliments; chapeau; good as is; at that; got it right; got this right; you got it; thats better;
        a relief; relieved; no regrets; worth it; proud; beautifully; nicely; perfectly; flawlessly; effortlessly; clever; smart; thoughtful"),
    (Side::For, 0.8, "matches; passed; passing; covered; complete; finished; accurate; precise; clear; easy to read; easy to follow"),
    (Side::Going, 1.2, "go live; lets release; lets deploy; deploy it; release it; tag it; publish it; push that; merge away; ship away; leave it at;
        next up; next task; next topic; whats left; what is left; what is next; moving to; continue with; proceed with; go ahead and; carry on with"),
    (Side::Going, 1.4, "fine by me; fine with me; fine for me; ok with me; okay with me; ok for me; okay for me; ok by me; good by me; good with me;
        good for me; i can live with; im fine with; im ok with; im okay with; im good; no notes; no comments; no remarks; nothing to change;
        nothing to improve; nothing to fix; nothing else; nothing more; nothing left; cant fault; still works; still work; still fine;
        still good; still passes; still pass; still green; keep going; next one; next please; whats next; on to; lets move on; lets go on;
        lets proceed; go for it; lets ship; lets merge; lets commit; lets keep; lets go with; go with that; go with this; use that one;
        ready to merge; ready to ship; ready to go; can ship; can merge; deployed; shipped; pushed it; pushed to; released; rolled out;
        closing the; closing this; close the ticket; close the issue; close it; ill take it; ill keep it; ill take that; ill use it;
        ill use that; ill merge; ill commit; ill push; i will keep; i will take it; i will use; were keeping; keep it like; keep it as;
        keep it that; leave everything; leave as is; as it is; no longer crashes; no longer fails; no longer breaks; no longer complains;
        no longer hangs; doesnt crash anymore; exactly like that; just like that"),
    // What only sounds like it.
    (Side::Aside, 0.0, "too now; too please; too thanks; too and; too but; i am still; im still; we are still; were still; still thinking;
        still looking; still reading; still waiting; still testing; still need to; still have to; still on; still open; is there a;
        are there any; is there any; is it possible; could it be that; hello again; hi again; what should; how should; where should;
        when should; who should; which should; should i; should we; should you; as soon as; as well; rather new; no idea why; in case;
        not that i know; not at the moment; not now; not today; for now; if not; or not; whether or not; not only; dont forget;
        does not matter; doesnt matter; dont mind; do not mind; dont care; not urgent; dont have time; no time; cant talk; cant say;
        not important; not in a hurry; not my; not involved; cant join; not available; no longer needed; perfectly good; perfectly fine;
        havent tested; havent tried; havent looked; havent checked; have not tested; have not tried; not tested; not tried; didnt test; didnt try"),
    (Side::Against, 0.8, "almost; nearly; close; hmm no; hm no; wait no; sorry; instead of; i think you; obvious"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_mended_and_words_of_their_own_are_not() {
        let mend = |word: &str| mended(word.to_owned());
        let slips =
            ["prefect", "perfectt", "worng", "shoud", "lokks", "incorect", "graet", "thnaks"].map(mend);
        assert_eq!(slips, ["perfect", "perfect", "wrong", "should", "looks", "incorrect", "great", "thanks"]);
        let words = ["light", "greet", "look", "might", "shoulder", "expect", "father"];
        assert_eq!(words.map(mend), words);
    }
}

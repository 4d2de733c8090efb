//! Commenting out what the check refuses, and writing the file.

use crate::draft::{Import, Place};
use crate::kind::Kind;
use crate::ledger::{Account, Outcome};
use crate::units;

/// A configuration of this server, and what became of that of the other.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The text of a file of TOML, with what could not be carried over at its end.
    pub toml: String,
    /// One for each directive of the input, in its order.
    pub accounts: Vec<Account>,
    /// What the check still refuses, although everything that it named is commented out. Usually empty.
    pub unsettled: Vec<String>,
}

impl Imported {
    /// The directives that could not be carried over, with their lines and the reasons.
    pub fn left(&self) -> impl Iterator<Item = (&Account, &str)> {
        self.accounts.iter().filter_map(|account| {
            let Outcome::Left(reason) = &account.outcome else {
                return None;
            };
            Some((account, reason.as_str()))
        })
    }
}

/// What the check refuses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// The line of the text, counted from 1; `None` if it is about none.
    pub line: Option<usize>,
    /// Why. Shown to the operator, so it holds no secret.
    pub message: String,
}

/// Most times that the file is checked: what is commented out may be missed by something else, which is refused the next
/// time. Chains of that kind have two or three links.
const ROUNDS_MAX: usize = 16;

/// Comments out what is refused until nothing is, and writes the file.
pub(crate) fn settle(
    mut import: Import,
    kind: Kind,
    name: &str,
    check: impl Fn(&str) -> Vec<Refusal>,
) -> Imported {
    let mut unsettled = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let (text, places) = import.draft.render(|id| import.ledger.place(id));
        let refusals = check(&text);
        unsettled = refusals
            .iter()
            .map(|refusal| refusal.message.clone())
            .collect();
        let mut changed = false;
        for Refusal { line, message } in refusals {
            let at = line.and_then(|line| line.checked_sub(1));
            let place: Option<Place> = at.and_then(|at| places.get(at).copied().flatten());
            let Some(from) = place.and_then(|place| import.draft.refuse(place, &message)) else {
                continue;
            };
            changed = true;
            for id in from {
                import.ledger.refuse(id, message.clone());
            }
        }
        if !changed {
            break;
        }
    }
    let (body, _) = import.draft.render(|id| import.ledger.place(id));
    let accounts = import.ledger.close();
    let mut toml = head(kind, name);
    toml.push_str(&body);
    toml.push_str(&tail(&accounts, &unsettled));
    Imported {
        toml,
        accounts,
        unsettled,
    }
}

fn head(kind: Kind, name: &str) -> String {
    format!(
        "# Imported from {} of {} by `carillon import`. Passwords are in it: keep it to yourself.\n#\n\
         # What is not here has its default, as in config/carillon.toml: RTMP on port 1935, HTTP on 8000 and WebRTC on\n\
         # UDP 8189 are on. Publishers always need a key. What could not be carried over is listed at the end.\n",
        units::comment(name),
        kind.server()
    )
}

fn tail(accounts: &[Account], unsettled: &[String]) -> String {
    let mut text = String::new();
    let mut list = |title: &str, reason_of: fn(&Outcome) -> Option<&str>| {
        let told = accounts
            .iter()
            .filter_map(|account| Some((account, reason_of(&account.outcome)?)));
        let lines: Vec<_> = told
            .map(
                |(
                    Account {
                        line, directive, ..
                    },
                    reason,
                )| {
                    format!(
                        "# line {line}: {}: {}\n",
                        units::comment(directive),
                        units::comment(reason)
                    )
                },
            )
            .collect();
        if !lines.is_empty() {
            text.push_str(&format!("\n# {title}\n#\n{}", lines.concat()));
        }
    };
    list("Not carried over:", |outcome| match outcome {
        Outcome::Left(reason) => Some(reason),
        _ => None,
    });
    list("Needs no setting:", |outcome| match outcome {
        Outcome::Needless(reason) => Some(reason),
        _ => None,
    });
    if !unsettled.is_empty() {
        text.push_str("\n# Still refused by `carillon check`:\n#\n");
        for message in unsettled {
            text.push_str(&format!("# {}\n", units::comment(message)));
        }
    }
    text
}

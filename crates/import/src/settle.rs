//! Commenting out of refused settings, and writing of the file.

use crate::draft::{Import, Place};
use crate::kind::Kind;
use crate::ledger::{Account, Outcome};
use crate::units;

/// A configuration of this server, and the outcome of the other server's configuration.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Text of a TOML file, followed by what could not be carried over.
    pub toml: String,
    /// Accounts, one for each directive of the input, in order.
    pub accounts: Vec<Account>,
    /// Messages that the check still gives although everything that it named is commented out. Usually empty.
    pub unsettled: Vec<String>,
}

impl Imported {
    /// Returns the directives that could not be carried over, with their lines and the reasons.
    pub fn left(&self) -> impl Iterator<Item = (&Account, &str)> {
        self.accounts.iter().filter_map(|account| {
            let Outcome::Left(reason) = &account.outcome else {
                return None;
            };
            Some((account, reason.as_str()))
        })
    }
}

/// An error that the check reports.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// Line number from 1; `None` if the error concerns no line.
    pub line: Option<usize>,
    /// Message for the operator, without secrets.
    pub message: String,
}

/// Maximum number of checks of the file: a setting that is commented out may be missing elsewhere, which the next check
/// refuses. Such chains have two or three links.
const ROUNDS_MAX: usize = 16;

/// Comments out refused settings until nothing is refused, and writes the file.
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
        let reported = accounts
            .iter()
            .filter_map(|account| Some((account, reason_of(&account.outcome)?)));
        let lines: Vec<_> = reported
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

//! The table of crates under `## Crates` in `ARCHITECTURE.md`, parsed and checked against the law of tiers.
//!
//! A row is `| tier | crate | what it contains | may use |`. The tier is 0 to 4 or `dev`; the crates
//! are one or several names in backticks. What they may use has one of five forms:
//!
//! * `–`: nothing;
//! * `media, net`: these crates;
//! * `tiers 0–2`: every crate of these tiers;
//! * `all`: of tier 4, every crate of the tiers below; of `dev`, every crate with a tier and
//!   `testkit`;
//! * `–; what they fuzz`: nothing within the workspace. It belongs to `fuzz`, which is outside.
//!
//! The document cannot loosen the law: a crate uses tiers below its own, and in tiers 0 to 2 also crates of its own tier that
//! its row names. Crates with a tier never use one without.

#[cfg(test)]
mod tests;

use std::fmt;

use crate::document::{DOCUMENT, cells};

/// Crate that has a row but is a workspace of its own.
pub(super) const FUZZ: &str = "fuzz";
/// The only crate without a tier that others build on.
pub(super) const TESTKIT: &str = "testkit";

const SECTION: &str = "## Crates";
const HEAD: [&str; 4] = ["tier", "crate", "what it contains", "may use"];
const NOTHING: &str = "–";
const WHAT_THEY_FUZZ: &str = "–; what they fuzz";
const ALL: &str = "all";

/// The highest tier, which assembles the others.
const ASSEMBLY: u8 = 7;
/// Highest tier whose rows may name crates of the same tier.
const SIBLINGS_UP_TO: u8 = 2;

/// Distance of a crate from the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    Shipped(u8),
    /// Development only.
    Dev,
}

/// A workspace member, by the name other members use for it.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) tier: Tier,
    /// Members that it may use in shipped code and in tests.
    pub(super) may_use: Vec<String>,
    /// Line number of its row.
    pub(super) line: usize,
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) members: Vec<Member>,
    /// Line number of its heading.
    pub(super) line: usize,
}

/// A row as written.
struct Row<'a> {
    line: usize,
    tier: Tier,
    crates: Vec<&'a str>,
    may_use: Uses<'a>,
}

enum Uses<'a> {
    Nothing,
    Named(Vec<&'a str>),
    Tiers(u8, u8),
    All,
}

impl Table {
    /// Parses the table; returns all errors with their places if there are any.
    pub(super) fn read(document: &str) -> Result<Self, Vec<String>> {
        let (line, rows) = rows(document)?;
        let mut errors = Vec::new();
        let mut members: Vec<Member> = Vec::new();
        for row in &rows {
            for name in &row.crates {
                if let Some(first) = members.iter().find(|member| member.name == *name) {
                    let complaint = format!("`{name}` has a row in line {} already", first.line);
                    errors.push(at(row.line, &complaint));
                    continue;
                }
                let may_use = row.resolve(name, &rows).unwrap_or_else(|complaint| {
                    errors.push(at(row.line, &complaint));
                    Vec::new()
                });
                members.push(Member {
                    name: (*name).to_owned(),
                    tier: row.tier,
                    may_use,
                    line: row.line,
                });
            }
        }
        if errors.is_empty() {
            Ok(Self { members, line })
        } else {
            Err(errors)
        }
    }

    pub(super) fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

/// Returns the line number of the table's heading, and its rows.
fn rows(document: &str) -> Result<(usize, Vec<Row<'_>>), Vec<String>> {
    let mut lines = (1..).zip(document.lines());
    let Some((section, _)) = lines.find(|(_, text)| text.trim_end() == SECTION) else {
        return Err(vec![at(1, &format!("there is no section `{SECTION}`"))]);
    };
    let mut lines = lines.take_while(|(_, text)| !text.starts_with("## "));
    let Some((head, _)) = lines.find(|(_, text)| cells(text).is_some_and(|cells| cells == HEAD))
    else {
        let complaint = format!("this section has no table `| {} |`", HEAD.join(" | "));
        return Err(vec![at(section, &complaint)]);
    };
    let mut lines = lines.take_while(|(_, text)| !text.trim().is_empty());
    if !lines.next().is_some_and(|(_, text)| is_rule(text)) {
        let complaint = "below the heading of a table there is `|---|---|---|---|`";
        return Err(vec![at(head + 1, complaint)]);
    }
    let mut rows = Vec::new();
    let mut errors = Vec::new();
    for (line, text) in lines {
        match Row::read(line, text) {
            Ok(row) => rows.push(row),
            Err(complaint) => errors.push(at(line, &complaint)),
        }
    }
    if errors.is_empty() {
        Ok((head, rows))
    } else {
        Err(errors)
    }
}

impl<'a> Row<'a> {
    fn read(line: usize, text: &'a str) -> Result<Self, String> {
        let cells = cells(text).unwrap_or_default();
        let [tier, crates, _, may_use] = cells[..] else {
            return Err(format!("a row is `| {} |`", HEAD.join(" | ")));
        };
        let tier = Tier::read(tier)
            .ok_or_else(|| format!("tier `{tier}` is neither `dev` nor 0 to {ASSEMBLY}"))?;
        let crates = crates
            .split(',')
            .map(|name| {
                let name = name.trim();
                let bare = name.strip_prefix('`').and_then(|n| n.strip_suffix('`'));
                bare.filter(|bare| is_name(bare))
                    .ok_or_else(|| format!("not the name of a crate in backticks: {name}"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        if may_use == WHAT_THEY_FUZZ && !crates.contains(&FUZZ) {
            return Err(format!("`{WHAT_THEY_FUZZ}` is for `{FUZZ}` only"));
        }
        Ok(Self {
            line,
            tier,
            crates,
            may_use: Uses::read(may_use)?,
        })
    }

    /// Returns the members that `name`, a crate of this row, may use.
    fn resolve(&self, name: &str, rows: &[Self]) -> Result<Vec<String>, String> {
        match &self.may_use {
            Uses::Nothing => Ok(Vec::new()),
            Uses::Named(named) => {
                for other in named {
                    self.may_name(name, other, rows)?;
                }
                Ok(named.iter().map(|&other| other.to_owned()).collect())
            }
            Uses::Tiers(first, last) if Tier::Shipped(*last) < self.tier => {
                Ok(of_tiers(rows, *first, *last))
            }
            Uses::Tiers(..) => Err(format!(
                "`{name}`, of {}, may use all crates of lower tiers only",
                self.tier
            )),
            Uses::All => match self.tier {
                Tier::Shipped(ASSEMBLY) => Ok(of_tiers(rows, 0, ASSEMBLY - 1)),
                Tier::Dev => {
                    let mut all = of_tiers(rows, 0, ASSEMBLY);
                    all.extend((name != TESTKIT).then(|| TESTKIT.to_owned()));
                    Ok(all)
                }
                Tier::Shipped(_) => Err(format!(
                    "`{name}`, of {}, may not use `{ALL}`: that is for tier {ASSEMBLY} and `dev`",
                    self.tier
                )),
            },
        }
    }

    /// Returns an error unless the law permits the row to name `other` for its crate `name`.
    fn may_name(&self, name: &str, other: &str, rows: &[Self]) -> Result<(), String> {
        let Some(row) = rows.iter().find(|row| row.crates.contains(&other)) else {
            return Err(format!("`{name}` may use `{other}`, which has no row"));
        };
        if name == other {
            return Err(format!("`{name}` names itself"));
        }
        let siblings = row.tier == self.tier && self.tier <= Tier::Shipped(SIBLINGS_UP_TO);
        if row.tier < self.tier || siblings || self.tier == Tier::Dev {
            Ok(())
        } else {
            Err(format!(
                "`{name}`, of {}, may not use `{other}`, of {}",
                self.tier, row.tier
            ))
        }
    }
}

impl<'a> Uses<'a> {
    fn read(cell: &'a str) -> Result<Self, String> {
        if cell == NOTHING || cell == WHAT_THEY_FUZZ {
            return Ok(Self::Nothing);
        }
        if cell == ALL {
            return Ok(Self::All);
        }
        if let Some(range) = cell.strip_prefix("tiers ") {
            let ends = range.split_once('–').and_then(|(first, last)| {
                let ends = (tier_number(first)?, tier_number(last)?);
                (ends.0 < ends.1).then_some(ends)
            });
            return match ends {
                Some((first, last)) => Ok(Self::Tiers(first, last)),
                None => Err(format!("`{cell}` is not of the form `tiers 0–2`")),
            };
        }
        let names: Vec<_> = cell.split(',').map(str::trim).collect();
        if names.iter().all(|name| is_name(name)) {
            Ok(Self::Named(names))
        } else {
            Err(format!(
                "what a crate may use is `{NOTHING}`, names with commas between them, `tiers 0–2`, \
                 `{ALL}` or `{WHAT_THEY_FUZZ}`, but not: {cell}"
            ))
        }
    }
}

impl Tier {
    fn read(cell: &str) -> Option<Self> {
        if cell == "dev" {
            Some(Self::Dev)
        } else {
            tier_number(cell).map(Self::Shipped)
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped(number) => write!(f, "tier {number}"),
            Self::Dev => f.write_str("tier `dev`"),
        }
    }
}

fn tier_number(text: &str) -> Option<u8> {
    (0..=ASSEMBLY).find(|number| text == number.to_string())
}

/// Returns the crates of the tiers `first` to `last`.
fn of_tiers(rows: &[Row<'_>], first: u8, last: u8) -> Vec<String> {
    let range = Tier::Shipped(first)..=Tier::Shipped(last);
    let rows = rows.iter().filter(|row| range.contains(&row.tier));
    rows.flat_map(|row| &row.crates)
        .map(|&name| name.to_owned())
        .collect()
}

/// Returns whether a line is the one between the heading and the rows.
fn is_rule(line: &str) -> bool {
    cells(line).is_some_and(|cells| {
        cells.len() == HEAD.len()
            && cells.iter().all(|cell| {
                let dashes = cell.trim_matches(':');
                !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
            })
    })
}

fn at(line: usize, complaint: &str) -> String {
    format!("{DOCUMENT}:{line}: {complaint}")
}

fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_part)
}

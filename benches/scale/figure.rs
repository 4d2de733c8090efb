//! A promised figure: the measurements of each server, round by round, and whether the promise is kept.

use serde_json::{Value, json};

/// Format of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A share of one core.
    Core,
    Seconds,
    Bytes,
    Count,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Core => format!("{:.1} %", value * 100.0),
            Self::Seconds if value < 0.1 => format!("{:.1} ms", value * 1e3),
            Self::Seconds if value < 10.0 => format!("{:.0} ms", value * 1e3),
            Self::Seconds => format!("{value:.1} s"),
            Self::Bytes if value < 10_240.0 => format!("{value:.0} B"),
            Self::Bytes if value < 1_048_576.0 => format!("{:.1} KiB", value / 1_024.0),
            Self::Bytes => format!("{:.1} MiB", value / f64::from(1 << 20)),
            Self::Count if value >= 10.0 || value.fract() == 0.0 => format!("{value:.0}"),
            Self::Count => format!("{value:.2}"),
        }
    }

    /// Formats the median, and the range if there is one.
    fn show_all(self, values: &[f64]) -> String {
        let Some((low, middle, high)) = spread(values) else {
            return "–".to_owned();
        };
        let (low, middle, high) = (self.show(low), self.show(middle), self.show(high));
        if low == high {
            middle
        } else {
            format!("{middle} ({low}–{high})")
        }
    }
}

/// Server by whose cost ours is divided.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Against {
    Floor(Vec<f64>),
    Peer(&'static str, Vec<f64>),
    /// Our server in another setting, with a word for that setting.
    Itself(&'static str, Vec<f64>),
}

impl Against {
    fn values(&self) -> &[f64] {
        match self {
            Self::Floor(values) | Self::Peer(_, values) | Self::Itself(_, values) => values,
        }
    }
}

/// The promise: about the ratio if there is one, else about the figure itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// The median is at most this.
    AtMost(f64),
    /// The median is at least this.
    AtLeast(f64),
    /// No round is above this.
    NeverAbove(f64),
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) scenario: &'static str,
    pub(crate) what: String,
    pub(crate) unit: Unit,
    pub(crate) ours: Vec<f64>,
    pub(crate) against: Option<Against>,
    pub(crate) target: Option<Target>,
}

impl Figure {
    /// Returns the ratios, round by round.
    fn ratios(&self) -> Option<Vec<f64>> {
        let others = self.against.as_ref()?.values();
        let pairs = self.ours.iter().zip(others);
        Some(pairs.map(|(ours, other)| ours / other).collect())
    }

    /// Returns whether the promise is kept; `None` if nothing was promised or measured.
    pub(crate) fn is_met(&self) -> Option<bool> {
        let judged = self.ratios().unwrap_or_else(|| self.ours.clone());
        let (_, median, highest) = spread(&judged)?;
        Some(match self.target? {
            Target::AtMost(limit) => median <= limit,
            Target::AtLeast(limit) => median >= limit,
            Target::NeverAbove(limit) => highest <= limit,
        })
    }

    /// Returns the cells of its row.
    pub(crate) fn cells(&self) -> [String; 8] {
        let ratios = self.ratios();
        let (floor, peer) = match &self.against {
            None => (String::new(), String::new()),
            Some(Against::Floor(values)) => (self.unit.show_all(values), String::new()),
            Some(Against::Peer(name, values) | Against::Itself(name, values)) => (
                String::new(),
                format!("{name}: {}", self.unit.show_all(values)),
            ),
        };
        let shown = |limit: f64| match ratios {
            Some(_) => format!("{limit:.2}"),
            None => self.unit.show(limit),
        };
        let target = self.target.map(|target| match target {
            Target::AtMost(limit) | Target::NeverAbove(limit) => format!("≤ {}", shown(limit)),
            Target::AtLeast(limit) => format!("≥ {}", shown(limit)),
        });
        let ratio = ratios.as_deref().and_then(spread);
        let ratio = ratio.map(|(low, middle, high)| {
            if self.ours.len() > 1 {
                format!("{middle:.2} ({low:.2}–{high:.2})")
            } else {
                format!("{middle:.2}")
            }
        });
        let met = self.is_met().map(|met| if met { "yes" } else { "NO" });
        [
            self.scenario.to_owned(),
            self.what.clone(),
            self.unit.show_all(&self.ours),
            floor,
            peer,
            ratio.unwrap_or_default(),
            target.unwrap_or_default(),
            met.unwrap_or_default().to_owned(),
        ]
    }

    pub(crate) fn json(&self) -> Value {
        let against = self.against.as_ref().map(|against| match against {
            Against::Floor(values) => json!({ "who": "floor", "rounds": values }),
            Against::Peer(name, values) | Against::Itself(name, values) => {
                json!({ "who": name, "rounds": values })
            }
        });
        let target = self.target.map(|target| match target {
            Target::AtMost(limit) => json!({ "median_at_most": limit }),
            Target::AtLeast(limit) => json!({ "median_at_least": limit }),
            Target::NeverAbove(limit) => json!({ "never_above": limit }),
        });
        json!({
            "scenario": self.scenario,
            "what": self.what,
            "unit": match self.unit {
                Unit::Core => "cores",
                Unit::Seconds => "seconds",
                Unit::Bytes => "bytes",
                Unit::Count => "count",
            },
            "ours": self.ours,
            "median": spread(&self.ours).map(|(_, middle, _)| middle),
            "against": against,
            "ratios": self.ratios(),
            "ratio": self.ratios().as_deref().and_then(spread).map(|(_, middle, _)| middle),
            "target": target,
            "met": self.is_met(),
        })
    }
}

/// Returns the minimum, the median and the maximum.
fn spread(values: &[f64]) -> Option<(f64, f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median = if sorted.len().is_multiple_of(2) {
        (sorted.get(middle.checked_sub(1)?)? + sorted.get(middle)?) / 2.0
    } else {
        *sorted.get(middle)?
    };
    Some((*sorted.first()?, median, *sorted.last()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(ours: &[f64], against: Option<Against>, target: Target) -> Figure {
        Figure {
            scenario: "s",
            what: "CPU".to_owned(),
            unit: Unit::Core,
            ours: ours.to_vec(),
            against,
            target: Some(target),
        }
    }

    #[test]
    fn a_ratio_is_of_one_round() {
        // The medians alone, 0.2 and 0.4, would give 0.5; the rounds give 0.25, 0.5 and 4.
        let floor = Against::Floor(vec![0.4, 0.4, 0.1]);
        let row = figure(&[0.1, 0.2, 0.4], Some(floor), Target::AtMost(0.5));
        assert_eq!(row.ratios(), Some(vec![0.25, 0.5, 4.0]));
        assert_eq!(row.is_met(), Some(true));
        let cells = row.cells();
        assert_eq!(cells[2], "20.0 % (10.0 %–40.0 %)");
        assert_eq!(
            (&cells[5][..], &cells[6][..]),
            ("0.50 (0.25–4.00)", "≤ 0.50")
        );
    }

    #[test]
    fn the_worst_round_may_decide() {
        let row = figure(&[0.0, 0.0, 1.0], None, Target::NeverAbove(0.0));
        assert_eq!(row.is_met(), Some(false));
        assert_eq!(figure(&[], None, Target::AtLeast(1.0)).is_met(), None);
    }

    #[test]
    fn two_rounds_have_a_middle() {
        assert_eq!(spread(&[3.0, 1.0]), Some((1.0, 2.0, 3.0)));
        assert_eq!(spread(&[]), None);
    }
}

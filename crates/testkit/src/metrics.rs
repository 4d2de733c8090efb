//! The server's metrics page as numbers.

use std::collections::BTreeMap;

/// Samples of one scrape, by name and labels as in the text.
#[derive(Clone, Debug, Default)]
pub struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    /// Parses the Prometheus text format; comments are skipped.
    pub fn parse(text: &str) -> Self {
        let samples = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| {
                // Label values may contain spaces; the value comes after the brace or the first space.
                let split = line
                    .rfind('}')
                    .map_or_else(|| line.find(' '), |brace| Some(brace + 1))?;
                let (series, rest) = line.split_at(split);
                Some((
                    series.to_owned(),
                    rest.split_whitespace().next()?.parse().ok()?,
                ))
            });
        Self(samples.collect())
    }

    /// Returns one series, written as on the page: `carillon_streams` or `carillon_listeners{protocol="http"}`.
    pub fn get(&self, series: &str) -> Option<f64> {
        self.0.get(series).copied()
    }

    /// Returns the sum over all label sets of a name that contain every one of `labels` (`key="value"`); 0 if there is none.
    pub fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let matches = |series: &str| {
            let (own, rest) = series.split_once('{').unwrap_or((series, ""));
            let pairs = || rest.trim_end_matches('}').split(',');
            let has = |label: &&str| pairs().any(|pair| pair == *label);
            own == name && labels.iter().all(has)
        };
        self.0
            .iter()
            .filter(|(series, _)| matches(series))
            .map(|(_, value)| value)
            .sum()
    }

    /// Returns all series.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0
            .iter()
            .map(|(series, value)| (series.as_str(), *value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_found_and_summed() {
        let metrics = Metrics::parse(
            "# HELP x y\n# TYPE x gauge\ncarillon_streams 2\nl{protocol=\"http\",k=\"a b\"} 3 170\n\
             l{protocol=\"rtmp\"} 4.5\n# EOF\n",
        );
        assert_eq!(metrics.get("carillon_streams"), Some(2.0));
        assert_eq!(metrics.get("l{protocol=\"http\",k=\"a b\"}"), Some(3.0));
        assert_eq!(metrics.sum("l", &[]), 7.5);
        assert_eq!(metrics.sum("l", &["protocol=\"rtmp\""]), 4.5);
        assert_eq!(metrics.sum("absent", &[]), 0.0);
        assert_eq!(metrics.iter().count(), 3);
    }
}

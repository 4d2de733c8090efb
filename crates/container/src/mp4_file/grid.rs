//! Restoration of frame times that were rounded on their way, by RTMP to milliseconds: editors take them for a variable
//! rate.
//!
//! If every frame of a track is within a millisecond of a line of one grid, of n or n/1.001 lines per second, each
//! frame is moved to its line. Lines may be empty: encoders drop frames, publishers leave and return. If a single frame
//! is off the lines, all times stay as they are.

use super::table::{RunLengths, Table};

/// Rate of the finest grid: a finer one has lines near every time.
const RATE_MAX: u32 = 240;

/// Allowed distance of a frame from its line, in milliseconds.
const TOLERANCE: u32 = 1;

/// Grid of `numerator / denominator` lines per second.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Grid {
    numerator: u32,
    denominator: u32,
}

/// Frame times moved to a grid, on a clock of their own.
struct Aligned {
    timescale: u32,
    durations: RunLengths<u32>,
    compositions: RunLengths<i32>,
    /// Total duration.
    total: u64,
    /// Largest distance of a frame from its line, in seconds.
    error: f64,
}

/// Moves the frames of a track to their grid, if they have one.
pub(super) fn align(table: &mut Table) {
    let grids = candidates(table).into_iter().flatten();
    let fits = grids.filter_map(|grid| grid.align(table));
    let Some(best) = fits.min_by(|a, b| a.error.total_cmp(&b.error)) else {
        return;
    };
    let at = u128::from(table.at) * u128::from(best.timescale) / u128::from(table.timescale);
    table.at = u64::try_from(at).unwrap_or(u64::MAX);
    table.end = table.at.saturating_add(best.total);
    table.timescale = best.timescale;
    (table.durations, table.compositions) = (best.durations, best.compositions);
}

/// Returns the likely grids: of the mean of the usual durations, and those next to it.
fn candidates(table: &Table) -> [Option<Grid>; 4] {
    let mut sorted: Vec<(u32, u32)> = table.durations.0.clone();
    sorted.sort_unstable_by_key(|(_, duration)| *duration);
    let mut before = 0;
    let median = sorted.iter().find(|(count, _)| {
        before += *count as usize;
        2 * before >= table.sizes.len()
    });
    let Some((_, median)) = median else {
        return [None; 4];
    };
    let near = 2 * (table.timescale / 1_000).max(1);
    let usual = sorted
        .iter()
        .filter(|(_, duration)| duration.abs_diff(*median) <= near);
    let (count, units) = usual.fold((0.0, 0.0), |(all, units), (count, duration)| {
        let count = f64::from(*count);
        (all + count, units + count * f64::from(*duration))
    });
    let rate = count * f64::from(table.timescale) / units;
    // A conversion of floats saturates.
    let [below, above] = [rate.floor() as u32, rate.ceil() as u32];
    let grid = |rate: u32, denominator| {
        (1..=RATE_MAX).contains(&rate).then(|| Grid {
            numerator: 1_000 * rate,
            denominator,
        })
    };
    [
        grid(below, 1_000),
        grid(above, 1_000),
        grid(below, 1_001),
        grid(above, 1_001),
    ]
}

impl Grid {
    /// Returns the line nearest to a time, and its distance in units of the track's clock times the numerator.
    fn line(self, at: i128, timescale: u32) -> (i128, i128) {
        let span = i128::from(timescale) * i128::from(self.denominator);
        let scaled = at * i128::from(self.numerator);
        let line = (2 * scaled + span).div_euclid(2 * span);
        (line, (scaled - line * span).abs())
    }

    /// Moves the frames of a track to this grid; `None` if a frame has no line of its own.
    fn align(self, table: &Table) -> Option<Aligned> {
        let scale = table.timescale;
        let whole = u64::from(scale) * u64::from(self.denominator);
        let (timescale, step) = match whole.checked_rem(self.numerator.into()) {
            Some(0) => (
                scale,
                u32::try_from(whole / u64::from(self.numerator)).ok()?,
            ),
            _ => (self.numerator, self.denominator),
        };
        // One more unit covers the rounding to the track's clock.
        let tolerance = i128::from(self.numerator) * i128::from(TOLERANCE * scale / 1_000 + 1);
        let mut durations = RunLengths::default();
        let mut compositions = RunLengths::default();
        let (mut at, mut farthest, mut total) = (0_i128, 0, 0_u64);
        let mut line = 0;
        let pictures = table.durations.iter().zip(table.compositions.iter());
        for (number, (duration, composition)) in (1..).zip(pictures) {
            let (shown, distance) = self.line(at + i128::from(composition), scale);
            farthest = farthest.max(distance);
            compositions.push(i32::try_from((shown - line) * i128::from(step)).ok()?);
            at += i128::from(duration);
            let (mut next, distance) = self.line(at, scale);
            // The duration of the last frame is assumed.
            match number == table.sizes.len() {
                true => next = next.max(line + 1),
                false => farthest = farthest.max(distance),
            }
            let lines = u64::try_from(next - line).ok().filter(|lines| *lines > 0)?;
            let lasts = lines.checked_mul(step.into())?;
            durations.push(u32::try_from(lasts).ok()?);
            total = total.checked_add(lasts)?;
            line = next;
            if farthest > tolerance {
                return None;
            }
        }
        Some(Aligned {
            timescale,
            durations,
            compositions,
            total,
            error: farthest as f64 / f64::from(self.numerator) / f64::from(scale),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A track on a clock of 90,000 with frames at these times, in seconds, which are rounded to milliseconds.
    fn table(times: impl IntoIterator<Item = f64>, composition: f64) -> Table {
        let millis = |seconds: f64| 90 * (1_000.0 * seconds).round() as i64;
        let times: Vec<f64> = times.into_iter().collect();
        let mut table = Table::new(90_000);
        for pair in times.windows(2) {
            let duration = millis(pair[1]) - millis(pair[0]);
            table.sizes.push(1);
            table.durations.push(duration as u32);
            let shown = millis(pair[0] + composition) - millis(pair[0]);
            table.compositions.push(shown as i32);
            table.end += duration as u64;
        }
        table
    }

    fn at_rate(rate: f64) -> impl Iterator<Item = f64> {
        (0..=3_000).map(move |number| f64::from(number) / rate)
    }

    #[test]
    fn rounded_times_are_put_on_their_grid() {
        for (rate, timescale, step) in [
            (24_000.0 / 1_001.0, 24_000, 1_001),
            (24.0, 90_000, 3_750),
            (25.0, 90_000, 3_600),
            (30_000.0 / 1_001.0, 90_000, 3_003),
            (30.0, 90_000, 3_000),
            (50.0, 90_000, 1_800),
            (60_000.0 / 1_001.0, 60_000, 1_001),
            (60.0, 90_000, 1_500),
            (144.0, 90_000, 625),
            (7.0, 7_000, 1_000),
        ] {
            let mut table = table(at_rate(rate), 2.0 / rate);
            align(&mut table);
            assert_eq!(table.timescale, timescale, "{rate}");
            assert_eq!(table.durations.0, [(3_000, step)], "{rate}");
            assert_eq!(table.compositions.0, [(3_000, 2 * step as i32)], "{rate}");
            assert!((table.seconds() - 3_000.0 / rate).abs() < 1e-6, "{rate}");
        }
    }

    #[test]
    fn pictures_that_are_missing_leave_their_lines_empty() {
        let kept = at_rate(30.0).enumerate();
        let kept = kept.filter(|(number, _)| !matches!(number, 7 | 500..900));
        let mut table = table(kept.map(|(_, at)| at), 0.0);
        table.at = 900;
        align(&mut table);
        let wanted = [
            (6, 3_000),
            (1, 6_000),
            (491, 3_000),
            (1, 401 * 3_000),
            (2_100, 3_000),
        ];
        assert_eq!(table.durations.0, wanted);
        assert_eq!((table.at, table.duration()), (900, 3_000 * 3_000));
    }

    #[test]
    fn other_times_stay_as_they_are() {
        // A camera that follows the light; a clock that runs differently; a frame that arrived late.
        let varying =
            (0..300).map(|number| f64::from(number) * (0.033 + 0.000_05 * f64::from(number)));
        let drifting = at_rate(30.01);
        let late = at_rate(30.0).map(|at| if at == 50.0 { at + 0.002 } else { at });
        let all_at_once = vec![1.0; 300];
        let times: [Vec<f64>; 5] = [
            varying.collect(),
            drifting.collect(),
            late.collect(),
            all_at_once,
            vec![],
        ];
        for times in times {
            let mut table = table(times, 0.0);
            let before = table.durations.0.clone();
            align(&mut table);
            assert_eq!((table.timescale, &table.durations.0), (90_000, &before));
        }
    }
}

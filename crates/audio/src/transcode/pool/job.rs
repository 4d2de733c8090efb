//! One stream: its queue, its transcoder, its sink.
//!
//! The queue's lock is held for a push or a pop, never while audio is transcoded. The `scheduled` flag under it says that the
//! job is in the queue of ready jobs or is running, so at most one thread has it, and no thread ever waits for the lock on the
//! work.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use base::{Lock, Numbers};
use media::{Sample, Timestamp, Track};

use super::OpusSink;
use super::report::{Monitor, Report, State};
use crate::transcode::{Caveat, Options, Stats, Transcoder, Unsupported};

/// Largest number of waiting samples: the replay that a tap begins with (some seconds of audio at 50 frames per second), and
/// the backlog of a thread that is behind by as much again.
const QUEUE_SAMPLES_MAX: usize = 512;

/// Largest number of waiting bytes: the same time at the highest bitrate of MP3.
const QUEUE_BYTES_MAX: usize = 512 * 1024;

/// Number of samples that one step transcodes: about a third of a second of audio and a few milliseconds of work, after which
/// other streams are served.
const TURN_SAMPLES_MAX: usize = 16;

/// Input from a feed.
pub(super) enum Input {
    Track(Arc<Track>),
    Sample(Sample),
}

/// One stream of the pool.
pub(super) struct Job {
    queue: Lock<Queue>,
    work: Lock<Option<Work>>,
    report: Arc<Lock<Report>>,
}

#[derive(Default)]
struct Queue {
    inputs: VecDeque<Input>,
    samples: usize,
    bytes: usize,
    dropped_samples: u64,
    /// Whether the job is in the queue of ready jobs, or is running.
    scheduled: bool,
    /// Whether the feed is gone, so that nothing follows.
    closed: bool,
    /// Whether the last input was taken.
    ended: bool,
}

/// Input of one step.
struct JobStep {
    inputs: Vec<Input>,
    /// Whether these are the last inputs.
    is_last: bool,
    dropped_samples: u64,
}

impl Job {
    pub(super) fn new(options: Options, sink: Box<dyn OpusSink>) -> Arc<Self> {
        Arc::new(Self {
            queue: Lock::default(),
            work: Lock::new(Some(Work::new(options, sink))),
            report: Arc::default(),
        })
    }

    /// Queues `input`; returns true if the job must be put into the ready queue.
    pub(super) fn enqueue(&self, input: Input) -> bool {
        let mut queue = self.queue.lock();
        queue.push(input);
        queue.schedule()
    }

    /// Ends the input; returns true if the job must be put into the ready queue.
    pub(super) fn close(&self) -> bool {
        let mut queue = self.queue.lock();
        queue.closed = true;
        queue.schedule()
    }

    pub(super) fn monitor(&self) -> Monitor {
        Monitor(Arc::clone(&self.report))
    }

    /// Processes some of the queued input; returns true if the job must be put into the ready queue again.
    pub(super) fn turn(&self) -> bool {
        let began = Instant::now();
        let turn = self.queue.lock().take();
        let mut work = self.work.lock();
        let is_broken = match &mut *work {
            // A sink is the caller's code; its panic must not end the thread that all streams share. Unwind safety: the work is
            // dropped after a panic.
            Some(active) => catch_unwind(AssertUnwindSafe(|| {
                active.process(turn.inputs, turn.is_last)
            }))
            .is_err(),
            None => false,
        };
        {
            let mut report = self.report.lock();
            report.dropped_samples = turn.dropped_samples;
            report.busy += began.elapsed();
            match &*work {
                Some(_) if is_broken => report.state = State::Broken,
                Some(active) => active.describe(&mut report),
                None => {}
            }
        }
        if is_broken || turn.is_last {
            *work = None;
        }
        drop(work);
        self.queue.lock().finish_turn()
    }
}

impl Queue {
    fn push(&mut self, input: Input) {
        if let Input::Sample(sample) = &input {
            let bytes = sample.data.len();
            if self.samples == QUEUE_SAMPLES_MAX || self.bytes + bytes > QUEUE_BYTES_MAX {
                self.drop_samples();
            }
            if bytes > QUEUE_BYTES_MAX {
                self.dropped_samples += 1;
                return;
            }
            self.samples += 1;
            self.bytes += bytes;
        } else if let Some(Input::Track(_)) = self.inputs.back() {
            // The replaced track has no samples; tracks alone never fill the queue.
            self.inputs.pop_back();
        }
        self.inputs.push_back(input);
    }

    /// Drops everything that waits except the last track. One long gap is less annoying than many short ones, and the next
    /// input is closest to the present.
    fn drop_samples(&mut self) {
        self.dropped_samples += self.samples as u64;
        let last_track = self
            .inputs
            .drain(..)
            .rfind(|input| matches!(input, Input::Track(_)));
        self.inputs.extend(last_track);
        self.samples = 0;
        self.bytes = 0;
    }

    fn take(&mut self) -> JobStep {
        let count = self.inputs.len().min(TURN_SAMPLES_MAX);
        let inputs: Vec<_> = self.inputs.drain(..count).collect();
        for input in &inputs {
            if let Input::Sample(sample) = input {
                self.samples -= 1;
                self.bytes -= sample.data.len();
            }
        }
        self.ended = self.closed && self.inputs.is_empty();
        JobStep {
            inputs,
            is_last: self.ended,
            dropped_samples: self.dropped_samples,
        }
    }

    /// Marks the job as scheduled; returns true if it was not.
    fn schedule(&mut self) -> bool {
        !std::mem::replace(&mut self.scheduled, true)
    }

    /// Whether there is more to do; if not, the next push schedules the job again.
    fn finish_turn(&mut self) -> bool {
        self.scheduled = !self.inputs.is_empty() || self.closed && !self.ended;
        self.scheduled
    }
}

/// State that a thread works on during a step.
struct Work {
    options: Options,
    sink: Box<dyn OpusSink>,
    state: State,
    transcoder: Option<Transcoder>,
    /// End of the output of past transcoders.
    ended: Option<Timestamp>,
    /// Sum over the transcoders before the present one.
    past: Stats,
    /// Caveat that the sink was notified of.
    caveat: Option<Caveat>,
    packets: Vec<Sample>,
}

impl Work {
    fn new(options: Options, sink: Box<dyn OpusSink>) -> Self {
        Self {
            options,
            sink,
            state: State::Waiting,
            transcoder: None,
            ended: None,
            past: Stats::default(),
            caveat: None,
            packets: Vec::new(),
        }
    }

    fn process(&mut self, inputs: Vec<Input>, is_last: bool) {
        for input in inputs {
            let outcome = match input {
                Input::Track(track) => self.retune(&track),
                Input::Sample(sample) => match &mut self.transcoder {
                    Some(transcoder) => transcoder.push(&sample, &mut self.packets),
                    None => Ok(()),
                },
            };
            if let Err(reason) = outcome {
                self.refuse(reason);
            }
            self.mention_caveat();
            self.give_out();
        }
        if is_last && let Some(transcoder) = &mut self.transcoder {
            transcoder.finish(&mut self.packets);
            self.give_out();
        }
    }

    fn retune(&mut self, track: &Track) -> Result<(), Unsupported> {
        self.caveat = None;
        if let Some(transcoder) = &mut self.transcoder {
            transcoder.retune(track, &mut self.packets)?;
        } else {
            let mut transcoder = Transcoder::open(track, self.options)?;
            transcoder.ended = self.ended;
            self.sink.track(transcoder.output());
            self.transcoder = Some(transcoder);
        }
        self.state = State::Running;
        Ok(())
    }

    fn refuse(&mut self, reason: Unsupported) {
        if let Some(mut transcoder) = self.transcoder.take() {
            transcoder.finish(&mut self.packets);
            self.give_out();
            self.ended = transcoder.ended;
            self.past.merge(transcoder.stats());
        }
        self.sink.unsupported(&reason);
        self.state = State::Unsupported(reason);
    }

    fn mention_caveat(&mut self) {
        let caveat = self.transcoder.as_ref().and_then(Transcoder::caveat);
        if caveat != self.caveat {
            self.caveat = caveat;
            if let Some(caveat) = &caveat {
                self.sink.caveat(caveat);
            }
        }
    }

    fn give_out(&mut self) {
        for packet in self.packets.drain(..) {
            self.sink.sample(packet);
        }
    }

    fn describe(&self, report: &mut Report) {
        report.state = self.state.clone();
        report.stats = self.past;
        if let Some(transcoder) = &self.transcoder {
            report.stats.merge(transcoder.stats());
        }
    }
}

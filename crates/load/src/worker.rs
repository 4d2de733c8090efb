//! A single process of a load: reads a plan from its standard input, and reports events on its standard output, one JSON
//! document per line.

use std::io::{self, Write};

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use serde::{Deserialize, Serialize};

use crate::args::Listening;
use crate::group::Group;
use crate::hls::audience::Players;
use crate::listen::Listeners;
use crate::plan::{Plan, Work};
use crate::publish::Publishers;
use crate::rtc;
use crate::tally::{Progress, Tally};
use crate::target::Protocol;

/// An output line of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Word {
    Progress(Progress),
    Done(Box<Tally>),
}

/// Carries out the plan on the standard input.
pub(crate) fn run() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let plan: Plan = serde_json::from_reader(io::stdin().lock())?;
    raise_descriptor_limit();
    let mut out = io::stdout().lock();
    let mut tell = |word: &Word| -> io::Result<()> {
        serde_json::to_writer(&mut out, word)?;
        out.write_all(b"\n")?;
        out.flush()
    };
    let mut failed = Ok(());
    let mut progress = |now| {
        if let Err(error) = tell(&Word::Progress(now)) {
            failed = Err(error);
        }
    };
    let tally = carry_out(&plan, &mut progress)?;
    failed?;
    tell(&Word::Done(Box::new(tally)))
}

/// Runs this process's members to the end of the plan.
pub(crate) fn carry_out(plan: &Plan, progress: &mut dyn FnMut(Progress)) -> io::Result<Tally> {
    // Publishers listen to nothing.
    let nothing = Listening::default();
    match (&plan.work, plan.target.protocol) {
        (Work::Listen(listening), Protocol::Whep | Protocol::Srtp) => {
            Group::new(plan, listening, rtc::audience::Viewers::new()?)?.run(progress)
        }
        (Work::Listen(listening), Protocol::Hls) => {
            Group::new(plan, listening, Players::new(plan))?.run(progress)
        }
        (Work::Listen(listening), _) => {
            Group::new(plan, listening, Listeners::new(plan, listening)?)?.run(progress)
        }
        (Work::Publish(source), Protocol::Whip) => {
            let publishers = rtc::publishers::Publishers::new(source)?;
            Group::new(plan, &nothing, publishers)?.run(progress)
        }
        (Work::Publish(source), protocol) => {
            Group::new(plan, &nothing, Publishers::new(source, protocol)?)?.run(progress)
        }
    }
}

/// Raises the descriptor limit as far as the system grants; returns the limit.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let granted = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: granted.maximum,
        maximum: granted.maximum,
    };
    let limit = match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => granted.maximum,
        Err(_) => granted.current,
    };
    limit.unwrap_or(u64::MAX)
}

//! One process of a load: it gets a plan on its standard input, and reports on its standard output what
//! happens, one JSON document per line.

use std::io::{self, Write};

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use serde::{Deserialize, Serialize};

use crate::plan::{Plan, Work};
use crate::tally::{Progress, Tally};
use crate::target::Protocol;
use crate::{hls, listen, publish, rtc};

/// A line of a process.
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
    let tally = match &plan.work {
        Work::Listen(listening) => match plan.target.protocol() {
            Protocol::Whep | Protocol::Srtp => rtc::audience::run(&plan, listening, &mut progress)?,
            Protocol::Hls => hls::audience::run(&plan, listening, &mut progress)?,
            _ => listen::run(&plan, listening, &mut progress)?,
        },
        Work::Publish(source) if plan.target.protocol() == Protocol::Whip => {
            rtc::publishers::run(&plan, source, &mut progress)?
        }
        Work::Publish(source) => publish::run(&plan, source, &mut progress)?,
    };
    failed?;
    tell(&Word::Done(Box::new(tally)))
}

/// As many descriptors as the system grants; returns how many.
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

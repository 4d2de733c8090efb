//! Guards: their decisions on virtual time, what they splice, and whole ones with a real registry on tokio's paused clock.

mod guards;
mod machine;
mod splice;

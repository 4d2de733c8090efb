//! Players that follow a script.

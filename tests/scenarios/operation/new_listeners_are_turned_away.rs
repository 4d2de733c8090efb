//! A server that runs out of a resource refuses new listeners in good time, and present listeners notice nothing.

use crate::support::descriptors::before_descriptors_run_out;

#[test]
fn before_descriptors_run_out_with_io_uring() {
    before_descriptors_run_out("io_uring");
}

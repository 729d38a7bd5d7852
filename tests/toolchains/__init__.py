"""Each toolchain against tables of cases, without a process."""

"""The law of a job: pure. No I/O, no clock, no randomness; time and ids come in as arguments."""

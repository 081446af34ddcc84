"""polyak beside its peers, timed in one run on one machine: ``python -m benchmarks --help``."""

"""The parts of the theory's experiment, one for each thing that is held against computation."""

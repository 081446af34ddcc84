"""Learning from rows: schedules, averaging, banks of models, the race and the learner."""

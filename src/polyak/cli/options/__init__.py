"""Options of commands: how they are read, those that several share, and their help."""

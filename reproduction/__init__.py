"""The paper: its theory, its rivals, its data sets and its experiments."""

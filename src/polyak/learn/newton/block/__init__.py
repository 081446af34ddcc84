"""One block of rows: its linear algebra, the step to its optimum, and how well that does."""

"""Linear models of wide dense rows: matrix products, on whatever device holds the rows."""

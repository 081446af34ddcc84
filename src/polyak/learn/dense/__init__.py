"""Linear models of wide dense rows: blocks of matrix products, on whatever device holds the rows."""

"""The experiments: each lists what it computes, and turns results into numbers and figures."""

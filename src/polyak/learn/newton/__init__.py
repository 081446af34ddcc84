"""The lane of block Newton steps, for rows of few features."""

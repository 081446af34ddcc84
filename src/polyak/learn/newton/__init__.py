"""Block Newton steps, for rows of up to about a thousand features."""

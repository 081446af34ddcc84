"""Tables: schema inference, and encoding of columns as numeric features."""

"""Tables: what their columns mean, and how their cells become numbers."""

"""What the first rows tell: who enters the race, at which rates, and how features spread."""

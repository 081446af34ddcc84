"""How a run is going, on the screen."""

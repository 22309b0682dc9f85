"""Training of image networks with several classes: clean, against attackers, in steps or in epochs."""

"""What the numbers of a probe say, in plain sentences that show the thresholds they rest on."""

"""StereoSet, its gender-swapped enhancement and CrowS-Pairs: reading, repairing, scoring."""

"""StereoSet, its gender-swapped enhancement and CrowS-Pairs: files, repairs and scores."""

"""Tests of stereotypes, a reader and a score each: StereoSet, CrowS-Pairs, BBQ and others."""

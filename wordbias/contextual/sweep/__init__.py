"""The sweep over all settings of Dawkins et al. (2024), in little more than one pass."""

"""The sweep over all settings of Dawkins et al. (2024), for little more than the cost of one pass."""

"""All settings of Dawkins et al. (2024) at the price of little more than one pass."""

"""WinoBias (Zhao et al. 2018): whom a pronoun is taken for, and whether its gender decides that."""

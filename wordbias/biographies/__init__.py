"""The occupation experiment of Orgad et al. (2022): does a debiased classifier only look fair."""

"""An experiment of Orgad et al. (2022): strategies under seeds, before and after retraining."""

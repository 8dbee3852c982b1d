"""Fairness of what is built on representations: data without gendered words."""

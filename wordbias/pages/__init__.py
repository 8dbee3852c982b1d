"""What is made of results for people: figures."""

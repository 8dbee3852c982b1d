"""Views: each claims the rows that it knows, and builds sections of them."""

.PHONY: test lint format wheel

test:
	pytest -n auto

lint:
	ruff check wordbias tests
	ruff format --check wordbias tests
	mypy wordbias
	lint-imports

format:
	ruff format wordbias tests
	ruff check --fix wordbias tests

wheel:
	python -m build --wheel

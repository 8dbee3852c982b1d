.PHONY: test lint format package

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

package:
	python tools/check_package.py --output dist

.PHONY: test all lint format package

test:
	pytest -n auto

all:
	pytest -n auto -m ""

lint:
	ruff check wordbias tests integrations
	ruff format --check wordbias tests integrations
	mypy wordbias
	lint-imports
	python tools/structure.py --check

format:
	ruff format wordbias tests integrations
	ruff check --fix wordbias tests integrations

package:
	python tools/check_package.py --output dist

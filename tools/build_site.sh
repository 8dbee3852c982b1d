#!/usr/bin/env bash
# Build the documentation site, without a warning: tools/build_site.sh [FOLDER], by default build/site.
# Needs wordbias with its extra "docs" (pip install -e '.[docs]'), whose commands and docstrings become
# the reference, and no network. External links are checked, with a network, by:
# sphinx-build -b linkcheck -c docs/site . build/links
set -euo pipefail
folder=$(realpath -m "${1:-$(dirname "$0")/../build/site}")
cd "$(dirname "$0")/.."

if ! command -v sphinx-build > /dev/null; then
    echo "sphinx-build is not installed: pip install -e '.[docs]'" >&2
    exit 1
fi
# the parse cache stands beside the pages, so that these hold only what a server needs
sphinx-build --quiet --fail-on-warning --keep-going -b html -c docs/site \
    -d "$folder.doctrees" . "$folder"
python tools/site_versions.py "$folder"
echo "$folder/index.html"

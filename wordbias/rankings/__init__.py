"""Lists of documents that queries retrieve: how a changed name moves them."""

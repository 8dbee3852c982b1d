"""Words as bytes of a file, whatever bytes these are."""


def as_text(data: bytes) -> str:
    """Decode a word; bytes that are not UTF-8 are kept, reversibly, as lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(word: str) -> bytes:
    """Encode a word as `as_text` decoded it."""
    return word.encode("utf-8", "surrogateescape")

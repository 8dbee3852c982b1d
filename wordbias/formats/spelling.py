"""Words as bytes of a file, whatever bytes these are, and texts that have no bytes."""


def as_text(data: bytes) -> str:
    """Decode a word; bytes that are not UTF-8 are kept, reversibly, as lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(word: str) -> bytes:
    """Encode a word as `as_text` decoded it."""
    return word.encode("utf-8", "surrogateescape")


def is_half(text: str) -> bool:
    """Say whether a text holds half of a surrogate pair, which JSON can escape and no UTF-8 has."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False

"""Optional packages: found, or named together with the line that installs them."""

import importlib
from types import ModuleType

from wordbias.errors import WordbiasError


def need(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or say what needs it and how to install it.

    Parameters
    ----------
    module
        Dotted name of the module to import.
    extra
        The extra of this package that installs it.
    purpose
        What cannot be done without it, as the beginning of a sentence.

    Raises
    ------
    WordbiasError
        If the module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise WordbiasError(
            f"{purpose} needs {error.name}; install it with: pip install 'wordbias[{extra}]' "
            f"(in a checkout: pip install '.[{extra}]')"
        ) from None

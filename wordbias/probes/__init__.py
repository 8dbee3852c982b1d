"""Probes of representations: MDL online codes, accuracy and CEAT."""

from typing import TYPE_CHECKING, Any

from wordbias.first_use import on_first_use

if TYPE_CHECKING:
    from wordbias.probes.accuracy import probe_accuracy as probe_accuracy
    from wordbias.probes.mdl import online_code as online_code
    from wordbias.probes.mdl import online_codes as online_codes

_HOME = {
    "online_code": "mdl",
    "online_codes": "mdl",
    "probe_accuracy": "accuracy",
}
__all__ = [
    "online_code",
    "online_codes",
    "probe_accuracy",
]


def __getattr__(name: str) -> Any:
    return on_first_use(__name__, _HOME, name)


def __dir__() -> list[str]:
    return __all__

"""setuptools for editable installs and source archives; for a wheel, a sentence.

A wheel would lack conf/, and its top-level packages `launch` and `analysis` have too common names for site-packages.
"""

import sys
from typing import Any, NoReturn

from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
]

INSTEAD = (
    "plasticity_lab is installed from a clone, in place: run `make setup` there, or `pip install -e .`; "
    "a wheel of it would lack conf/ and its plugins."
)


def get_requires_for_build_wheel(config_settings: Any = None) -> NoReturn:
    """What `pip install .` and `pip wheel .` call first, before they download anything.  Ends with the sentence."""
    sys.exit(INSTEAD)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> NoReturn:
    """The same, for those that call it alone."""
    sys.exit(INSTEAD)

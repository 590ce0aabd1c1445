"""setuptools, with a wheel that holds the package plasticity_lab alone.

Its other packages, `launch` and `analysis`, have too common names for site-packages, and need conf/. They run in a
clone.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import find_packages
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
)
from setuptools.command.bdist_wheel import bdist_wheel

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
]


class WheelOfTheLaboratory(bdist_wheel):
    """The command that builds a wheel. Editable installs do not run it."""

    def run(self) -> None:
        """Builds it in a new folder: in the tree's build/ there may be modules that have been removed since."""
        self.distribution.packages = find_packages(include=["plasticity_lab", "plasticity_lab.*"])
        with TemporaryDirectory() as folder:
            build = self.distribution.get_command_obj("build")
            build.build_base, self.bdist_dir = folder, str(Path(folder, "wheel"))
            super().run()

"""The public names; tests/test_packaging.py imports them where torch and numpy are the only packages."""

import pytest

from plasticity_lab import outside


def test_another_name_is_refused_with_the_right_ones():
    with pytest.raises(AttributeError, match="measure"):
        outside.measures  # noqa: B018
    assert dir(outside) == sorted(outside.PLACES)

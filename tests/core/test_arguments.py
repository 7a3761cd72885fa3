"""Arguments of calls from Python, refused in the words that settings are refused in."""

from typing import Annotated

import numpy as np
import pytest
from msgspec import Meta

from sparring.core import InputError, check_argument
from sparring.core.devices import DeviceName
from sparring.core.settings import Count


@pytest.mark.parametrize(
    ("value", "kind"), [(3, Count), (np.int64(3), Count), (None, Count | None), ("cpu", DeviceName)]
)
def test_what_fits_passes(value, kind):
    check_argument("it", value, kind)


@pytest.mark.parametrize(
    ("value", "kind", "allowed"),
    [
        (0, Count, "a whole number, 1 or more"),
        ("4", Count, "a whole number, 1 or more"),
        (True, Count, "a whole number, 1 or more"),
        (np.float64(1), Count, "a whole number, 1 or more"),
        ("gpu", DeviceName, "auto, cpu, cuda, mps"),
        (2.0, Annotated[float, Meta(ge=-1, le=1)], "a number, -1 to 1"),
    ],
)
def test_what_does_not_is_named_with_what_is_allowed(value, kind, allowed):
    with pytest.raises(InputError) as error:
        check_argument("it", value, kind)
    assert str(error.value) == f"it = {value!r}: allowed: {allowed}"
    assert error.value.__suppress_context__

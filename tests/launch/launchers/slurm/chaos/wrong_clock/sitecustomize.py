"""Python imports this by itself where its folder is on PYTHONPATH: its clock is then wrong by CLOCK_IS_OFF seconds.

libfaketime would do so for every library, but with it (0.9.10) Python's `time.sleep` or `Event.wait` fails or hangs.
"""

import os
import time

_right, _off = time.time, float(os.environ.get("CLOCK_IS_OFF", 0))
time.time = lambda: _right() + _off

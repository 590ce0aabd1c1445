# MuJoCo's names come out of compiled modules without stubs.
from typing import Any

def __getattr__(name: str) -> Any: ...

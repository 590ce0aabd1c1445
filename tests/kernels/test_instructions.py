"""Trials of vector instructions compile nothing."""

import json
import os
import subprocess
import sys

import pytest
from torch._inductor.cpu_vec_isa import VecISA

from plasticity_lab.kernels.instructions import flags_known, try_flags_alone
from tests.helpers.packs import needs_compiler

pytestmark = needs_compiler


class Instructions:
    def __init__(self, flags):
        self.flags = flags

    def build_arch_flags(self):
        return self.flags


def test_flags_that_the_compiler_knows_are_usable_and_others_are_not(monkeypatch):
    monkeypatch.setattr(VecISA, "check_build", None)
    try_flags_alone()
    assert VecISA.check_build(Instructions("-mavx2 -mfma"), "no C++")
    assert not VecISA.check_build(Instructions("-mavx2 -mno-such-instructions"), "int main() {}")


TORCHS_OWN = """
import json, torch
from torch._inductor import cpu_vec_isa

asked, own = [], cpu_vec_isa.VecISA.check_build
def check_build(instructions, code):
    asked.append((instructions.build_arch_flags(), own(instructions, code)))
    return asked[-1][1]
cpu_vec_isa.VecISA.check_build = check_build
cpu_vec_isa.valid_vec_isa_list()
print(json.dumps(asked))
"""


@pytest.mark.slow  # torch compiles its headers for each trial
def test_it_answers_as_torch_does(tmp_path):
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", TORCHS_OWN], env=environment, capture_output=True, check=True)
    asked = json.loads(done.stdout)
    assert asked
    assert [(flags, flags_known(flags)) for flags, _ in asked] == [tuple(each) for each in asked]

"""Trials of vector instructions compile nothing."""

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


@pytest.mark.slow  # compiles torch's headers
def test_it_answers_as_torch_does(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    from torch._inductor import cpu_vec_isa

    asked = []
    tried = cpu_vec_isa.VecISA.check_build
    monkeypatch.setattr(
        cpu_vec_isa.VecISA,
        "check_build",
        lambda own, code: asked.append((own.build_arch_flags(), tried(own, code))) or asked[-1][1],
    )
    for each in cpu_vec_isa.supported_vec_isa_list:
        type(each).__bool__.cache_clear() if hasattr(type(each).__bool__, "cache_clear") else None
    cpu_vec_isa.valid_vec_isa_list.__wrapped__()
    assert asked == [(flags, flags_known(flags)) for flags, _ in asked]

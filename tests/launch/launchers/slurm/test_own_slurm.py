"""Which Slurm a process of pytest may use: what tests do to nodes would meet another's jobs."""

import pytest

from tests.helpers.slurm_jobs import NoneOfItsOwn, claimed, configuration


@pytest.fixture
def process(tmp_path, monkeypatch):
    """From a process of pytest, of how many, to its Slurm among those of some names, as a path in their folder."""

    def process(name, count, *slurms):
        lab = tmp_path / "-".join(["lab", *slurms])
        for each in slurms:
            (lab / each / "etc").mkdir(parents=True, exist_ok=True)
            (lab / each / "etc" / "slurm.conf").touch()
        for variable, value in {"PYTEST_XDIST_WORKER": name, "PYTEST_XDIST_WORKER_COUNT": count}.items():
            monkeypatch.delenv(variable, raising=False)
            if value:
                monkeypatch.setenv(variable, value)
        return str(configuration(lab).relative_to(lab))

    return process


def test_each_process_has_its_own(process):
    both = ("gw0", "gw1")
    assert [process(name, "2", *both) for name in both] == ["gw0/etc/slurm.conf", "gw1/etc/slurm.conf"]
    assert process("", "", "gw0") == "gw0/etc/slurm.conf"
    for name, count in (("", ""), ("gw0", "1")):
        assert process(name, count, ".") == "etc/slurm.conf"
    assert process("gw1", "2") == "etc/slurm.conf", "none runs"


@pytest.mark.parametrize(("name", "slurms"), [("gw1", ["gw0"]), ("gw2", ["gw0", "gw1"]), ("gw0", ["."])])
def test_one_without_its_own_takes_no_others(process, name, slurms):
    with pytest.raises(NoneOfItsOwn, match=name):
        process(name, "2", *slurms)


def test_two_commands_do_not_share_one(tmp_path):
    configured = tmp_path / "slurm.conf"
    configured.touch()
    for _ in range(2):
        with claimed(configured), pytest.raises(NoneOfItsOwn), claimed(configured):
            pass

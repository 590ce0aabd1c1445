import pytest
import torch
from torch._inductor import config

from plasticity_lab.agents import graphs
from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.stacking.run_axis import beside
from tests.helpers.packs import differing, images, needs_compiler, run, trained

pytestmark = [needs_compiler, pytest.mark.slow]  # torch's compiler takes a quarter of a minute to start


def scaled(x, by):
    return x * by["factor"]


@pytest.fixture
def compilations(monkeypatch):
    """Every function that is compiled from now on."""
    made, trace = [], graphs._trace
    monkeypatch.setattr(graphs, "_trace", lambda function, *more: made.append(function) or trace(function, *more))
    monkeypatch.setattr(graphs, "_here", type(graphs._here)())
    return made


def result(words, x, factor):
    return Compiled(scaled, words)(x, {"factor": factor})


def test_functions_of_the_same_words_share_a_graph_and_shapes_have_their_own(compilations):
    x, factor = torch.arange(8.0), torch.tensor(3.0)
    for words, values, by, count in (
        (["a"], x, factor, 1),
        (["a"], x + 1, factor + 1, 1),
        (["a"], x[:4], factor, 2),
        (["a"], x, torch.ones(8), 3),
        (["b"], x, factor, 4),
        (None, x, factor, 5),
        (None, x, factor, 6),
    ):
        assert torch.equal(result(words, values, by), values * by)
        assert len(compilations) == count


def counted(x, more):
    more["sum"].add_(x.sum())
    return {"twice": x * 2}


def test_a_graph_writes_into_what_it_is_given_and_refuses_another_shape_within_a_dictionary():
    compiled, total = Compiled(counted), torch.zeros(())
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(4), {"sum": total})["twice"], torch.full((4,), 2.0))
    assert total == 8
    with pytest.raises(AssertionError):
        compiled(torch.ones(4), {"sum": torch.zeros(3)})


def test_code_for_vectors_of_another_width_is_another_graph(compilations, monkeypatch, tmp_path):
    x, factor = torch.ones(4), torch.tensor(2.0)
    for bits, count in ((256, 1), (1, 2), (None, 3), (256, 3)):
        monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / str(bits)))  # torch's own cache takes them for one
        with config.patch({"cpp.simdlen": bits}):
            result(["a"], x, factor)
        assert len(compilations) == count


def test_another_process_takes_what_lies_on_the_disk_unless_it_is_damaged(compilations, monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    values, parameter = torch.arange(3.0), torch.ones(3, 4)

    def in_a_new_process():
        graphs.forget()
        assert torch.equal(Compiled(beside, ["beside"])(values, parameter), values.view(3, 1))
        return len(compilations)

    assert in_a_new_process() == 1
    assert in_a_new_process() == 1
    (file,) = tmp_path.glob("plasticity_lab/*.graph")
    file.write_bytes(file.read_bytes()[:100])
    assert in_a_new_process() == 2
    assert in_a_new_process() == 2
    monkeypatch.setattr(graphs, "_AT_START", "other source files")
    assert in_a_new_process() == 3
    assert [file] == list(tmp_path.glob("plasticity_lab/*.graph")), "edited meanwhile: not kept"


WHERE = ("here", "there")


def named(x):
    return dict.fromkeys(WHERE, x + 1)


def test_so_it_does_where_the_function_reads_what_its_module_holds(compilations, monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(graphs, "is_known", lambda module: True)
    for _ in range(2):
        graphs.forget()
        assert torch.equal(Compiled(named, ["named"])(torch.ones(3))["there"], torch.full((3,), 2.0))
    assert len(compilations) == 1


def test_a_graph_of_code_that_is_not_ours_is_not_left_on_the_disk(compilations, monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    result(["a"], torch.ones(4), torch.tensor(2.0))
    assert len(compilations) == 1
    assert not list(tmp_path.glob("plasticity_lab/*"))


def pulled(values, moment):
    """A parameter is pulled by its own norm, and a moment follows: torch 2.13 cannot compile it as one loop."""
    gradient = (values * values).sum(dim=1, keepdim=True) * values
    moment.add_(gradient)
    values.sub_(gradient.exp())
    return {}


def test_where_torch_cannot_compile_one_loop_there_are_several():
    x = torch.arange(-32.0, 32.0).view(4, 16) / 32
    eager, compiled = (x.clone(), x.clone()), (x.clone(), x.clone())
    pulled(*eager)
    Compiled(pulled)(*compiled)
    assert all(torch.allclose(*pair, rtol=1e-6) for pair in zip(eager, compiled, strict=True))


def test_packs_of_a_family_share_their_graphs_bit_for_bit(compilations, monkeypatch, tmp_path):
    kept = ["step", "score"]  # torch's own cache stays where it is, so that the second compilation is short
    monkeypatch.setattr(graphs, "_path", lambda known, arguments: tmp_path / kept["score" in known])
    image_set = images(4, 40, 20)

    def pack(*seeds, tasks=1):
        one = {"network": {"depth": 1}, "images": 40, "tasks": tasks}  # one hidden layer, to compile sooner
        runs = [run(seed, optimizer={"lr": 0.01 * (1 + seed)}, **one) for seed in seeds]
        return trained(runs, image_set, compiled=True)

    pack(0, 1)
    assert len(compilations) == 2, "the step's and the evaluation's"
    shared = pack(2, 3, tasks=2)
    assert len(compilations) == 2
    graphs.forget()
    loaded = pack(2, 3, tasks=2)
    assert len(compilations) == 2
    graphs.forget()
    monkeypatch.setattr(graphs, "_path", lambda known, arguments: None)
    own = pack(2, 3, tasks=2)
    assert len(compilations) == 4
    for k in range(2):
        assert not differing(shared.of(k), own.of(k))
        assert not differing(loaded.of(k), own.of(k))

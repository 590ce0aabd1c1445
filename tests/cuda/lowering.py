"""Steps lowered for a GPU that is not there: by Dynamo and Inductor as far as the machine code of each Triton kernel.

It needs a torch built for CUDA, and its Triton, and no GPU: a step is traced on meta tensors, which take what a GPU
takes of our branches, and their device is then called a GPU's. The interfaces of torch that are stood in for are its
own, so this is for the versions that it was tried with (2.11).
"""

import contextlib
import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

import torch
from torch.utils._pytree import tree_leaves, tree_map

from plasticity_lab.agents.graphs import WHOLE
from plasticity_lab.kernels import on_gpu
from plasticity_lab.kernels.compiling import SumsAsProducts

DEVICE = torch.device("cuda:0")
H200 = SimpleNamespace(
    name="NVIDIA H200", major=9, minor=0, multi_processor_count=132, total_memory=140 << 30, warp_size=32,
    max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536, max_threads_per_block=1024, gcnArchName="",
    L2_cache_size=60 << 20, shared_memory_per_block_optin=232448, shared_memory_per_block=49152,
)  # fmt: skip
KERNEL = re.compile(r"async_compile\.triton\('\w+', '''(.*?)''', device_str='cuda'\)", re.DOTALL)


class Lowered(Exception):
    """How far it went: `kernels`, how many Triton kernels there are, all compiled."""

    def __init__(self, kernels: int) -> None:
        super().__init__(f"{kernels} kernels")
        self.kernels = kernels


def lowered(step: Callable[..., Any], arguments: tuple[Any, ...], folder: Path) -> int:
    """Lowers a step for tensors like these → how many kernels it has.  Raises what torch or Triton raise."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.decomposition import select_decomp_table

    def compiler(graph: Any, examples: Any) -> Any:
        with as_if_there_was_a_gpu():
            raise Lowered(_compiled(graph, examples, folder))

    backend = aot_autograd(
        fw_compiler=compiler,
        inference_compiler=compiler,
        decompositions=select_decomp_table(),
        keep_inference_input_mutations=True,
    )
    for whole in WHOLE:
        torch.compiler.allow_in_graph(whole)
    torch._dynamo.reset()
    there = tree_map(lambda value: value.to("meta") if isinstance(value, torch.Tensor) else value, arguments)
    with patch.object(on_gpu, "serves", lambda x: x.device.type == "meta" and x.dtype == torch.float32):
        try:
            torch.compile(step, fullgraph=True, dynamic=False, backend=backend)(*there)
        except Exception as error:
            found: BaseException | None = error
            while found is not None and not isinstance(found, Lowered):
                found = getattr(found, "inner_exception", None) or found.__cause__
            if found is None:
                raise
            return found.kernels
    raise AssertionError("torch has not asked for anything to be compiled")


@contextlib.contextmanager
def as_if_there_was_a_gpu() -> Iterator[None]:
    """What Inductor and Triton ask of a GPU, they are told of an H200."""
    import torch._inductor.runtime.triton_helpers as helpers
    import torch._inductor.scheduler as scheduler
    import triton  # pyright: ignore[reportMissingImports]
    from torch._dynamo.device_interface import CudaInterface
    from torch._subclasses import fake_tensor
    from torch.utils import _triton as asked
    from triton.backends.compiler import GPUTarget  # pyright: ignore[reportMissingImports]

    driver = MagicMock()
    driver.get_current_target = lambda: GPUTarget("cuda", 90, 32)
    triton.runtime.driver.set_active(driver)
    answers = {
        torch.cuda: {"is_available": True, "current_device": 0, "device_count": 1, "get_device_properties": H200},
        CudaInterface: {"is_available": True, "current_device": 0, "get_device_properties": H200},
        CudaInterface.Worker: {"current_device": 0, "get_device_properties": H200},
    }
    answers[torch.cuda] |= {"get_device_capability": (9, 0), "_lazy_init": None}
    answers[CudaInterface] |= {"get_compute_capability": 90, "is_triton_capable": True}
    answers[CudaInterface] |= {"raise_if_triton_unavailable": None}
    answers[helpers] = {"set_driver_to_gpu": None}
    answers[fake_tensor] = {"init_gpu_context": None}
    answers[scheduler] = {"has_triton": True}
    answers[asked] = {"has_triton": True}
    with contextlib.ExitStack() as stack:
        for owner, own in answers.items():
            for name, answer in own.items():
                if hasattr(owner, name):
                    told = _answer(answer)
                    stack.enter_context(
                        patch.object(owner, name, staticmethod(told) if isinstance(owner, type) else told)
                    )
        yield


def _answer(answer: Any) -> Callable[..., Any]:
    return lambda *_, **__: answer


def _compiled(graph: Any, examples: Any, folder: Path) -> int:
    """Inductor's code for a GPU, and each of its Triton kernels compiled."""
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V

    SumsAsProducts()(graph.graph)
    for node in graph.graph.nodes:
        node.kwargs = {name: DEVICE if name == "device" else value for name, value in node.kwargs.items()}
        node.args = tuple(DEVICE if isinstance(value, torch.device) else value for value in node.args)
        for value in tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor):
                value.fake_device = DEVICE
    fakes = [value for value in examples if isinstance(value, torch.Tensor)]
    for value in fakes:
        value.fake_device = DEVICE
    mode = fakes[0].fake_mode
    lowering = GraphLowering(graph, example_inputs=list(examples), shape_env=mode.shape_env, is_inference=True)
    with V.set_graph_handler(lowering), V.set_fake_mode(mode), V.set_debug_handler(MagicMock()):
        lowering.run(*examples)
        code, _ = lowering.codegen()
    kernels = KERNEL.findall(code.value)
    for number, source in enumerate(kernels):
        path = folder / f"kernel{number}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        tuner = next(value for value in vars(module).values() if type(value).__name__.endswith("Autotuner"))
        tuner._precompile_config(tuner.configs[0])
    return len(kernels)

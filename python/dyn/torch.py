"""Dyn as a backend of torch.compile.

    import dyn.torch                                  # not needed where the package is installed by pip
    fast = torch.compile(module, backend="dyn", dynamic=True)
    print(dyn.torch.report())

A graph runs in Dyn, or in PyTorch for a reason that report() names and the logger "dyn" says once.
"""

from __future__ import annotations

import importlib.metadata
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch._dynamo import register_backend

from . import _from_torch
from ._errors import Error, Unsupported
from ._from_torch import from_torch

__all__ = ["Graph", "Report", "backend", "from_torch", "report", "reset"]

_FORMS = {torch.bfloat16: (torch.uint16, "bfloat16")}


@dataclass
class Graph:
    """A graph of torch.compile. runs_in: "dyn", "torch", or "" before its first call. reason: of "torch".
    compilations_count: times that Dyn compiled it; a second time follows a change of the weights."""

    index: int
    operators_count: int
    runs_in: str = ""
    reason: str = ""
    calls_count: int = 0
    compilations_count: int = 0

    def __str__(self) -> str:
        where = f"runs in {self.runs_in}" if self.runs_in else "has not run"
        return f"graph {self.index}, {self.operators_count} operators: {where}" + (
            f": {self.reason}" if self.reason else "")


class Report(tuple[Graph, ...]):
    """The graphs, the oldest first."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "torch.compile has given Dyn no graph"


_graphs: list[Graph] = []
_lock = threading.Lock()


def report() -> Report:
    """What became of each graph that torch.compile gave to Dyn."""
    with _lock:
        return Report(_graphs)


def reset() -> None:
    """Forgets the graphs of report(); they run on."""
    with _lock:
        _graphs.clear()


class _Call(torch.nn.Module):
    """A graph as a function of its tensors alone: a size among its inputs is read from a tensor."""

    def __init__(self, graph: Any, plan: Sequence[tuple[str, Any]], outputs: Sequence[int]) -> None:
        super().__init__()
        self.graph, self.plan, self.outputs = graph, plan, outputs
        self.weights = torch.nn.ParameterList(
            torch.nn.Parameter(what.detach(), requires_grad=False) for kind, what in plan if kind == "weight")

    def forward(self, *tensors: Any) -> Any:
        weights = iter(self.weights)
        given = [next(weights) if kind == "weight" else tensors[what] if kind == "tensor"
                 else what if kind == "number" else tensors[what[0]].shape[what[1]] for kind, what in self.plan]
        made = self.graph(*given)
        return tuple(made[i] for i in self.outputs)


def _array(tensor: Any) -> Any:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype in _FORMS:
        import ml_dtypes
        carrier, name = _FORMS[tensor.dtype]
        return tensor.contiguous().view(carrier).numpy().view(getattr(ml_dtypes, name))
    return tensor.numpy()


def _tensor(array: Any) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _is_number(node: Any, given: Any) -> bool:
    """With dynamic=True torch hands a float of the module as a tensor without axes that is only read by item()."""
    return (isinstance(given, torch.Tensor) and given.ndim == 0 and given.device.type == "cpu"
            and bool(node.users) and all(user.op == "call_method" and user.target == "item" for user in node.users))


def _with_numbers(graph: Any, numbers: dict[str, Any]) -> Any:
    """The graph with a number in place of each item() of these inputs."""
    copied = torch.fx.Graph()
    copied.output(copied.graph_copy(graph.graph, {}))
    for node in [node for node in copied.nodes if node.op == "placeholder" and node.name in numbers]:
        for user in list(node.users):
            user.replace_all_uses_with(numbers[node.name])
            copied.erase_node(user)
    return torch.fx.GraphModule(graph, copied)


def _number(given: Any) -> Any:
    return given.item() if isinstance(given, torch.Tensor) else given


class _Runner:
    """Runs one graph: in Dyn if it can, else by its own code."""

    # A model holds the numbers among its inputs; one that differs from call to call is not worth a model each time.
    MOST_MODELS = 8

    def __init__(self, graph: Any, row: Graph) -> None:
        self.graph, self.row = graph, row
        self.inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
        self.results = list(next(node for node in graph.graph.nodes if node.op == "output").args[0])
        self.model: Any = None
        self.seen: list[tuple[int, tuple[Any, int, int]]] = []
        self.numbers: dict[int, Any] = {}  # values of inputs that are numbers
        self.lock = threading.Lock()

    def __call__(self, *given: Any) -> Any:
        self.row.calls_count += 1
        if self.row.runs_in == "torch":
            return self.graph.forward(*given)
        if torch.is_grad_enabled() and any(isinstance(one, torch.Tensor) and one.requires_grad for one in given):
            return self.left("gradients are needed; call it below torch.no_grad()", given)
        try:
            with self.lock:
                if not self.fits(given):
                    self.compile(given)
                model, tensors, wanted = self.model, self.tensors, self.wanted
            made = model.run([_array(given[i]) for i in tensors])
        except (Error, RuntimeError, TypeError, ImportError) as fault:
            return self.left(str(fault).split("\n", 1)[0], given)
        if not self.row.runs_in:
            self.row.runs_in = "dyn"
            logging.getLogger("dyn").info("%s", self.row)
        results = iter([_tensor(array) for array in made])
        return tuple(next(results) if kind == "dyn" else given[what] if kind == "input" else what
                     for kind, what in wanted)

    def fits(self, given: Any) -> bool:
        """Is there a model, made of these weights and numbers?"""
        return (self.model is not None
                and all(one is given[i] and one._version == version and one.data_ptr() == place
                        for i, (one, version, place) in self.seen)
                and all(_number(given[i]) == number for i, number in self.numbers.items()))

    def left(self, reason: str, given: Any) -> Any:
        self.row.runs_in, self.row.reason, self.model = "torch", reason, None
        logging.getLogger("dyn").warning("%s", self.row)
        return self.graph.forward(*given)

    def compile(self, given: Any) -> None:
        """Sets model; tensors: the inputs that it takes; wanted: where each result comes from; seen: the weights;
        numbers: what the model holds for good."""
        if self.row.compilations_count >= self.MOST_MODELS and self.numbers:
            names = ", ".join(f"'{self.inputs[i].name}'" for i in self.numbers)
            raise Unsupported(f"unsupported: {names}: a number that differs from call to call")
        fakes = [node.meta.get("example_value") for node in self.inputs]
        plan: list[tuple[str, Any]] = []
        self.tensors: list[int] = []
        self.seen = []
        self.numbers = {}
        places: dict[str, tuple[int, int]] = {}
        shapes = []
        for i, (one, fake) in enumerate(zip(given, fakes)):
            if not isinstance(one, torch.Tensor):
                continue
            if _is_number(self.inputs[i], one):
                self.numbers[i] = one.item()
                continue
            if one.device.type != "cpu" or one.layout != torch.strided:
                raise Unsupported(f"unsupported: an input on {one.device}, {one.layout}")
            if isinstance(one, torch.nn.Parameter) or "_parameters_" in self.inputs[i].name or (
                    "_buffers_" in self.inputs[i].name):
                self.seen.append((i, (one, one._version, one.data_ptr())))
                continue
            open_axes = {axis: torch.export.Dim.AUTO for axis, size in enumerate(fake.shape)
                         if isinstance(size, torch.SymInt)}
            for axis in open_axes:
                places.setdefault(str(fake.shape[axis]), (len(self.tensors), axis))
            shapes.append(open_axes)
            self.tensors.append(i)
        weights = {i for i, _ in self.seen}
        for i, one in enumerate(given):
            if i in weights:
                plan.append(("weight", one))
            elif i in self.numbers:
                plan.append(("number", self.numbers[i]))
            elif isinstance(one, torch.Tensor):
                plan.append(("tensor", self.tensors.index(i)))
            elif str(fakes[i]) in places:
                plan.append(("size", places[str(fakes[i])]))
            elif isinstance(one, (int, float, bool)):
                self.numbers[i] = one
                plan.append(("number", one))
            else:
                raise Unsupported(f"unsupported: input '{self.inputs[i].name}' is neither a tensor nor a number")
        self.wanted: list[tuple[str, Any]] = []
        outputs = []
        memory = {fake.untyped_storage()._cdata for fake in fakes if isinstance(fake, torch.Tensor)}
        for at, result in enumerate(self.results):
            if result in self.inputs:
                self.wanted.append(("input", self.inputs.index(result)))
                continue
            fake = result.meta.get("example_value") if isinstance(result, torch.fx.Node) else result
            if isinstance(fake, torch.Tensor):
                if fake.untyped_storage()._cdata in memory:
                    raise Unsupported(f"unsupported: result '{result.name}' shares memory with an input")
                outputs.append(at)
                self.wanted.append(("dyn", None))
            elif result is None or isinstance(result, (int, float, bool)):
                self.wanted.append(("constant", result))
            else:
                raise Unsupported(f"unsupported: result '{result}' is no tensor")
        if not outputs:
            raise Unsupported("unsupported: a graph without a tensor that it computes")
        tensors = [given[i].detach() for i in self.tensors]
        graph = _with_numbers(self.graph, {self.inputs[i].name: number for i, number in self.numbers.items()
                                           if isinstance(given[i], torch.Tensor)})
        program = _from_torch.exported(_Call(graph, plan, outputs).eval(), tensors, None,
                                       {"tensors": tuple(shapes)})
        _refuse(program)
        self.model = _from_torch.loaded(program, {}, {"threads": torch.get_num_threads()}, {}).compile()
        self.row.compilations_count += 1


def _is_random(node: Any) -> bool:
    """Does it draw numbers? A dropout does not where it is not trained, or leaves out nothing."""
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    said = dict(node.kwargs)
    for i, argument in enumerate(node.target._schema.arguments):
        said.setdefault(argument.name, node.args[i] if i < len(node.args) else argument.default_value)
    return not (said.get("train") is False or said.get("training") is False or said.get("dropout_p") == 0
                or ("dropout" in node.target.name() and said.get("p") == 0))


def _refuse(program: Any) -> None:
    """What the ONNX form would lose."""
    for node in program.graph.nodes:
        if _is_random(node):
            raise Unsupported(f"unsupported: random numbers of torch ({node.target})")


def backend(graph: Any, inputs: Sequence[Any], *, options: dict[str, Any] | None = None) -> Callable[..., Any]:
    """Of torch.compile(module, backend="dyn"). The graph compiles at its first call."""
    if options:
        raise Unsupported("unsupported: options of torch.compile with the backend dyn")
    count = sum(node.op.startswith("call_") for node in graph.graph.nodes)
    with _lock:
        row = Graph(len(_graphs), count)
        _graphs.append(row)
    return _Runner(graph, row)


# An installed package has an entry point of this name, by which torch registers the backend itself.
if not any(one.name == "dyn" for one in importlib.metadata.entry_points(group="torch_dynamo_backends")):
    register_backend(backend, name="dyn")

"""Models of PyTorch: torch.export makes a graph, torch.onnx its ONNX form in memory, Dyn reads that."""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._errors import ModelError, ModelWarning, Unsupported, UsageError
from ._model import Model, opened, warnings_of

LEAST_TORCH = (2, 6)
_MOST_BYTES = 2**31 - 1  # of a message of protobuf
_UNLIMITED = 2**63 - 1


def torch_module() -> Any:
    """PyTorch, checked: there, not too old, with what torch.onnx needs."""
    try:
        import torch
    except ImportError as missing:
        raise Unsupported(f"unsupported: a model of PyTorch without the package torch: {missing}") from missing
    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if version < LEAST_TORCH:
        raise Unsupported(f"unsupported: PyTorch {torch.__version__}; Dyn needs 2.6 or later")
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as missing:
        raise Unsupported(f"unsupported: a model of PyTorch without the packages onnx and onnxscript, "
                          f"which torch.onnx needs: {missing}") from missing
    return torch


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """torch.onnx prints its progress and warns of packages that the model does not use."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def _refused(step: str, fault: Exception) -> ModelError:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(fault))  # the exporter colours its words
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    return ModelError(f"{step} refuses the model: {type(fault).__name__}: {lines[0] if lines else ''}", "torch",
                      notes=tuple(lines[1:20]))


def exported(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None, dynamic_shapes: Any) -> Any:
    """torch.export's program. Raises ModelError with its finding."""
    torch = torch_module()
    try:
        with _quiet(), torch.no_grad():
            return torch.export.export(module, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes,
                                       strict=False)
    except Exception as fault:
        raise _refused("torch.export", fault) from fault


def _without_names(given: Any, dynamic: Any) -> Any:
    """"batch" as the size of an axis becomes torch's Dim.DYNAMIC; its name is set afterwards."""
    if isinstance(given, str):
        return dynamic
    if isinstance(given, Mapping):
        return {key: _without_names(one, dynamic) for key, one in given.items()}
    if isinstance(given, (list, tuple)):
        return type(given)(_without_names(one, dynamic) for one in given)
    return given


def _shapes(program: Any, torch: Any) -> dict[str, list[Any]]:
    """By input: its sizes, numbers or torch's SymInt."""
    wanted = set(program.graph_signature.user_inputs)
    return {node.name: list(node.meta["val"].shape) for node in program.graph.nodes
            if node.op == "placeholder" and node.name in wanted and isinstance(node.meta.get("val"), torch.Tensor)}


def _names(shapes: Mapping[str, list[Any]], module: Any, args: Sequence[Any], dynamic_shapes: Any) -> dict[str, str]:
    """Torch's symbol -> its name by Dim("batch") or "batch" in dynamic_shapes. Tensors within lists and dicts of an
    argument keep torch's names."""
    if isinstance(dynamic_shapes, (list, tuple)):
        parameters = list(inspect.signature(module.forward).parameters)
        dynamic_shapes = dict(zip(parameters, dynamic_shapes))
    found: dict[str, str] = {}
    for name, given in (dynamic_shapes or {}).items():
        axes = given.items() if isinstance(given, Mapping) else enumerate(given or ())
        for axis, dim in axes:
            said = dim if isinstance(dim, str) else getattr(dim, "__name__", None)
            if not said or name not in shapes or not isinstance(axis, int):
                continue
            symbol = str(shapes[name][axis])
            if not symbol.isidentifier():
                continue  # a number or a formula: it has no name of its own
            if found.setdefault(symbol, said) != said:
                warnings.warn(f"dims '{found[symbol]}' and '{said}' are equal in every run: both are "
                              f"'{found[symbol]}'", ModelWarning, stacklevel=4)
    if len(set(found.values())) < len(found):
        twice = next(name for name in found.values() if list(found.values()).count(name) > 1)
        raise UsageError(f"dynamic_shapes: '{twice}' names sizes that torch.export does not find equal")
    return found


def _checks(program: Any) -> list[str]:
    """Tests of sizes that torch.export found or torch._check states, in the text of sympy."""
    found: dict[str, None] = {}
    for node in program.graph.nodes:
        value = node.meta.get("val")
        environment = getattr(getattr(value, "fake_mode", None), "shape_env", None)
        if node.op == "placeholder" and environment is not None:
            found.update((str(guard.expr), None) for guard in environment.guards)
        if "_assert_scalar" in str(node.target):
            test = getattr(getattr(node.args[0], "meta", {}).get("val"), "node", None)
            found[str(test.expr) if test is not None else str(node.args[0])] = None
    return list(found)


_MULTIPLE = re.compile(r"Eq\((?:Python)?Mod\((\w+), (\d+)\), 0\)")
# A range, two equal sizes (one symbol then), and torch's own assumption that no size is 0 or 1.
_SAID_ELSEWHERE = re.compile(r"-?\w+ (<=|>=|<|>) -?\w+|Eq\(\w+, \w+\)|Ne\(.+, [01]\)|.+ >= 2|True")


def _lost(program: Any) -> list[str]:
    """The checks that are no fact of one dim: the ONNX form has no place for them."""
    return [text for text in _checks(program) if not _MULTIPLE.fullmatch(text) and not _SAID_ELSEWHERE.fullmatch(text)]


def _ranges(program: Any, shapes: Mapping[str, list[Any]]) -> dict[str, str]:
    """Facts of torch.export and torch._check: symbol -> LOW..HIGH:MULTIPLE. Torch assumes sizes of 2 and more while
    it traces and tests no lower bound up to 2, so that is no fact."""
    known = {str(size) for sizes in shapes.values() for size in sizes if str(size).isidentifier()}
    multiples: dict[str, int] = {}
    for text in _checks(program):
        divided = _MULTIPLE.fullmatch(text)
        if divided:
            multiples[divided[1]] = math.lcm(int(divided[2]), multiples.get(divided[1], 1))
    found = {}
    for symbol, bounds in program.range_constraints.items():
        name = str(symbol)
        low, high = str(bounds.lower), str(bounds.upper)
        least = int(low) if low.isdigit() and int(low) > 2 else 0
        most = int(high) if high.isdigit() else _UNLIMITED
        multiple = multiples.get(name, 1)
        if name in known and (least or most < _UNLIMITED or multiple > 1):
            found[name] = f"{least}..{most}" + (f":{multiple}" if multiple > 1 else "")
    return found


def _output_names(program: Any, torch: Any) -> list[str] | None:
    """The keys of a result that is a dict."""
    spec = program.call_spec.out_spec
    pytree = torch.utils._pytree
    paths, _ = pytree.tree_flatten_with_path(pytree.tree_unflatten(list(range(spec.num_leaves)), spec))
    keys = [path[-1] for path, _ in paths if path]
    names = [str(getattr(key, "key", "")) for key in keys]
    taken = set(program.graph_signature.user_inputs)
    if len(names) != spec.num_leaves or len(set(names)) < len(names):
        return None
    return names if all(name.isidentifier() and name not in taken for name in names) else None


def _written(program: Any, torch: Any) -> str | None:
    """An input or a buffer that the program writes into."""
    signature = program.graph_signature
    for name in ("buffers_to_mutate", "user_inputs_to_mutate", "parameters_to_mutate"):
        for changed in (getattr(signature, name, None) or {}).values():
            return str(changed)
    places = {node.meta["val"].untyped_storage()._cdata: node.name for node in program.graph.nodes
              if node.op == "placeholder" and isinstance(node.meta.get("val"), torch.Tensor)}
    for node in program.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        for argument, given in zip(schema.arguments, node.args) if schema is not None else ():
            value = given.meta.get("val") if isinstance(given, torch.fx.Node) else None
            if argument.alias_info is not None and argument.alias_info.is_write and isinstance(value, torch.Tensor):
                place = places.get(value.untyped_storage()._cdata)
                if place is not None:
                    return place
    return None


def onnx_of(program: Any, output_names: list[str] | None = None) -> Any:
    """The ONNX form of an exported program, an onnx.ModelProto in memory."""
    torch = torch_module()
    try:
        with _quiet(), torch.no_grad():
            return torch.onnx.export(program, dynamo=True, verbose=False, output_names=output_names).model_proto
    except Exception as fault:
        raise _refused("torch.onnx.export", fault) from fault


def _rename(proto: Any, names: Mapping[str, str]) -> None:
    if not names:
        return
    word = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    for value in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = word.sub(lambda found: names[found[1]], dim.dim_param)


def loaded(program: Any, names: Mapping[str, str], options: Mapping[str, Any], dims: Mapping[str, Any]) -> Model:
    """The model of an exported program. The weights are copied into the bytes of its ONNX form."""
    torch = torch_module()
    written = _written(program, torch)
    if written is not None:
        raise Unsupported(f"unsupported: the model writes into its input or buffer '{written}'")
    proto = onnx_of(program, _output_names(program, torch))
    _rename(proto, names)
    if proto.ByteSize() > _MOST_BYTES:
        raise Unsupported("unsupported: a model of PyTorch whose ONNX form has more than 2 GB; export it to a file "
                          "with external data, which dyn.load reads")
    ranges = {names.get(name, name): text for name, text in _ranges(program, _shapes(program, torch)).items()}
    handle = opened(proto, "model.onnx", {"dims": {**ranges, **dims}, **options})
    for said in warnings_of(handle):
        warnings.warn(said, ModelWarning, stacklevel=3)
    return Model(handle)


def from_torch(module: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
               dynamic_shapes: Any = None, *, dims: Mapping[str, Any] | None = None, **options: Any) -> Model:
    """The model of a torch.nn.Module in evaluation mode. args, kwargs: example inputs. dynamic_shapes: as of
    torch.export; the size of an axis may also be a name: {"ids": {0: "batch", 1: "seq"}}. Ranges of torch.export
    and torch._check become facts of dims. dims, options: as of load(). Raises ModelError with the finding of torch,
    Unsupported, UsageError."""
    torch = torch_module()
    if not isinstance(module, torch.nn.Module):
        raise UsageError(f"a {type(module).__name__} is no torch.nn.Module")
    if isinstance(args, torch.Tensor) or not isinstance(args, (list, tuple)):
        raise UsageError("args: write a tuple of example inputs: (x,)")
    training = next((name or "the model" for name, one in module.named_modules() if one.training), None)
    if training is not None:
        raise UsageError(f"{training} is in training mode; Dyn runs inference: call eval() first")
    leaves = torch.utils._pytree.tree_leaves((tuple(args), dict(kwargs or {})))
    if any(isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in leaves):
        raise UsageError("an example input requires gradients; Dyn has none: give its detach()")
    program = exported(module, args, kwargs, _without_names(dynamic_shapes, torch.export.Dim.DYNAMIC))
    for text in _lost(program):
        warnings.warn(f"torch's check {text} is not part of the ONNX form; Dyn does not make it", ModelWarning,
                      stacklevel=2)
    return loaded(program, _names(_shapes(program, torch), module, args, dynamic_shapes), options, dims or {})

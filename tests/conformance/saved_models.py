#!/usr/bin/env python3
"""Models that `dynrepl save` wrote, as other programs read them.

save      writes the models of the ONNX suite and of the samples again, as they were read (`read`) and simplified (`simplified`), each
          beside links to its data sets, and compares what cannot be said with the expected list.
check     lets onnx.checker (full check) and onnxruntime take each of them and compares results with the recorded outputs;
          needs onnx and onnxruntime.
With DYN_UPDATE=1 both write their list instead; read the difference before you commit it.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

FORMS = {"read": ["--pass", "import"], "simplified": []}
RELATIVE, ABSOLUTE = 1e-3, 1e-5
RANDOM = ("test_bernoulli", "test_training_dropout")  # what is recorded was drawn by another generator


def models(cases: pathlib.Path, samples: pathlib.Path):
    """Name and folder of each model that has data sets which say what it does."""
    for suite in sorted(path for path in cases.iterdir() if path.is_dir()):
        for case in sorted(suite.iterdir()):
            if (case / "model.onnx").exists() and not case.name.startswith(RANDOM):
                yield f"{suite.name}/{case.name}", case
    for case in sorted(samples.iterdir()):
        if (case / "model.onnx").exists():
            yield f"samples/{case.name}", case


def save_one(dynrepl: pathlib.Path, form: str, name: str, case: pathlib.Path, place: pathlib.Path):
    """(form/name, None), or why there is no model."""
    place.mkdir(parents=True)
    command = [dynrepl, "--cache-dir", "none", "save", case / "model.onnx", "-o", place / "model.onnx", "--json", "--quiet", *FORMS[form]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for data in case.glob("test_data_set_*"):
        (place / data.name).symlink_to(data.resolve())
    if done.returncode == 0:
        return f"{form}/{name}", None
    shutil.rmtree(place)
    try:
        error = json.loads(done.stdout)["error"]
        return f"{form}/{name}", f"{error['id']} {error['message']}".splitlines()[0]
    except (json.JSONDecodeError, KeyError):
        return f"{form}/{name}", f"dynrepl ended with {done.returncode}"


def read_list(path: pathlib.Path) -> dict:
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split("  ", 1) for line in lines if line and not line.startswith("#"))


def compare(found: dict, path: pathlib.Path, header: str) -> int:
    """Both are name -> reason; 0 when they agree."""
    if os.environ.get("DYN_UPDATE") == "1":
        path.write_text(header + "".join(f"{name}  {reason}\n" for name, reason in sorted(found.items())))
        print(f"written: {path}")
        return 0
    expected = read_list(path)
    def kind(reason):  # the text after it is for people, and other programs' texts change
        return reason.split()[0] if reason else ""
    problems = [f"{name}: {found.get(name, 'fine now')}; expected: {expected.get(name, 'fine')}"
                for name in sorted(found.keys() | expected.keys()) if kind(found.get(name)) != kind(expected.get(name))]
    for problem in problems:
        print(problem)
    if problems:
        print(f"\n{len(problems)} models differ from {path.name}. If that is right: DYN_UPDATE=1 ./dev test conformance., then read the difference.")
    return 1 if problems else 0


def save(arguments: argparse.Namespace) -> int:
    shutil.rmtree(arguments.folder, ignore_errors=True)
    refused, count = {}, 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(save_one, arguments.dynrepl, form, name, case, arguments.folder / form / name)
                for form in FORMS for name, case in models(arguments.cases, arguments.samples)]
        for job in jobs:
            name, reason = job.result()
            count += 1
            if reason:
                refused[name] = reason
    print(f"{count - len(refused)} of {count} models saved")
    return compare(refused, arguments.expected, "# What `dynrepl save` does not write of the ONNX suite and the samples, and why (saved_models.py).\n")


def value_of(path: pathlib.Path, kind: str):
    import onnx
    from onnx import numpy_helper
    data = path.read_bytes()
    if kind.startswith("seq("):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind.startswith("optional("):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    tensor = onnx.TensorProto.FromString(data)
    return numpy_helper.to_array(tensor)


def differs(expected, actual) -> str:
    import numpy
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(expected) != len(actual):
            return "another list"
        return next(filter(None, map(differs, expected, actual)), "")
    if expected is None or actual is None:
        return "" if expected is actual else "another optional"
    expected, actual = numpy.asarray(expected), numpy.asarray(actual)
    if expected.shape != actual.shape:
        return f"shape {actual.shape}, not {expected.shape}"
    if expected.dtype.kind in "OSU":
        return "" if (expected.astype(str) == actual.astype(str)).all() else "another text"
    if expected.dtype != actual.dtype:
        return f"element type {actual.dtype}, not {expected.dtype}"
    if expected.dtype.kind in "biu":
        return "" if (expected == actual).all() else "other integers"
    if expected.dtype.kind == "c":
        wide = numpy.complex128
    else:
        wide = numpy.float64
    same = numpy.allclose(actual.astype(wide), expected.astype(wide), RELATIVE, ABSOLUTE, equal_nan=True)
    return "" if same else "other numbers"


def run_in_onnxruntime(model: pathlib.Path, folder: pathlib.Path) -> str:
    """"": the recorded outputs; "refused: ..." where onnxruntime does not take the model, "wrong: ..." where the results are others."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # Its optimiser rounds real weights between quantised values to bytes again: that is not what the model says.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    try:
        session = onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
        for data in sorted(folder.glob("test_data_set_*")):
            feeds = {}
            for i, port in enumerate(session.get_inputs()):
                if (data / f"input_{i}.pb").exists():
                    feeds[port.name] = value_of(data / f"input_{i}.pb", port.type)
            results = session.run(None, feeds)
            for i, port in enumerate(session.get_outputs()):
                fault = differs(value_of(data / f"output_{i}.pb", port.type), results[i])
                if fault:
                    return f"wrong: {port.name} has {fault}"
    except Exception as error:  # classes that onnxruntime does not export
        return f"refused: {' '.join(str(error).split())[:200]}"
    return ""


def check_one(model: pathlib.Path, source: pathlib.Path) -> str:
    """"" or what is wrong with the model though its source has no such fault."""
    import onnx
    try:
        onnx.checker.check_model(str(model), full_check=True)
    except Exception as error:
        try:
            onnx.checker.check_model(str(source), full_check=True)
        except Exception:
            return "source"
        return f"checker: {' '.join(str(error).split())[:200]}"
    fault = run_in_onnxruntime(model, model.parent)
    if fault and run_in_onnxruntime(source, model.parent):
        return "source"
    return fault


def check(arguments: argparse.Namespace) -> int:
    import onnx
    import onnxruntime
    sources = dict(models(arguments.cases, arguments.samples))
    faults, counts = {}, collections.Counter()
    for form in FORMS:
        for name, source in sources.items():
            model = arguments.folder / form / name / "model.onnx"
            if not model.exists():
                continue
            fault = check_one(model, source / "model.onnx")
            counts[f"{form}: {fault.split(':')[0] or 'fine'}"] += 1
            if fault and fault != "source":
                faults[f"{form}/{name}"] = fault
    print(f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}; `source`: the model that it was made from does no better")
    for kind, count in sorted(counts.items()):
        print(f"{kind} {count}")
    return compare(faults, arguments.expected, "# What onnx.checker or onnxruntime do not take of what `dynrepl save` wrote, and why (saved_models.py).\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("save", "check"):
        verb = verbs.add_parser(name)
        for option in ("cases", "samples", "folder", "expected"):
            verb.add_argument(f"--{option}", type=pathlib.Path, required=True)
        if name == "save":
            verb.add_argument("--dynrepl", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    return save(arguments) if arguments.verb == "save" else check(arguments)


if __name__ == "__main__":
    sys.exit(main())

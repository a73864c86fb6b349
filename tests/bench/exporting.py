"""The command line of the scripts that export models: FOLDER [NAME...] [--list] [--time-limit S]. One that is there already is passed over, one that is refused is reported."""
import argparse
import logging
import os
import pathlib
import signal
import warnings


def reason_of(fault, longest=160):
    return f"{type(fault).__name__}: {(str(fault).strip().splitlines() or [''])[0][:longest]}"


def main(doc, names, export, options=()):
    """`export(name, path)` writes the file, or returns why it can't, or raises. `options`: (flag, what add_argument takes, what is called with its value)."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--time-limit", type=int, default=180, help="seconds for each model")
    for flag, form, _ in options:
        parser.add_argument(flag, **form)
    arguments = parser.parse_args()
    for flag, _, use in options:
        use(getattr(arguments, flag.strip("-")))
    if arguments.list or not arguments.folder:
        print("\n".join(names))
        return
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    arguments.folder.mkdir(parents=True, exist_ok=True)

    def late(*_):
        raise TimeoutError(f"not done in {arguments.time_limit} seconds")
    signal.signal(signal.SIGALRM, late)
    for name in arguments.names or names:
        path = arguments.folder / f"{name}.onnx"
        if path.exists():
            continue
        signal.alarm(arguments.time_limit)
        try:
            reason = export(name, path)
        except Exception as fault:
            path.unlink(missing_ok=True)
            reason = reason_of(fault)
        signal.alarm(0)
        print(f"{name}: {reason or f'{path.stat().st_size // 1024} KiB'}", flush=True)

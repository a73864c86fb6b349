"""The command `dyn`."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from typing import Any

from . import __version__

_ABOUT = f"""Dyn {__version__}: a compiler for neural networks whose sizes vary

  dyn serve MODEL...        serves models over HTTP and gRPC (Open Inference Protocol)
  python -m dyn.compat ...  runs a Python program of onnxruntime on Dyn

In Python: import dyn; model = dyn.load("model.onnx"). The shell is the program dynrepl.
"""


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value


def _serve(words: list[str]) -> int:
    parser = argparse.ArgumentParser("dyn serve", description="Serves models by the Open Inference Protocol (KServe, "
                                     "Triton) with MLServer. A MODEL is a .dynpkg, .onnx or .dyn, or a folder of "
                                     "models. Ctrl-C or SIGTERM ends it after the requests that it has.")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1); 0.0.0.0: all")
    parser.add_argument("--http-port", type=int, default=8080)
    parser.add_argument("--grpc-port", type=int, default=8081)
    parser.add_argument("--metrics-port", type=int, default=8082, help="Prometheus, at /metrics")
    parser.add_argument("--threads", type=int, default=1, help="threads of one run (1); as many runs go on at once as "
                        "the cores allow")
    parser.add_argument("--dim", type=_pair, action="append", default=[], metavar="NAME=RANGE", help="seq=1..512")
    parser.add_argument("--set", type=_pair, action="append", default=[], metavar="NAME=VALUE",
                        help="an option of dyn.load: mem_limit=512MB")
    parser.add_argument("--max-request", type=int, default=256, metavar="MIB", help="the largest request (256 MiB)")
    given = parser.parse_args(words)
    for path in given.models:
        if not os.path.exists(path):
            print(f"dyn serve: there is no file or folder {path}", file=sys.stderr)
            return 2
        if os.path.isfile(path) and not path.endswith((".dynpkg", ".onnx", ".dyn")):
            print(f"dyn serve: {path} does not end in .dynpkg, .onnx or .dyn", file=sys.stderr)
            return 2
    if importlib.util.find_spec("mlserver") is None:
        print("dyn serve: the package mlserver is missing: pip install dyn[mlserver]", file=sys.stderr)
        return 3
    from .serving._serve import Refused, serve
    extra: dict[str, Any] = {**dict(given.set), "threads": given.threads}
    if given.dim:
        extra["dims"] = dict(given.dim)
    ports = {"--http-port": given.http_port, "--grpc-port": given.grpc_port, "--metrics-port": given.metrics_port}
    try:
        serve(given.models, given.host, ports, given.max_request << 20, extra)
    except Refused as why:
        print(f"dyn serve: {why}", file=sys.stderr)
        return 1
    return 0


def main() -> int:
    words = sys.argv[1:]
    if words[:1] == ["serve"]:
        return _serve(words[1:])
    if words[:1] == ["--version"]:
        print(__version__)
        return 0
    asked = not words or words[0] in ("-h", "--help")
    print(_ABOUT if asked else f"dyn: there is no command '{words[0]}'; dyn alone says what there is",
          file=sys.stdout if asked else sys.stderr, end="" if asked else "\n")
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main())

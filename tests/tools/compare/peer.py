"""onnxruntime in a process of its own: what it makes of an input, also when that is its end."""
import multiprocessing
import os


def _serve(pipe, path, threads):
    import onnxruntime

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # its last words when it dies; run() says that it did

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    pipe.send([o.name for o in session.get_outputs()])
    while True:
        inputs = pipe.recv()
        try:
            pipe.send((session.run(None, inputs), ""))
        except Exception as error:  # its exceptions share no base of their own
            pipe.send((None, str(error).split("\n")[0]))


class Peer:
    """outputs: the names of the model's outputs. run(): (values, "") or (None, why it refuses)."""

    def __init__(self, path, threads):
        self.path, self.threads = path, threads
        self._start()

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self.path, self.threads), daemon=True)
        self.process.start()
        theirs.close()
        self.outputs = self.pipe.recv()

    def run(self, inputs):
        try:
            self.pipe.send(inputs)
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            code = self.process.exitcode
            self._start()
            return None, f"its process died (exit {code})"

    def close(self):
        self.process.terminate()
        self.process.join()

#!/usr/bin/env python3
"""report_test.py BUILD SOURCE: pages that `dynrepl report` writes. Their data against `inspect --json`, names that could
end an element, a bound of their size, and in Chromium, where it is installed, what a person does on them."""

import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

BUILD, SOURCE = sys.argv[1], sys.argv[2]
DYNREPL = os.path.join(BUILD, "bin", "dynrepl")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
MOST_BYTES = 5 << 20
RENAMED = "/inner/embeddings/word_embeddings/Gather_output_0"
HOSTILE = "</script><img src=x onerror=pageFaults.push(1)>"
SAMPLES = [("bert", ["--dim", "batch=2", "--dim", "seq=16"]), ("gpt2", []), ("ssd", ["--no-run"]), ("lstm_loop", ["--no-run"])]
faults = []


def check(holds, text):
    if not holds:
        faults.append(text)
        print("report_test:", text, file=sys.stderr)


def dynrepl(*words):
    done = subprocess.run([DYNREPL, *words], capture_output=True, text=True)
    check(done.returncode == 0, f"{' '.join(words)} ends with {done.returncode}: {done.stderr}")
    return done.stdout


def page_of(model, page, *words):
    dynrepl("report", model, "-o", page, "-q", *words)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    check(text.count("</script>") == 3, f"{page}: {text.count('</script>')} scripts end, not 3")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return text, json.loads(found.group(1))


def unpacked(graph):
    """The records of each step."""
    before = []
    for step in graph["steps"]:
        now = []
        for part in step["nodes"]:
            now += before[part[0]:part[0] + part[1]] if isinstance(part, list) else [part]
        check(sum(step["groups"][1::2]) == len(now), f"{step['name']}: groups of {sum(step['groups'][1::2])} nodes of {len(now)}")
        before = now
        yield [graph["nodes"][index] for index in now]


def compare(model, data):
    wanted = json.loads(dynrepl("inspect", model, "--json"))
    for key in ("dims", "checks"):
        check(data[key] == wanted[key], f"{model}: {key} differ from inspect")
    names = [one["name"] for one in wanted["passes"]]
    check([one["name"] for one in data["passes"]] == names, f"{model}: passes differ from inspect")
    check([one["name"] for one in data["graph"]["steps"]] == names, f"{model}: steps of the graph are not the passes")
    check(data["plan"]["peak"] == wanted["plan"]["peak"], f"{model}: the peak differs from inspect")
    for name, records in zip(names, unpacked(data["graph"])):
        shown = json.loads(dynrepl("--json", "-e", f":load {model}; :graph {name}"))["results"][1]["nodes"] if name in ("infer", "fuse") else None
        if shown is not None:
            check([(one["op"], one["name"]) for one in records] == [(one["op"], one["name"]) for one in shown],
                  f"{model}: the graph after {name} differs from :graph")


class Browser:
    """Chromium without a window, told what to do by its DevTools protocol over a pair of pipes."""

    def __init__(self, profile):
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        # The browser reads descriptor 3 and writes descriptor 4.
        line = f'exec "$0" "$@" 3<&{commands} 4>&{answers}'
        self.process = subprocess.Popen(
            ["bash", "-c", line, BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir=" + profile],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.read, self.last, self.events = b"", 0, []

    def message(self, until):
        while b"\0" not in self.read:
            ready = select.select([self.answers], [], [], max(0, until - time.monotonic()))[0]
            more = os.read(self.answers, 1 << 20) if ready else b""
            if not more:
                raise TimeoutError("the browser does not answer")
            self.read += more
        message, self.read = self.read.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, session=None, seconds=120, **params):
        self.last += 1
        request = {"id": self.last, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.commands, json.dumps(request).encode() + b"\0")
        until = time.monotonic() + seconds
        while True:
            message = self.message(until)
            if message.get("id") == self.last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)


def browse(page, text):
    """The page, opened from its file, with report_page.js behind it, which says on the page what it found."""
    with open(os.path.join(SOURCE, "tests", "files", "report_page.js"), encoding="utf-8") as file:
        driver = file.read()
    first = "<script>window.pageFaults = []; addEventListener('error', e => pageFaults.push(e.message)); window.ownScripts = 5;</script>"
    driven = page + ".driven.html"
    with open(driven, "w", encoding="utf-8") as file:
        file.write(text.replace("<title>", first + "<title>", 1) + f"<script>{driver}</script>")
    found = """new Promise(done => {
        const look = () => { const e = document.getElementById('selftest'); e ? done(e.textContent) : setTimeout(look, 20); };
        look(); })"""
    browser = Browser(page + ".profile")
    try:
        target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            browser.ask(domain + ".enable", session)
        browser.ask("Page.navigate", session, url="file://" + driven)
        while not any(event["method"] == "Page.loadEventFired" for event in browser.events):
            browser.events.append(browser.message(time.monotonic() + 120))
        answer = browser.ask("Runtime.evaluate", session, expression=found, awaitPromise=True)["result"]["value"]
        for fault in json.loads(answer)["faults"]:
            check(False, f"{page}: {fault}")
        for event in browser.events:
            said = event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
            check(not said, f"{page}: {event}")
    except (TimeoutError, RuntimeError) as fault:
        check(False, f"{page}: {fault}")
    finally:
        browser.close()


def main():
    with tempfile.TemporaryDirectory() as work:
        pages = []
        for name, words in SAMPLES:
            model = os.path.join(SOURCE, "samples", "models", name, "model.onnx")
            page = os.path.join(work, name + ".html")
            text, data = page_of(model, page, *words)
            check(len(text) <= MOST_BYTES, f"{name}: a page of {len(text)} bytes")
            compare(model, data)
            check(("refused" in data["run"]) == (name != "bert"), f"{name}: run {data['run'].get('refused')}")
            pages.append((page, text))
        # Names of a model and of its folder are text: one of a sample's is replaced by one of the same length.
        folder = os.path.join(work, "<b>")
        os.mkdir(folder)
        model = os.path.join(folder, "model.onnx")
        with open(os.path.join(SOURCE, "samples", "models", "bert", "model.onnx"), "rb") as file:
            content = file.read()
        check(content.count(RENAMED.encode()) > 1, "the sample has no such name")
        with open(model, "wb") as file:
            file.write(content.replace(RENAMED.encode(), HOSTILE.ljust(len(RENAMED), "_").encode()))
        page = os.path.join(work, "hostile.html")
        text, data = page_of(model, page, "--dim", "batch=1", "--dim", "seq=3")
        check(any(HOSTILE in record["name"] for record in data["graph"]["nodes"]), "the hostile name is not in the page's data")
        pages.append((page, text))
        if BROWSER:
            for page, text in pages:
                browse(page, text)
        else:
            print("report_test: no Chromium here: the pages are not opened")
    print(f"report_test: {len(pages)} pages, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())

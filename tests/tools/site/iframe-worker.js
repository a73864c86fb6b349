"use strict";
// A page that was opened as a file may start no worker. There the search runs in a hidden frame that has a worker's functions.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.started = new Promise((start) => {
        const frame = document.createElement("iframe");
        frame.hidden = true;
        frame.onload = () => {
          const inner = frame.contentWindow;
          inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
          const script = inner.document.createElement("script");
          script.src = url;
          script.onload = () => start(inner);
          inner.document.body.append(script);
        };
        frame.srcdoc = "<!doctype html><body></body>";
        document.body.append(frame);
      });
    }
    postMessage(data) {
      this.started.then((inner) => inner.dispatchEvent(new inner.MessageEvent("message", {data})));
    }
    terminate() {}
  };
